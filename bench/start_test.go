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

// TestStartIsNearABareLoop compares start to first answer, interleaved in one
// run, by the median of many starts, with the tools that are served unless somebody
// chooses others. The bar is 3x.
func TestStartIsNearABareLoop(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds two programs and starts them many times")
	}
	bare, dir := program(t, bareLoopSource), t.TempDir()
	var ratio float64
	for range 12 { // a busy machine gets more chances
		var bareTimes, remitTimes []time.Duration
		for range 40 {
			bareTimes = append(bareTimes, firstAnswer(t, exec.Command(bare)))
			remitTimes = append(remitTimes, firstAnswer(t, exec.Command(program(t, remitSource), "stdio", "--root", dir)))
		}
		a, b := median(bareTimes), median(remitTimes)
		ratio = float64(b) / float64(a)
		t.Logf("start to first answer: bare loop %s, remit %s: %.2fx", a, b, ratio)
		if ratio <= 3 {
			return
		}
	}
	t.Errorf("a start takes %.2fx of a bare loop, over 3x", ratio)
}

func firstAnswer(t *testing.T, cmd *exec.Cmd) time.Duration {
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
	took := time.Since(start)
	if err != nil {
		t.Fatalf("no answer: %q, %v", line, err)
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	return took
}

func median(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)/2]
}
