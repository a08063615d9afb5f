//go:build linux

package bench

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// callers is the number of concurrent calls.
const callers = 16

// contender is one way to call one server.
type contender struct {
	name string
	pid  int
	call func(time.Duration) (calls int, err error) // from all callers, for this long
}

// speed is the result of a contender in one turn.
type speed struct {
	rate float64 // calls per second
	cpu  float64 // microseconds of the server's CPU per call
}

// limit is a limit for the median round. A round has the speed of each contender.
type limit struct {
	what     string
	ratio    func(round []speed) float64
	min, max float64 // 0 means no limit
}

// compareContenders runs the contenders alternately, so that other load on the machine slows all of
// them. The test fails if the median of all rounds does not reach a limit.
func compareContenders(t *testing.T, contenders []contender, limits []limit) {
	t.Helper()
	// Warm up, so that compilation and caches do not count.
	runRounds(t, contenders, 1, 500*time.Millisecond)
	rounds, turn := 15, 150*time.Millisecond
	if longRun() {
		rounds, turn = 21, time.Second
	}
	results := runRounds(t, contenders, rounds, turn)
	for i, l := range contenders {
		t.Logf("%-20s %7.0f calls/s %6.1f µs CPU a call", l.name,
			medianOf(results, func(round []speed) float64 { return round[i].rate }),
			medianOf(results, func(round []speed) float64 { return round[i].cpu }))
	}
	for _, b := range limits {
		t.Log(b.verdict(results))
		if !b.reached(results) {
			t.Error("limit not reached: " + b.verdict(results))
		}
	}
}

// runRounds returns the speed of each contender in each round. It reverses the order in every other
// round, so that no contender always follows the same one.
func runRounds(t *testing.T, contenders []contender, rounds int, turn time.Duration) [][]speed {
	t.Helper()
	results := make([][]speed, rounds)
	for n := range results {
		results[n] = make([]speed, len(contenders))
		for i := range contenders {
			if n%2 == 1 {
				i = len(contenders) - 1 - i
			}
			results[n][i] = contenders[i].run(t, turn)
		}
	}
	return results
}

func (l *contender) run(t *testing.T, turn time.Duration) speed {
	t.Helper()
	start, before := time.Now(), cpuOf(t, l.pid)
	calls, err := l.call(turn)
	took, spent := time.Since(start), cpuOf(t, l.pid)-before
	if err != nil || calls == 0 {
		t.Fatalf("%s: %d calls, %v", l.name, calls, err)
	}
	return speed{float64(calls) / took.Seconds(), float64(spent) / float64(time.Microsecond) / float64(calls)}
}

func (b *limit) reached(results [][]speed) bool {
	ratio := medianOf(results, b.ratio)
	return ratio >= b.min && (b.max == 0 || ratio <= b.max)
}

func (b *limit) verdict(results [][]speed) string {
	bound := fmt.Sprintf("at least %.2fx", b.min)
	if b.max > 0 {
		bound = fmt.Sprintf("at most %.2fx", b.max)
	}
	return fmt.Sprintf("%s: %.2fx (%s) in the median of %d rounds", b.what, medianOf(results, b.ratio), bound, len(results))
}

// medianOf returns the median of a figure over the rounds.
func medianOf(results [][]speed, figure func(round []speed) float64) float64 {
	var all []float64
	for _, round := range results {
		all = append(all, figure(round))
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// cpuOf returns the CPU time of a process to the nanosecond; /proc counts only in hundredths of a
// second.
func cpuOf(t *testing.T, pid int) time.Duration {
	t.Helper()
	const schedClock = 2 // CPUCLOCK_SCHED of the kernel, as in clock_getcpuclockid
	var spent unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|schedClock), &spent); err != nil {
		t.Fatalf("CPU time of process %d: %v", pid, err)
	}
	return time.Duration(spent.Nano())
}
