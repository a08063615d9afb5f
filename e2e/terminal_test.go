package e2e

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/rogpeppe/go-internal/testscript"
)

// prompt matches what a command asks at the terminal, with the answer that consents if it is named.
var prompt = regexp.MustCompile(`Type (\S+), the end of the id, to \w+ it: $|\[y/N\] $`)

// readingTime is how long a person takes to read a question. A faster answer does not count.
const readingTime = 350 * time.Millisecond

// runAtTerminal runs a command whose controlling terminal is a pseudo-terminal with a person at it,
// who gives the answer to each prompt; "" is consent. Standard streams are those of the command. It
// returns what the terminal showed.
func runAtTerminal(cmd *exec.Cmd, answer string) (shown string, err error) {
	master, slave, err := pty.Open()
	if err != nil {
		return "", err
	}
	defer func() { _ = master.Close() }()
	cmd.ExtraFiles = []*os.File{slave}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 3}
	if err := cmd.Start(); err != nil {
		return "", errors.Join(err, slave.Close())
	}
	_ = slave.Close() // the program has its own
	var screen, unanswered bytes.Buffer
	for buffer := make([]byte, 4096); ; {
		n, err := master.Read(buffer) // fails once the program has ended
		screen.Write(buffer[:n])
		unanswered.Write(buffer[:n])
		if found := prompt.FindSubmatch(unanswered.Bytes()); found != nil {
			unanswered.Reset()
			time.Sleep(readingTime)
			reply := answer
			if reply == "" {
				reply = string(found[1])
			}
			if reply == "" {
				reply = "y"
			}
			_, _ = master.WriteString(reply + "\n") // if it fails, so does the next read
		}
		if err != nil {
			return screen.String(), cmd.Wait()
		}
	}
}

// person runs one command line of the binary in the workspace, with a person at the terminal who
// consents.
func (s *workspace) person(args ...string) outcome {
	s.t.Helper()
	return s.runWith(func(cmd *exec.Cmd) (string, error) { return runAtTerminal(cmd, "") }, args)
}

// scriptPerson runs a command of a script with a person at the terminal. Its usage is
// person CODE ANSWER COMMAND..., where the answer - is consent. What the terminal showed is added
// to standard error.
func scriptPerson(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: person CODE ANSWER COMMAND...")
	}
	args[2] = strings.Replace(args[2], "remit", remitBin, 1)
	cmd := exec.Command(args[2], args[3:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = ts.MkAbs("."), ts.Stdout(), ts.Stderr()
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "REMIT_KEYS", "REMIT_TRUST", "GORACE", "REMIT_DEADLINE_FACTOR"} {
		if value := ts.Getenv(name); value != "" {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	shown, err := runAtTerminal(cmd, strings.TrimPrefix(args[1], "-"))
	_, _ = ts.Stderr().Write([]byte(shown))
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		ts.Fatalf("%v", err)
	}
	if got := cmd.ProcessState.ExitCode(); args[0] != strconv.Itoa(got) {
		ts.Fatalf("exit code %d, want %s", got, args[0])
	}
}

// TestOnlyAPersonDecides: commands that decide, or make people, refuse whoever is not at the
// terminal of the process, and what was typed before the question is no answer.
func TestOnlyAPersonDecides(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, nil)
	s.remit("call", "write_memory_entry", "file=decisions.jsonl", `entry={"timestamp":"2026-01-01T00:00:00Z","type":"x"}`)
	listed := s.remit("approvals", "list")
	id := regexp.MustCompile(`(?m)^[0-9a-z]{10}\b`).FindString(listed.out)
	if id == "" {
		t.Fatalf("no request:\n%s%s", listed.out, listed.errOut)
	}
	commands := [][]string{{"approvals", "approve", id}, {"approvals", "deny", id}, {"token", "link"}}
	for _, args := range commands {
		for name, start := range map[string]func() *exec.Cmd{
			"a pipe":           func() *exec.Cmd { return exec.Command(remitBin, args...) },
			"yes on stdin":     func() *exec.Cmd { return exec.Command("sh", "-c", "yes | "+shellLine(args)) },
			"setsid":           func() *exec.Cmd { return exec.Command("setsid", append([]string{"-w", remitBin}, args...)...) },
			"nohup":            func() *exec.Cmd { return exec.Command("nohup", append([]string{remitBin}, args...)...) },
			"the right answer": func() *exec.Cmd { return exec.Command("sh", "-c", "echo "+id[6:]+" | "+shellLine(args)) },
		} {
			cmd := start()
			cmd.Dir, cmd.Env = s.root, environment(s.env...)
			// The test itself may have a terminal.
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "only a person at a terminal can do this") {
				t.Errorf("%v with %s: error %v\n%s", args, name, err, out)
			}
		}
	}
	background := exec.Command("sh", "-c", "set -m; "+shellLine(commands[0])+" & wait $!")
	background.Dir, background.Env = s.root, environment(s.env...)
	var out bytes.Buffer
	background.Stdout, background.Stderr = &out, &out
	if _, err := runAtTerminal(background, ""); err == nil || !strings.Contains(out.String(), "in the background") {
		t.Errorf("in the background: error %v\n%s", err, &out)
	}
	if got := s.remit("approvals", "show", id); !strings.Contains(got.out, "State    pending\n") {
		t.Errorf("the request was decided:\n%s", got.out)
	}
	if got := s.person("approvals", "approve", id); got.code != 0 {
		t.Errorf("a person at the terminal: exit code %d\n%s%s", got.code, got.out, got.errOut)
	}
}

// shellLine returns the command line of the binary for a shell.
func shellLine(args []string) string { return "'" + remitBin + "' " + strings.Join(args, " ") }
