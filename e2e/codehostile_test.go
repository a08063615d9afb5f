package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// TestHostileTree checks that unusual files in a project do not prevent an answer.
func TestHostileTree(t *testing.T) {
	t.Parallel()
	// Words of five letters; fewer with the race detector, which takes ten times as long for each.
	long := 2 << 20
	if underRace() {
		long /= 10
	}
	s := newWorkspace(t, map[string]string{
		"good.txt":       "needle here\n",
		"binary.bin":     "needle\x00needle\n",
		"late.bin":       strings.Repeat("x\n", 8<<10) + "\x00needle\n",
		"line.txt":       strings.Repeat("long ", long) + "needle" + strings.Repeat(" tail", 1000) + "\n",
		"latin1.txt":     "caf\xe9 needle\n",
		"utf16.txt":      "\xff\xfen\x00e\x00e\x00d\x00l\x00e\x00\n\x00",
		"bom.txt":        "\ufeffneedle\n",
		"noend.txt":      "needle",
		"empty.txt":      "",
		"crlf.txt":       "one\r\nneedle\r\n",
		".env":           "needle=secret\n",
		".env.local":     "needle=secret\n",
		"sub/.env":       "needle=secret\n",
		"remit.yaml":     "# needle\n",
		".remit/secret":  "needle\n",
		"locked.txt":     "needle\n",
		".github/a.yml":  "needle\n",
		"name-\xff-here": "needle\n",
	})
	s.link("loop", ".")
	s.link("out", "/etc")
	s.link("env", ".env")
	s.check(syscall.Mkfifo(s.path("pipe"), 0o644))
	s.check(os.Chmod(s.path("locked.txt"), 0))
	server := s.stdio("--toolsets", "context", "--rate-limits", "off")
	page := grep(server, map[string]any{"pattern": "needle", "context": 1})
	got := map[string]string{}
	for _, m := range page.Matches {
		got[m.File] += m.Text
		if len(m.Text) > 1100 {
			t.Errorf("%s: the line has %d bytes", m.File, len(m.Text))
		}
		if !strings.Contains(m.Text, "needle") {
			t.Errorf("%s: the returned part of the line does not contain the match: %.80q", m.File, m.Text)
		}
	}
	want := []string{"good.txt", "line.txt", "latin1.txt", "utf16.txt", "bom.txt", "noend.txt", "crlf.txt", ".github/a.yml", "name-\uFFFD-here"}
	if os.Getuid() == 0 { // root can read everything
		want = append(want, "locked.txt")
	}
	for _, name := range want {
		if got[name] == "" {
			t.Errorf("%s is not found", name)
		}
		delete(got, name)
	}
	for name, text := range got {
		t.Errorf("%s is found: %.80q", name, text)
	}
	for _, secret := range []string{".env", ".env.local", "sub/.env", ".git/config", "node_modules/a.js", ".remit/secret", "remit.yaml", "env", "out/passwd", "../x", "/etc/passwd"} {
		refused := server.call("read_file", fmt.Sprintf(`{"path":%q,"includeDeps":true}`, secret))
		if !refused.failed || !strings.Contains(refused.text, `"Permission denied"`) {
			t.Errorf("read_file %s: %.200s", secret, refused.text)
		}
	}
	for _, odd := range []string{"pipe", "sub", "binary.bin"} {
		if refused := server.call("read_file", fmt.Sprintf(`{"path":%q}`, odd)); !refused.failed {
			t.Errorf("read_file %s: %.200s", odd, refused.text)
		}
	}
}

// TestHostilePatterns checks that no pattern exceeds its deadline, and that an invalid pattern is
// rejected with the reason.
func TestHostilePatterns(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, map[string]string{
		"long.txt":  strings.Repeat("ab", 5<<20) + "\n",
		"lines.txt": strings.Repeat(strings.Repeat("a", 500)+"b\n", 20_000),
	})
	server := s.stdio("--toolsets", "context", "--rate-limits", "off")
	for _, pattern := range []string{
		"(a+)+$", "(a|a)*c", "(.*)*x", "(a?){100}c", "((a{1,100}){1,10})c", ".*.*.*=.*", "(x+x+)+y", "[ab]{1000}c", "(?:a.){200}c", `(\w+\s?)*$`, "(ab|ba)*(a|b)c",
	} {
		args, err := json.Marshal(map[string]any{"pattern": pattern})
		s.check(err)
		result := server.call("grep_codebase", string(args))
		if result.failed && !strings.Contains(result.text, `"Invalid regex pattern"`) {
			t.Errorf("%s: %.300s", pattern, result.text)
		}
	}
	for pattern, column := range map[string]int{"[invalid(": 1, "a(b": 2, `x\`: 2, "*a": 1, "a{2,1}": 2, `(?=a)`: 1, `\p{No}+\p{Nope}`: 8, "(?P<n>a": 1} {
		args, err := json.Marshal(map[string]any{"pattern": pattern})
		s.check(err)
		var got struct {
			Error, Pattern, Details string
			Column                  int
		}
		result := server.call("grep_codebase", string(args))
		if !result.failed || json.Unmarshal([]byte(result.text), &got) != nil || got.Error != "Invalid regex pattern" || got.Pattern != pattern || got.Details == "" || got.Column != column {
			t.Errorf("%s: want column %d: %s", pattern, column, result.text)
		}
	}
}

// TestChangingFiles checks that searches and reads succeed while files appear, change, grow and
// vanish.
func TestChangingFiles(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, map[string]string{"still.go": "package still // needle\n"})
	server := s.stdio("--toolsets", "context", "--rate-limits", "off")
	done := make(chan struct{})
	var movers sync.WaitGroup
	for n := range 4 {
		movers.Go(func() {
			name := filepath.Join(s.root, fmt.Sprintf("moving%d.go", n))
			for round := 0; ; round++ {
				select {
				case <-done:
					return
				default:
				}
				text := bytes.Repeat([]byte("needle in motion\n"), 1+round%5000)
				_ = os.WriteFile(name, text, 0o644) // fails while it is a folder
				_ = os.Truncate(name, int64(round%len(text)))
				switch round % 4 {
				case 0:
					_ = os.Remove(name)
				case 1:
					_ = os.Rename(name, name+".moved")
				case 2:
					_ = os.Remove(name)
					_ = os.Mkdir(name, 0o755)
				case 3:
					_ = os.RemoveAll(name)
				}
			}
		})
	}
	for n := range 150 {
		found := false
		for _, m := range grep(server, map[string]any{"pattern": "// needle", "limit": 100}).Matches {
			found = found || m.File == "still.go"
		}
		if !found {
			t.Fatal("an unchanged file is not found")
		}
		// Whether it exists or not, there is an answer.
		server.call("read_file", fmt.Sprintf(`{"path":"moving%d.go","includeDeps":true}`, n%4))
	}
	close(done)
	movers.Wait()
}

// TestDeniedByTheOperator checks that files which read_file may not read are not searched, whether
// or not read_file is served.
func TestDeniedByTheOperator(t *testing.T) {
	t.Parallel()
	for name, rule := range map[string]string{
		"served": `{deny: ["**/plans", "notes.txt"]}`,
		"hidden": `{hide: true, deny: ["**/plans", "notes.txt"]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newWorkspace(t, map[string]string{
				"remit.yaml": "tools:\n  read_file: " + rule + "\n",
				"a.txt":      "needle\n", "notes.txt": "needle\n", "sub/plans/b.txt": "needle\n", "Notes.TXT": "needle\n",
			})
			server := s.stdio("--toolsets", "context")
			page := grep(server, map[string]any{"pattern": "needle", "output": "files"})
			if len(page.Files) != 1 || page.Files[0].File != "a.txt" {
				t.Errorf("found in %v", page.Files)
			}
			for _, args := range [][]string{{"grep", "-l", "needle"}, {"files"}, {"grep", "-l", "needle", "--toolsets", "tasks"}} {
				if out := s.remit(args...); out.out != "a.txt\n" {
					t.Errorf("remit %v: %s%s", args, out.out, out.errOut)
				}
			}
		})
	}
	s := newWorkspace(t, map[string]string{"remit.yaml": "tools:\n  read_file: {deny: [\"sub/\"]}\n"})
	if out := s.remit("files"); out.code == 0 || !strings.Contains(out.errOut, `"sub/" would deny nothing; write "sub"`) {
		t.Errorf("remit files: %d %s", out.code, out.errOut)
	}
}

// TestLongOutline checks that an outline is limited in size and reports what it omits.
func TestLongOutline(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, map[string]string{"long.md": strings.Repeat("# h\n", 200_000)})
	server := s.stdio("--toolsets", "context")
	result := server.call("read_file", `{"path":"long.md","outline":true,"limit":1}`)
	if result.failed || !strings.Contains(result.text, `"outlineOmitted":198000`) || len(result.text) > 1<<20 {
		t.Errorf("%d bytes: %.300s", len(result.text), result.text)
	}
}
