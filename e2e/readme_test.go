package e2e

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestReadmeFirstCall follows the README in a copy of the repository: three commands
// from a clone to the first call of an agent, by the client that was connected.
func TestReadmeFirstCall(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds a copy of the repository")
	}
	t.Parallel()
	copied, home := copyRepository(t), t.TempDir()
	_, section, found := strings.Cut(read(t, filepath.Join(copied, "README.md")), "\n## Connect a client\n")
	if !found {
		t.Fatal("the README does not tell how to connect a client")
	}
	commands := strings.Split(strings.TrimSpace(firstBlock(t, section, "sh")), "\n")
	if len(commands) != 3 {
		t.Fatalf("there are %d commands, want 3: %q", len(commands), commands)
	}
	out := ""
	for _, command := range commands {
		cmd := exec.Command("sh", "-c", command)
		cmd.Dir = copied
		cmd.Env = append(environment("HOME="+home), asShipped...)
		for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPROXY", "GONOSUMDB", "GONOSUMCHECK", "GOSUMDB"} { // what was downloaded and built need not be again
			cmd.Env = append(cmd.Env, name+"="+goEnv(t, name))
		}
		text, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", command, err, text)
		}
		out = string(text)
	}
	if !strings.Contains(out, "Hello, Ada!") {
		t.Errorf("the last command says %s", out)
	}
	command, args := startedBy(t, filepath.Join(home, ".claude.json"))
	if command != filepath.Join(realFolder(t, copied), "bin", "remit") {
		t.Errorf("the client would start %s", command)
	}
	agent := exec.Command(command, args...)
	agent.Dir, agent.Env, agent.Stdin = home, append(environment(), "HOME="+home), strings.NewReader(helloLine)
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

func realFolder(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.EvalSymlinks(name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}
