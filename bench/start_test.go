package bench

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// bareLoop is the least that answers JSON lines in Go: the yardstick of a start.
const bareLoop = `package main

import (
	"bufio"
	"encoding/json"
	"os"
)

func main() {
	in, out := bufio.NewReader(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var request struct {
			ID     json.RawMessage
			Params struct{ Arguments struct{ Name string } }
		}
		if json.Unmarshal(line, &request) != nil {
			return
		}
		out.Encode(map[string]any{"jsonrpc": "2.0", "id": request.ID, "result": map[string]string{"message": "Hello, " + request.Params.Arguments.Name + "!"}})
	}
}
`

const helloLine = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hello","arguments":{"name":"Ada"}}}` + "\n"

// TestStartIsNearABareLoop compares start to first answer, interleaved in one
// run, by the median of many starts. The bar is 3x.
func TestStartIsNearABareLoop(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds two programs and starts them many times")
	}
	dir := t.TempDir()
	bare, remit := build(t, dir)
	var ratio float64
	for range 3 { // a busy machine gets two more chances
		var bareTimes, remitTimes []time.Duration
		for range 40 {
			bareTimes = append(bareTimes, firstAnswer(t, exec.Command(bare)))
			remitTimes = append(remitTimes, firstAnswer(t, exec.Command(remit, "stdio", "--root", dir, "--toolsets", "booster")))
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

func build(t *testing.T, dir string) (bare, remit string) {
	t.Helper()
	source := filepath.Join(dir, "bare.go")
	if err := os.WriteFile(source, []byte(bareLoop), 0o600); err != nil {
		t.Fatal(err)
	}
	bare, remit = filepath.Join(dir, "bare"), filepath.Join(dir, "remit")
	for _, args := range [][]string{{"build", "-o", bare, source}, {"build", "-o", remit, "remit/cmd/remit"}} {
		cmd := exec.Command("go", args...)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go %v: %v\n%s", args, err, out)
		}
	}
	return bare, remit
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
