package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// eventually waits until a condition holds; a timeout only ends a hanging test.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(timeout); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within the timeout", what)
		}
	}
}

// TestLogFile checks that the log goes to a file as JSON, to the new one after a rotation, and that
// SIGHUP opens it again instead of ending the server.
func TestLogFile(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, nil)
	s.ownKeys()
	s.write("logs/keep", "")
	file := s.path("logs/remit.log")
	w := s.serve("--log-file", file, "--log-format", "json", "--log-level", "info")
	hello := func() { w.post("/tools/hello", `{"name":"Ada"}`, nil) }
	logged := func() bool { return strings.Contains(s.read("logs/remit.log"), `"tool":"learning-os/hello"`) }
	hello()
	eventually(t, "a call in the log", logged)
	s.check(os.Rename(file, file+".1"))
	hello()
	eventually(t, "a call in the new file", logged)
	s.check(os.Remove(file))
	s.check(w.cmd.Process.Signal(syscall.SIGHUP))
	eventually(t, "a new file", func() bool { _, err := os.Stat(file); return err == nil })
	hello()
	eventually(t, "a call after SIGHUP", logged)
	if got := w.post("/tools/read_repo_file", `{"path":"logs/remit.log"}`, nil); strings.Contains(string(got.body), "learning-os/hello") {
		t.Errorf("a tool reads the log: %s", clip(got.body))
	}
	w.end()
	for line := range strings.Lines(s.read("logs/remit.log.1") + s.read("logs/remit.log")) {
		if !json.Valid([]byte(line)) {
			t.Errorf("not JSON: %s", line)
		}
	}
	got := s.remit("call", "hello", "--log-file", s.path("missing/x.log"))
	if got.code != 1 || !strings.Contains(got.errOut, "--log-file: open ") {
		t.Errorf("exit %d: %s", got.code, got.errOut)
	}
}

// TestIdleSocketsStarveNobody opens 1,000 idle connections to a server that may open 256 files,
// with and without the beginning of a request, and checks that good callers are answered: on a new
// connection, and with a write, which needs files.
func TestIdleSocketsStarveNobody(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, nil)
	s.ownKeys()
	w := s.serveVia([]string{"sh", "-c", `ulimit -n 256; exec "$0" "$@"`}, nil, "--toolsets", "tasks", "--log-level", "error")
	var idle []net.Conn
	for i := range 1000 {
		conn, err := net.Dial("tcp", strings.TrimPrefix(w.url, "http://"))
		s.check(err)
		idle = append(idle, conn)
		if i%2 == 0 {
			_, _ = conn.Write([]byte("GET /health HTTP/1.1\r\n")) // the server may have closed it
		}
		if i%100 == 99 {
			client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
			r, err := newPost(t.Context(), w.url+"/tools/add_task", `{"user_id":"ada","title":"x"}`, nil)
			s.check(err)
			if got, err := send(client, r); err != nil || got.status != http.StatusOK {
				t.Fatalf("with %d idle connections: %d %s %v", i+1, got.status, got.body, err)
			}
		}
	}
	metrics := w.get("/metrics", nil).body
	var closed int
	if _, text, found := bytes.Cut(metrics, []byte("\nremit_connections_closed_total ")); !found {
		t.Errorf("metrics: %s", metrics)
	} else if _, err := fmt.Sscan(string(text), &closed); err != nil || closed < 1000-2*128 ||
		!bytes.Contains(metrics, []byte("\nremit_connections_limit 128\n")) {
		t.Errorf("%d idle connections were closed, %v", closed, err)
	}
	for _, conn := range idle {
		_ = conn.Close() // the server would wait for those in the middle of a request
	}
	w.end()
}

// TestStatusFindsServers checks that "remit status" finds the servers of a workspace, while they
// run.
func TestStatusFindsServers(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, nil)
	s.ownKeys()
	type process struct {
		PID     int
		Address string
	}
	processes := func() []process {
		t.Helper()
		var report struct{ Processes []process }
		got := s.remit("status", "--json")
		if err := json.Unmarshal([]byte(got.out), &report); err != nil || got.code != 0 {
			t.Fatalf("exit %d: %v\n%s%s", got.code, err, got.out, got.errOut)
		}
		return report.Processes
	}
	first, second := s.serve(), s.serve()
	found := processes()
	for _, w := range []*httpServer{first, second} {
		if !slices.Contains(found, process{w.cmd.Process.Pid, w.url}) {
			t.Errorf("%s is not among %+v", w.url, found)
		}
	}
	if strings.Contains(first.stderr.String(), "already runs") || !strings.Contains(second.stderr.String(),
		fmt.Sprintf("remit: a server already runs in this workspace: serve %s, pid %d, ", first.url, first.cmd.Process.Pid)) {
		t.Errorf("the first says %s, the second %s", first.stderr, second.stderr)
	}
	used := fmt.Sprintf("remit: a server of this workspace (pid %d) uses %s already; use that one, stop it first,", first.cmd.Process.Pid, first.url)
	if got := s.remit("serve", "--addr", strings.TrimPrefix(first.url, "http://")); got.code != 1 || !strings.Contains(got.errOut, used) {
		t.Errorf("on the address of the first: exit %d\n%s", got.code, got.errOut)
	}
	first.kill()
	second.end()
	if found := processes(); len(found) != 0 {
		t.Errorf("after both have ended: %+v", found)
	}
}
