//go:build linux

package bench

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	// startBudget is from the start to the first answer, compared with a server on the Go SDK.
	startBudget = 9.0
	initBudget  = 9 * time.Millisecond // of a single package, before main
)

// TestStart measures a start to the first answer by the CPU time of the process, and by the minimum
// of many starts. A busy or slow machine stretches CPU time too, so the limits are ratios with
// other servers, started in turns: the smallest server on the Go SDK, and the official example
// server.
func TestStart(t *testing.T) {
	own := func() *exec.Cmd { return remit(t, "stdio") }
	took := minStarts(t, 40, helloQuestion, own, func() *exec.Cmd { return exec.Command(program(t, goSDKSource)) })
	ratio := float64(took[0]) / float64(took[1])
	t.Logf("start to first answer: remit %s of processor time, Go SDK %s: %.1fx, at most %.1fx", took[0], took[1], ratio, startBudget)
	if ratio > startBudget {
		t.Errorf("a start takes %.1f times the processor time of a server on the Go SDK, over the budget of %.1f", ratio, startBudget)
	}
	t.Run("against server-everything", func(t *testing.T) {
		skipUnlessMeasuring(t)
		theirs := minStarts(t, 5, structureQuestion, func() *exec.Cmd { return everythingServer(t) })[0]
		t.Logf("start to first answer: server-everything %s of processor time, remit %s: 1/%.0f, at most 1/10", theirs, took[0], float64(theirs)/float64(took[0]))
		if took[0] > theirs/10 {
			t.Errorf("a start takes %s of processor time, over a tenth of the %s of server-everything", took[0], theirs)
		}
	})
}

// minStarts starts servers in turns, several times each, and returns the minimum CPU time that each
// needs to start, answer a question and exit.
func minStarts(t *testing.T, times int, q question, servers ...func() *exec.Cmd) []time.Duration {
	t.Helper()
	least := slices.Repeat([]time.Duration{math.MaxInt64}, len(servers))
	for range times {
		for i, command := range servers {
			cmd := command()
			answerAndEnd(t, cmd, q)
			least[i] = min(least[i], cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
		}
	}
	return least
}

// answerAndEnd starts a server, asks it a question, and ends it.
func answerAndEnd(t *testing.T, cmd *exec.Cmd, q question) {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(in, initialize+"\n"+initialized+"\n"); err != nil {
		t.Fatal(err)
	}
	s := &stdioServer{cmd: cmd, out: in, in: bufio.NewReaderSize(out, 4<<20)}
	if err := s.once(q); err != nil {
		t.Fatal(err)
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
}

// TestPackageInit: no package does much before main. The minimum of several starts counts.
func TestPackageInit(t *testing.T) {
	skipUnlessMeasuring(t)
	least := map[string]float64{}
	for range 10 {
		cmd := remit(t, "version")
		cmd.Env = append(cmd.Env, "GODEBUG=inittrace=1")
		var trace strings.Builder
		cmd.Stderr = &trace
		if err := cmd.Run(); err != nil {
			t.Fatal(err)
		}
		// For example: init strconv @0.21 ms, 0.003 ms clock, 0 bytes, 0 allocs.
		for line := range strings.Lines(trace.String()) {
			var name string
			var at, took float64
			if _, err := fmt.Sscanf(line, "init %s @%f ms, %f ms clock", &name, &at, &took); err != nil {
				continue
			}
			if known, ok := least[name]; !ok || took < known {
				least[name] = took
			}
		}
	}
	if len(least) < 10 {
		t.Fatalf("only %d packages are in the trace", len(least))
	}
	for name, took := range least {
		if took > initBudget.Seconds()*1000 {
			t.Errorf("%s takes %.2f ms before main, over the budget of %s", name, took, initBudget)
		}
	}
}
