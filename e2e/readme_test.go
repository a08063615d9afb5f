package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestMemoryPage runs the commands of docs/memory.md, one after the other.
func TestMemoryPage(t *testing.T) {
	t.Parallel()
	var script strings.Builder
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(read(t, filepath.Join("..", "docs", "memory.md")), -1) {
		script.WriteString(block[1])
	}
	s := newWorkspace(t, nil)
	cmd := exec.Command("sh", "-e", "-c", script.String()+"remit audit verify")
	cmd.Dir, cmd.Env = s.root, append(environment("REMIT_APPROVE=auto"), "PATH="+filepath.Dir(remitBin)+string(filepath.ListSeparator)+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "The entry") || !strings.Contains(string(out), "superseded by") {
		t.Errorf("%v\n%s", err, out)
	}
	list := s.remit("memory", "--file", "decisions")
	if !strings.Contains(list.out, "PostgreSQL 18 is our database") || strings.Count(list.out, "\n") != 2 {
		t.Errorf("at the end, %s", list.out)
	}
}

// TestReadmeTour runs the tour of the README in a copy of the repository: it builds the
// program, connects a client, calls a tool, asks for an approval, approves it, repeats the
// call and reads the audit records.
func TestReadmeTour(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: it builds a copy of the repository; run the tests without -short")
	}
	t.Parallel()
	copied, home := copyRepository(t), t.TempDir()
	_, section, found := strings.Cut(read(t, filepath.Join(copied, "README.md")), "\n## A tour in 60 seconds\n")
	if !found {
		t.Fatal("the README has no tour")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	blocks := regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(section, -1)
	if len(blocks) != 4 {
		t.Fatalf("the tour has %d blocks of commands, want 4", len(blocks))
	}
	run := func(command string) (out string, code int) {
		t.Helper()
		cmd := exec.Command("sh", "-e", "-c", command)
		cmd.Dir = copied
		cmd.Env = append(environment("HOME="+home), releaseSettings...)
		// Reuse downloads and builds.
		for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPROXY", "GONOSUMDB", "GONOSUMCHECK", "GOSUMDB"} {
			cmd.Env = append(cmd.Env, name+"="+goEnv(t, name))
		}
		var text bytes.Buffer
		cmd.Stdout, cmd.Stderr = &text, &text
		shown, err := runAtTerminal(cmd, "")
		if err != nil && cmd.ProcessState == nil {
			t.Fatalf("%s: %v\n%s", command, err, &text)
		}
		return text.String() + shown, cmd.ProcessState.ExitCode()
	}
	connect, ask, approve, audit := blocks[0][1], blocks[1][1], blocks[2][1], blocks[3][1]

	if out, code := run(connect); code != 0 || !strings.Contains(out, "Hello, Ada!") {
		t.Fatalf("connect: exit code %d\n%s", code, out)
	}
	if out, code := run(ask); code != 3 {
		t.Fatalf("ask: exit code %d, want 3\n%s", code, out)
	}
	list, decide, found := strings.Cut(strings.TrimSpace(approve), "\n")
	out, code := run(list)
	id := regexp.MustCompile(`\b[a-z0-9]{10}\b`).FindString(out)
	if !found || code != 0 || id == "" {
		t.Fatalf("list: exit code %d\n%s", code, out)
	}
	if out, code := run(strings.Replace(decide, "ID", id, 1)); code != 0 {
		t.Fatalf("approve: exit code %d\n%s", code, out)
	}
	if out, code := run(ask); code != 0 {
		t.Fatalf("the approved call: exit code %d\n%s", code, out)
	}
	if out, code := run(audit); code != 0 || !strings.Contains(out, "write_memory_entry") {
		t.Errorf("audit: exit code %d\n%s", code, out)
	}

	command, args := serverCommand(t, filepath.Join(copied, ".mcp.json"))
	if command != "./bin/remit" {
		t.Errorf("the client's settings start %s", command)
	}
	agent := exec.Command(command, args...)
	agent.Dir, agent.Env, agent.Stdin = copied, append(environment(), "HOME="+home), strings.NewReader(helloLine)
	if text, err := agent.CombinedOutput(); err != nil || !strings.Contains(string(text), "Hello, Ada!") {
		t.Errorf("%v: %v\n%s", agent.Args, err, text)
	}
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.Command("go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}
