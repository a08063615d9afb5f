package e2e

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestUntrustedFileIsReported checks that a client over stdio gets one log message about entries
// that are not in force, and that the program writes one notice to standard error.
func TestUntrustedFileIsReported(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, map[string]string{"remit.yaml": "approve: auto\nlog_level: error\n"})
	cmd := exec.Command(remitBin, "stdio")
	cmd.Dir, cmd.Env = s.root, environment(s.env...)
	cmd.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},` +
		`"clientInfo":{"name":"t","version":"1"}}}` + "\n" + `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n")
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		t.Fatalf("stdio: %v\n%s", err, &errOut)
	}
	const words = "is not trusted, so these entries are not in force:"
	if strings.Count(out.String(), "notifications/message") != 1 || !strings.Contains(out.String(), words) {
		t.Errorf("the client did not get one log message:\n%s", &out)
	}
	if strings.Count(errOut.String(), words) != 1 || !strings.Contains(errOut.String(), "  log_level: error\n  approve: auto\n") {
		t.Errorf("standard error:\n%s", &errOut)
	}
}

// TestServeAsksOnce checks that serve asks at a terminal about entries that are not trusted, asks
// again neither after yes nor after no, and does not ask if its output is captured.
func TestServeAsksOnce(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0") // so that serve ends after the question
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	serve := shellLine([]string{"serve", "--addr", taken.Addr().String()})
	run := func(s *workspace, answer, streams string) string {
		t.Helper()
		cmd := exec.Command("sh", "-c", serve+streams)
		cmd.Dir, cmd.Env = s.root, environment(s.env...)
		var printed bytes.Buffer
		cmd.Stdout, cmd.Stderr = &printed, &printed
		shown, _ := runAtTerminal(cmd, answer) // serve fails, because the address is taken
		return shown + printed.String()
	}
	const atTerminal, question = " </dev/tty 2>/dev/tty", "Trust this entry for this workspace?"
	for answer, inForce := range map[string]bool{"y": true, "n": false} {
		s := newWorkspace(t, map[string]string{"remit.yaml": "rate_limits: off\n"})
		if shown := run(s, answer, " </dev/tty"); strings.Contains(shown, question) {
			t.Errorf("serve asks although its output is captured:\n%s", shown)
		}
		if shown := run(s, answer, atTerminal); !strings.Contains(shown, question) {
			t.Errorf("serve does not ask:\n%s", shown)
		}
		if shown := run(s, answer, atTerminal); strings.Contains(shown, question) || strings.Contains(shown, "not in force") == inForce {
			t.Errorf("after %s:\n%s", answer, shown)
		}
		if printed := s.remit("config", "print").out; strings.Contains(printed, "not trusted") == inForce {
			t.Errorf("after %s:\n%s", answer, printed)
		}
	}
}

// TestUnreadableTrust checks that a lost key takes entries out of force and stops writes, and
// that a person can decide again.
func TestUnreadableTrust(t *testing.T) {
	t.Parallel()
	keys := t.TempDir()
	s := newWorkspace(t, map[string]string{"remit.yaml": "approve: auto\n"})
	s.env = append(s.env, "REMIT_KEYS="+keys)
	if got := s.person("trust"); got.code != 0 {
		t.Fatalf("trust: exit %d\n%s", got.code, got.errOut)
	}
	s.check(os.Remove(filepath.Join(keys, "approvals.key")))
	write := []string{"call", "write_memory_entry", "file=decisions.jsonl", `entry={"timestamp":"2026-01-01T00:00:00Z","type":"x"}`}
	got := s.remit(write...)
	if got.code != 1 || !strings.Contains(got.errOut, "What was trusted before does not count, because it cannot be read") ||
		!strings.Contains(got.out, "remit trust --copied") {
		t.Errorf("call: exit %d\n%s%s", got.code, got.out, got.errOut)
	}
	if got := s.remit("doctor"); !strings.Contains(got.out, "what was trusted before cannot be read") {
		t.Errorf("doctor: exit %d\n%s%s", got.code, got.out, got.errOut)
	}
	if got := s.person("trust", "--copied"); got.code != 0 {
		t.Errorf("trust --copied: exit %d\n%s", got.code, got.errOut)
	}
	if got := s.remit(write...); got.code != 3 {
		t.Errorf("call: exit %d\n%s%s", got.code, got.out, got.errOut)
	}
	if got := s.remit("trust", "--revoke"); got.code != 0 {
		t.Errorf("trust --revoke: exit %d\n%s", got.code, got.errOut)
	}
	if got := s.remit("doctor"); strings.Contains(got.out, "cannot be read") {
		t.Errorf("doctor after the revocation:\n%s", got.out)
	}
	if got := s.person("trust"); got.code != 0 {
		t.Errorf("trust: exit %d\n%s", got.code, got.errOut)
	}
	if got := s.remit(write...); got.code != 0 {
		t.Errorf("call after the decision: exit %d\n%s%s", got.code, got.out, got.errOut)
	}
}

// TestTrustAllWarns checks that a server says which entries REMIT_TRUST=all puts in force.
func TestTrustAllWarns(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, map[string]string{"remit.yaml": "approve: auto\nlog_level: error\n"})
	s.env = append(s.env, "REMIT_TRUST=all")
	w := s.serve()
	w.kill()
	const words = "REMIT_TRUST=all puts these entries of "
	if shown := w.stderr.String(); !strings.Contains(shown, words) || !strings.Contains(shown, "  log_level: error\n  approve: auto\n") {
		t.Errorf("serve does not warn:\n%s", shown)
	}
	if got := s.remit("stdio"); !strings.Contains(got.errOut, words) {
		t.Errorf("stdio does not warn:\n%s", got.errOut)
	}
}
