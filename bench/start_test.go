package bench

import (
	"bufio"
	"io"
	"os/exec"
	"slices"
	"testing"
	"time"
)

const helloLine = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hello","arguments":{"name":"Ada"}}}` + "\n"

// startBudget is what a start may take to the first answer, by the quickest of many.
const startBudget = 25 * time.Millisecond

// TestStart starts the program with the tools that are served unless somebody chooses others,
// beside a bare loop for comparison. Processor time holds on a busy machine too; the time that
// a client waits is judged where speed is measured.
func TestStart(t *testing.T) {
	bare, dir := program(t, bareLoopSource), t.TempDir()
	var waited, spent, bareWaited []time.Duration
	for range 40 {
		first, _ := firstAnswer(t, exec.Command(bare))
		wait, cpu := firstAnswer(t, exec.Command(program(t, remitSource), "stdio", "--root", dir))
		bareWaited, waited, spent = append(bareWaited, first), append(waited, wait), append(spent, cpu)
	}
	t.Logf("start to first answer: bare loop %s, remit %s; processor time of a start, an answer and the end %s",
		slices.Min(bareWaited), slices.Min(waited), slices.Min(spent))
	if least := slices.Min(spent); least > startBudget {
		t.Errorf("a start costs %s of processor time, over %s", least, startBudget)
	}
	if least := slices.Min(waited); !testing.Short() && least > startBudget {
		t.Errorf("a start takes %s, over %s", least, startBudget)
	}
}

// firstAnswer is how long a client waits for the first answer of a program, and the processor
// time that the program takes for it and for its end.
func firstAnswer(t *testing.T, cmd *exec.Cmd) (wait, spent time.Duration) {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(in, helloLine); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	wait = time.Since(start)
	if err != nil {
		t.Fatalf("no answer: %q, %v", line, err)
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	return wait, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}

func median(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)/2]
}
