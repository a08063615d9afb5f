package e2e

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// withoutJQ matches what not every machine can run.
var withoutJQ = regexp.MustCompile(` \| (jq|sha256sum).*`)

// commandBlocks returns the blocks of commands of a page in docs, or of one of its sections. There
// must be as many as the test expects.
func commandBlocks(t *testing.T, page, section string, want int) (blocks []string) {
	t.Helper()
	text := read(t, filepath.Join("..", "docs", page))
	if section != "" {
		_, after, found := strings.Cut(text, "\n## "+section+"\n")
		if !found {
			t.Fatalf("%s has no section %q", page, section)
		}
		text, _, _ = strings.Cut(after, "\n## ")
	}
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(text, -1) {
		blocks = append(blocks, withoutJQ.ReplaceAllString(block[1], ""))
	}
	if len(blocks) != want {
		t.Fatalf("%s has %d blocks of commands, want %d", page, len(blocks), want)
	}
	return blocks
}

// shell runs commands in the workspace, all of which must succeed.
func (s *workspace) shell(commands string, env ...string) {
	s.t.Helper()
	cmd := exec.Command("sh", "-e", "-c", commands)
	cmd.Dir = s.root
	cmd.Env = append(environment(append(s.env, env...)...), "PATH="+filepath.Dir(remitBin)+string(filepath.ListSeparator)+os.Getenv("PATH"))
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Errorf("%v\n%s%s", err, commands, out)
	}
}

// TestTasksPage runs the commands of docs/tasks.md, each block in a workspace of its own.
func TestTasksPage(t *testing.T) {
	t.Parallel()
	for _, block := range commandBlocks(t, "tasks.md", "", 3) {
		newWorkspace(t, nil).shell(block)
	}
}

// TestBooksPage runs the commands of docs/books.md, one after the other. It adds what a reader does
// between them, and the hash of the lesson.
func TestBooksPage(t *testing.T) {
	t.Parallel()
	const lesson = "# Introduction\n\nA list comprehension.\n\n## Setup\n\nInstall pip.\n"
	s := newWorkspace(t, map[string]string{"home/courses/python/lessons/intro.md": lesson})
	hash := fmt.Sprintf("%x", sha256.Sum256([]byte(lesson)))
	blocks := commandBlocks(t, "books.md", "", 6)
	before := map[int]string{
		0: "remit books new agents-course; remit books export agents-course -o course-main.zip; remit books rm agents-course --yes\n",
		2: "for n in 2 3; do echo \"# Edition $n\" > home/courses/python/lessons/intro.md; remit books import ~/courses/python; done\n",
		3: "remit books new pyton\n",
	}
	asked := strings.NewReplacer(
		"--version a591a6d40bf4", "--version "+hash[:12], "file_hash=HASH", "file_hash="+hash,
		"remit books archive python ", "remit books archive python; remit books archive python --undo ",
		"remit books rm pyton ", "remit books rm pyton --yes ",
	)
	for i, block := range blocks {
		s.shell(before[i]+asked.Replace(block), "HOME="+s.path("home"), "REMIT_APPROVE=auto")
	}
	if got := s.remit("books", "show", "python", "lessons/intro.md"); !strings.Contains(got.out, "Install uv.") {
		t.Errorf("at the end, the lesson is\n%s%s", got.out, got.errOut)
	}
}

// TestCodePage runs the commands of docs/code.md.
func TestCodePage(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, map[string]string{
		"README.md": "# v1.2\n", "go.mod": "module m\n", "src/conn/conn.go": "package conn\n",
		"src/server.go": "package main\n\nimport \"m/src/conn\"\n\n// TODO: retry, with a backoff.\nfunc (c *Conn) Close() {\n" +
			"\tjwt.sign()\n\tdefer done(\n\t)\n}\n" + strings.Repeat("\n", 120),
		"logs/today.log": strings.Repeat("\n", 2_000_000),
	})
	for _, block := range commandBlocks(t, "code.md", "", 2) {
		s.shell(block)
	}
}

// TestSettingsPage runs the commands of docs/settings.md that change the file.
func TestSettingsPage(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, map[string]string{"remit.yaml": "# mine\napprove: ask # why\n"})
	s.shell(commandBlocks(t, "settings.md", "Change the file", 1)[0], "VISUAL=true")
	if got, want := s.read("remit.yaml"), "# mine\napprove: deny # why\n"; got != want {
		t.Errorf("at the end, the file is\n%s", got)
	}
}

// TestAuditCommands runs the commands of docs/operations.md that show audit records.
func TestAuditCommands(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, nil)
	s.remit("call", "hello", "name=Ada")
	list := s.remit("audit", "list", "--format", "csv")
	id := regexp.MustCompile(`\d{4}-\d\d-\d\d\.\w+\.\w+`).FindString(list.out)
	if id == "" {
		t.Fatalf("no record has an id:\n%s%s", list.out, list.errOut)
	}
	s.shell(strings.ReplaceAll(commandBlocks(t, "operations.md", "Audit records", 1)[0], "show ID", "show "+id))
}
