//go:build linux

package bench

import (
	"fmt"
	"os"
	"testing"
)

// TestIdleMemory checks the memory of a server after one call.
func TestIdleMemory(t *testing.T) {
	const budget = 40 << 20
	stdio := startStdio(t, remit(t, "stdio"))
	if err := stdio.once(helloQuestion); err != nil {
		t.Fatal(err)
	}
	serve := startHTTP(t, remit(t, "serve", "--addr", "127.0.0.1:0"))
	if _, err := serve.connectCallers(t, 1, serve.inSession).callFor(0); err != nil {
		t.Fatal(err)
	}
	for name, pid := range map[string]int{"stdio": stdio.cmd.Process.Pid, "serve": serve.pid} {
		size := resident(t, pid)
		t.Logf("remit %s holds %.1f MB after a call", name, float64(size)/(1<<20))
		if size > budget {
			t.Errorf("remit %s holds %d bytes after a call, over the budget of %d", name, size, budget)
		}
	}
}

// resident returns the resident memory of a process, in bytes.
func resident(t *testing.T, pid int) int {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		t.Fatal(err)
	}
	var size, pages int
	if _, err := fmt.Sscan(string(data), &size, &pages); err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize()
}
