//go:build linux

package bench

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// callers is how many calls are under way at any time.
const callers = 16

// lane is one way to call one server.
type lane struct {
	name string
	pid  int
	call func(time.Duration) (calls int, err error) // from all callers, for so long
}

// pace is how a lane did in one turn.
type pace struct {
	rate float64 // calls a second
	cpu  float64 // microseconds of the server's CPU a call
}

// bar is what the median round has to reach. A round has the pace of each lane.
type bar struct {
	what        string
	ratio       func(round []pace) float64
	least, most float64 // 0 is no bound
}

// contest lets the lanes run in turns, so that a busy neighbour slows them all. The
// test fails for a bar that the median of all rounds does not reach.
func contest(t *testing.T, lanes []lane, bars []bar) {
	t.Helper()
	play(t, lanes, 1, 500*time.Millisecond) // what compiles or caches while it runs has done so by now
	rounds, turn := 15, 150*time.Millisecond
	if long() {
		rounds, turn = 21, time.Second
	}
	played := play(t, lanes, rounds, turn)
	for i, l := range lanes {
		t.Logf("%-20s %7.0f calls/s %6.1f µs CPU a call", l.name,
			middle(played, func(round []pace) float64 { return round[i].rate }),
			middle(played, func(round []pace) float64 { return round[i].cpu }))
	}
	for _, b := range bars {
		t.Log(b.verdict(played))
		if !b.reached(played) {
			t.Error("not reached: " + b.verdict(played))
		}
	}
}

// play returns what each lane did in each round. Every other round goes backwards,
// so that no lane always follows the same one.
func play(t *testing.T, lanes []lane, rounds int, turn time.Duration) [][]pace {
	t.Helper()
	played := make([][]pace, rounds)
	for n := range played {
		played[n] = make([]pace, len(lanes))
		for i := range lanes {
			if n%2 == 1 {
				i = len(lanes) - 1 - i
			}
			played[n][i] = lanes[i].run(t, turn)
		}
	}
	return played
}

func (l *lane) run(t *testing.T, turn time.Duration) pace {
	t.Helper()
	start, before := time.Now(), cpuOf(t, l.pid)
	calls, err := l.call(turn)
	took, spent := time.Since(start), cpuOf(t, l.pid)-before
	if err != nil || calls == 0 {
		t.Fatalf("%s: %d calls, %v", l.name, calls, err)
	}
	return pace{float64(calls) / took.Seconds(), float64(spent) / float64(time.Microsecond) / float64(calls)}
}

func (b *bar) reached(played [][]pace) bool {
	ratio := middle(played, b.ratio)
	return ratio >= b.least && (b.most == 0 || ratio <= b.most)
}

func (b *bar) verdict(played [][]pace) string {
	bound := fmt.Sprintf("at least %.2fx", b.least)
	if b.most > 0 {
		bound = fmt.Sprintf("at most %.2fx", b.most)
	}
	return fmt.Sprintf("%s: %.2fx (%s) in the median of %d rounds", b.what, middle(played, b.ratio), bound, len(played))
}

// middle is the median of a figure over the rounds.
func middle(played [][]pace, figure func(round []pace) float64) float64 {
	var all []float64
	for _, round := range played {
		all = append(all, figure(round))
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// cpuOf is the CPU time that a process has spent, to the nanosecond: /proc counts
// in hundredths of a second.
func cpuOf(t *testing.T, pid int) time.Duration {
	t.Helper()
	const schedClock = 2 // CPUCLOCK_SCHED of the kernel: what clock_getcpuclockid gives
	var spent unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|schedClock), &spent); err != nil {
		t.Fatalf("CPU time of process %d: %v", pid, err)
	}
	return time.Duration(spent.Nano())
}
