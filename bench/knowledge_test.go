package bench

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// The limits for an index of 15,000 files on two cores.
const (
	maxIndexTime   = 3 * time.Minute
	maxIndexMemory = 400 << 20
	maxAnswerTime  = 150 * time.Millisecond // at the 99th percentile, while the index is built
	// A second run without changes must be at least this many times as fast.
	minReindexSpeedup = 5
)

// remitWithIndex returns a command for a tree with its own data folder.
func remitWithIndex(t *testing.T, root, data string, args ...string) *exec.Cmd {
	return remit(t, append(args, "--root", root, "--data", data)...)
}

// TestIndexOfManyFiles measures time and memory of a first index, of a second run, and of a run
// after one file has changed.
func TestIndexOfManyFiles(t *testing.T) {
	skipUnlessMeasuring(t)
	root, _ := sourceTree(t, ".")
	data := t.TempDir()
	run := func(what string) time.Duration {
		cmd := remitWithIndex(t, root, data, "index", "--json")
		var out bytes.Buffer
		cmd.Stdout = &out
		begun := time.Now()
		memory := runWatched(t, cmd)
		took := time.Since(begun)
		t.Logf("%s: %v, %v of CPU, %d MB resident at most: %s", what, took.Round(time.Millisecond),
			(cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Round(time.Millisecond), memory>>20, bytes.Join(bytes.Fields(out.Bytes()), nil))
		if memory > maxIndexMemory {
			t.Errorf("%s: %d MB resident", what, memory>>20)
		}
		return took
	}
	first := run("a first index")
	if first > maxIndexTime {
		t.Errorf("the first index takes %v", first)
	}
	if again := run("with nothing changed"); again*minReindexSpeedup > first {
		t.Errorf("the second run takes %v, the first took %v", again, first)
	}
	server := root + "/src/net/http/server.go"
	text, err := os.ReadFile(server)
	if err == nil {
		err = os.WriteFile(server, append(text, "\n// changed\n"...), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	if again := run("with one file changed"); again*minReindexSpeedup > first {
		t.Errorf("indexing one changed file takes %v, indexing all takes %v", again, first)
	}
}

// runWatched runs a command to its end, and returns its maximum memory. The kernel's figure for an
// ended process includes the memory of the process that forked it.
func runWatched(t *testing.T, cmd *exec.Cmd) (peak int) {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case err := <-ended:
			if err != nil {
				t.Fatal(err)
			}
			return peak
		case <-time.After(20 * time.Millisecond):
			// Empty if the process has ended.
			status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
			_, size, _ := strings.Cut(string(status), "VmHWM:")
			var kib int
			_, _ = fmt.Sscan(size, &kib)
			peak = max(peak, kib<<10)
		}
	}
}

// TestSearchWhileIndexing: searches are answered while the first index of many files is built.
func TestSearchWhileIndexing(t *testing.T) {
	skipUnlessMeasuring(t)
	root, _ := sourceTree(t, ".")
	ours := startStdio(t, remitWithIndex(t, root, t.TempDir(), "stdio", "--toolsets", "context"))
	var during, after []time.Duration
	asked := []string{"how are idle connections closed", "parse a floating point number", "garbage collector write barrier", "which errors may be retried", "escape text in html"}
	for n := 0; len(after) < 200 && n < 20_000; n++ {
		begun := time.Now()
		line, err := ours.replyTo(question{"tools/call", fmt.Sprintf(`{"name":"context_search","arguments":{"query":"%s %d"}}`, asked[n%len(asked)], n), `"jsonrpc"`})
		took := time.Since(begun)
		switch {
		case err != nil:
			t.Fatal(err)
		case n == 0: // the first answer waits until something is indexed
			t.Logf("the first answer after %v", took)
		case bytes.Contains(line, []byte(`"indexing":true`)):
			during = append(during, took)
		default:
			after = append(after, took)
		}
		time.Sleep(5 * time.Millisecond) // like an agent that thinks between calls
	}
	for _, kind := range []struct {
		name string
		took []time.Duration
	}{{"while indexing", during}, {"afterwards", after}} {
		if len(kind.took) == 0 {
			t.Fatalf("no search ran %s", kind.name)
		}
		slices.Sort(kind.took)
		late := kind.took[len(kind.took)*99/100]
		t.Logf("%s: %v in the median, %v at the 99th percentile, %v at most, of %d", kind.name, kind.took[len(kind.took)/2], late, kind.took[len(kind.took)-1], len(kind.took))
		if late > maxAnswerTime {
			t.Errorf("%s: %v at the 99th percentile", kind.name, late)
		}
	}
}
