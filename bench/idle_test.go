//go:build linux

package bench

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestIdleMemory checks the memory of a server after one call. Pages of the program file are only
// logged: how many are mapped depends on what other processes have read.
func TestIdleMemory(t *testing.T) {
	const budget = 16 << 20
	stdio := startStdio(t, remit(t, "stdio"))
	if err := stdio.once(helloQuestion); err != nil {
		t.Fatal(err)
	}
	serve := startHTTP(t, remit(t, "serve", "--addr", "127.0.0.1:0"))
	if _, err := serve.connectCallers(t, 1, serve.inSession).callFor(0); err != nil {
		t.Fatal(err)
	}
	for name, pid := range map[string]int{"stdio": stdio.cmd.Process.Pid, "serve": serve.pid} {
		all, size := resident(t, pid), anonymous(t, pid)
		t.Logf("remit %s holds %.1f MB after a call, %.1f MB with pages of the program file", name, float64(size)/(1<<20), float64(all)/(1<<20))
		if size > budget {
			t.Errorf("remit %s holds %d bytes after a call, over the budget of %d", name, size, budget)
		}
	}
}

// anonymous returns the resident memory of a process that is no page of a file, in bytes.
func anonymous(t *testing.T, pid int) (size int) {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(status), "RssAnon:")
	if _, err := fmt.Sscan(after, &size); err != nil {
		t.Fatal(err)
	}
	return size << 10
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
