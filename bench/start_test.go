//go:build linux

package bench

import (
	"bufio"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	startBudget = 25 * time.Millisecond // from the start to the first answer
	initBudget  = 9 * time.Millisecond  // of a single package, before main
)

// TestStart measures a start to the first answer by the CPU time of the process, which does not
// depend on other processes, and by the minimum of many starts. The limits are the budget, and a
// tenth of the official example server's time.
func TestStart(t *testing.T) {
	dir := t.TempDir()
	ours := minStart(t, 40, helloQuestion, func() *exec.Cmd {
		return exec.Command(program(t, remitSource), "stdio", "--root", dir)
	})
	t.Logf("start to first answer: %s of processor time, at most %s", ours, startBudget)
	if ours > startBudget {
		t.Errorf("a start takes %s of processor time, over the budget of %s", ours, startBudget)
	}
	t.Run("against server-everything", func(t *testing.T) {
		skipUnlessMeasuring(t)
		theirs := minStart(t, 5, structureQuestion, func() *exec.Cmd { return everythingServer(t) })
		t.Logf("start to first answer: server-everything %s of processor time, remit %s: 1/%.0f, at most 1/10", theirs, ours, float64(theirs)/float64(ours))
		if ours > theirs/10 {
			t.Errorf("a start takes %s of processor time, over a tenth of the %s of server-everything", ours, theirs)
		}
	})
}

// minStart starts a server several times, and returns the minimum CPU time to start, answer a
// question and exit.
func minStart(t *testing.T, times int, q question, command func() *exec.Cmd) time.Duration {
	t.Helper()
	var took []time.Duration
	for range times {
		cmd := command()
		answerAndEnd(t, cmd, q)
		took = append(took, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
	}
	return slices.Min(took)
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
