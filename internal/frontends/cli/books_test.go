package cli_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"remit/internal/frontends/cli"
)

// has writes a file in the user's folder.
func (p *person) has(name, text string) string {
	p.t.Helper()
	name = filepath.Join(p.root, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
	return name
}

func TestBooksCannotSteerTheTerminal(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	const title = "Ring\r\x1b[31m the\u009b2J \u202ebell"
	p.has("c/a.md", "# A\n\n[x](<\x1b[31m.md>)\n")
	for _, args := range [][]string{
		{"books", "new", "bells", "--title", title},
		{"books"},
		{"books", "import", p.root + "/c", "--book", "c01", "--title", title, "--dry-run"},
		{"books", "import", p.root + "/c", "--book", "c01", "--title", title},
		{"books", "log", "c01"},
	} {
		if out, _ := p.runs(cli.ExitOK, args...); strings.ContainsAny(out, "\r\x1b\u009b\u202e") {
			t.Errorf("remit %q says %q", args, out)
		}
	}
	p.has(".remit/library/registry.yaml", "books:\n- {book_id: c01, title: \"Ring\\e[31m\", storage_backend: fs, created_at: 2025-01-01T00:00:00Z, status: active}\n")
	if out, _ := p.runs(cli.ExitOK, "books"); strings.Contains(out, "\x1b") || !strings.Contains(out, `Ring\x1b[31m`) {
		t.Errorf("the list says %q", out)
	}
	if out, _ := p.runs(cli.ExitFailed, "books", "validate", "c01"); strings.Contains(out, "\x1b") || !strings.Contains(out, `\x1b[31m.md: no such file`) {
		t.Errorf("validate says %q", out)
	}
	if _, errOut := p.runs(cli.ExitFailed, "books", "log", "\x1b[31m"); strings.Contains(errOut, "\x1b") {
		t.Errorf("an error says %q", errOut)
	}
}

// TestExportLeavesNothingBehind checks that a failed export leaves no file.
func TestExportLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	out := t.TempDir()
	p.runs(cli.ExitFailed, "books", "export", "none", "-o", out)
	p.runs(cli.ExitOK, "books", "new", "mine")
	p.runs(cli.ExitOK, "books", "export", "mine", "-o", out)
	p.has("taken.zip", "mine")
	p.runs(cli.ExitFailed, "books", "export", "mine", "-o", p.root+"/taken.zip")
	if text, err := os.ReadFile(p.root + "/taken.zip"); err != nil || string(text) != "mine" {
		t.Errorf("what was there is %q, error %v", text, err)
	}
	p.runs(cli.ExitOK, "books", "export", "mine", "-o", p.root+"/taken.zip", "--force")
	if text, err := os.ReadFile(p.root + "/taken.zip"); err != nil || !strings.HasPrefix(string(text), "PK") {
		t.Errorf("with --force it is %.10q, error %v", text, err)
	}
	entries, err := os.ReadDir(out)
	if err != nil || len(entries) != 1 || entries[0].Name() != "mine.zip" {
		t.Errorf("the folder has %v, error %v", entries, err)
	}
}

func TestImportKeepsTheTitle(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.has("c/a.md", "# A\n")
	for _, tc := range []struct{ title, says string }{{"First  one", ""}, {"First one", ""}, {"Second", "The book keeps its title \"First one\"; change it: remit books edit c01 --title TITLE\n"}} {
		if _, errOut := p.runs(cli.ExitOK, "books", "import", p.root+"/c", "--book", "c01", "--title", tc.title); errOut != tc.says {
			t.Errorf("with the title %q it says %q, want %q", tc.title, errOut, tc.says)
		}
	}
}

// TestBooksForScripts checks the keys of the output of --json, which scripts rely on.
func TestBooksForScripts(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.has("c/a.md", "# A\n\n![x](b.png)\n")
	p.has("c/b.png", "png")
	p.has("c/.git/x", "")
	for _, tc := range []struct {
		args string
		keys string
	}{
		{"books import c --book c01 --dry-run", "book_id bytes cannot_be files left_out links title"},
		{"books import c --book c01", "book_id bytes cannot_be files left_out links title"},
		{"books validate c01", "book_id errors findings warnings"},
		{"books new d01", "book_id created_at lessons status storage_backend title"},
		{"books export c01", "book_id bytes file"},
		{"books list", "[book_id created_at lessons status storage_backend title]"},
		{"books log c01", "[action at by new path size version]"},
		{"books show c01", "assets book_id bytes changed_at created_at files lesson_paths lessons status storage_backend summaries title"},
		{"books show c01 lessons/a.md", "book_id content path"},
		{"books search A", "[file_path line_number matched_line]"},
		{"books edit c01 --title B", "book_id created_at status storage_backend title"},
		{"books archive d01", "book_id created_at status storage_backend title"},
		{"books rename c01 e01", "book_id bytes created_at files status storage_backend title"},
		{"books rm e01 --yes", "book_id bytes created_at files status storage_backend title"},
		{"books restore e01", "book_id bytes created_at files status storage_backend title"},
	} {
		args := strings.Fields(strings.Replace(tc.args, " c ", " "+p.root+"/c ", 1))
		if args[1] == "export" {
			args = append(args, "-o", p.root)
		}
		out, _ := p.runs(cli.ExitOK, append(args, "--json")...)
		if got := keysOf(t, out); got != tc.keys {
			t.Errorf("%s prints %s, want %s", tc.args, got, tc.keys)
		}
	}
}

// keysOf returns the sorted keys of an object, or of the first object in a list.
func keysOf(t *testing.T, text string) string {
	t.Helper()
	var one map[string]any
	var many []map[string]any
	if json.Unmarshal([]byte(text), &one) == nil {
		return sortedKeys(one)
	}
	if err := json.Unmarshal([]byte(text), &many); err != nil || len(many) == 0 {
		t.Fatalf("%v: %s", err, text)
	}
	return "[" + sortedKeys(many[0]) + "]"
}

func sortedKeys(object map[string]any) string {
	return strings.Join(slices.Sorted(maps.Keys(object)), " ")
}
