package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// ripgrep returns the path of ripgrep, which searches are compared with.
func ripgrep(t *testing.T) string {
	t.Helper()
	anyNode.ready(t)
	path := anyNode.program(t, "@vscode/ripgrep-linux-x64/bin/rg")
	if _, err := os.Stat(path); err != nil {
		skipOutsideCI(t, fmt.Sprintf("%s: npm has ripgrep only for Linux on x86-64", t.Name()))
	}
	return path
}

// folderOf returns a folder that a go command prints.
func folderOf(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command("go", args...).Output()
	if err != nil {
		t.Fatalf("go %v: %v", args, err)
	}
	return string(bytes.TrimSpace(out))
}

// codeTrees returns real source trees: Go's own packages, and two modules that we depend on.
func codeTrees(t *testing.T) map[string]string {
	t.Helper()
	goroot := folderOf(t, "env", "GOROOT")
	trees := map[string]string{
		"net":  filepath.Join(goroot, "src", "net"),
		"pgx":  folderOf(t, "list", "-m", "-f", "{{.Dir}}", "github.com/jackc/pgx/v5"),
		"yaml": folderOf(t, "list", "-m", "-f", "{{.Dir}}", "github.com/goccy/go-yaml"),
	}
	if os.Getenv("REMIT_FULL") == "true" {
		trees["net"] = filepath.Join(goroot, "src")
	}
	return trees
}

// excluded are the folders that are never searched.
var excluded = []string{"node_modules", ".git", "dist", "build", ".next", ".context"}

// copyTree copies the searchable files of a tree.
func copyTree(t *testing.T, from string) *workspace {
	t.Helper()
	s := newWorkspace(t, nil)
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		beneath, err := filepath.Rel(from, path)
		to := filepath.Join(s.root, beneath)
		switch {
		case err != nil || !d.IsDir() && !d.Type().IsRegular():
			return err
		case d.IsDir() && slices.Contains(excluded, d.Name()):
			return filepath.SkipDir
		case d.IsDir():
			return os.MkdirAll(to, 0o755)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(to, data, 0o644)
	})
	s.check(err)
	return s
}

// sampleLines returns lines of a tree that contain words.
func (s *workspace) sampleLines(random *rand.Rand, n int) []string {
	s.t.Helper()
	var files []string
	s.check(filepath.WalkDir(s.root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			files = append(files, path)
		}
		return err
	}))
	words := regexp.MustCompile(`[A-Za-z_]{3,}\W+[A-Za-z_]{2,}`)
	var lines []string
	for len(lines) < n {
		data, err := os.ReadFile(files[random.IntN(len(files))])
		s.check(err)
		all := strings.Split(string(data), "\n")
		if line := strings.TrimSpace(all[random.IntN(len(all))]); words.MatchString(line) && len(line) < 200 {
			lines = append(lines, line)
		}
	}
	return lines
}

// patternOf returns a random kind of pattern that matches a line.
func patternOf(random *rand.Rand, line string) string {
	words := regexp.MustCompile(`[A-Za-z_]\w*`).FindAllString(line, -1)
	word := words[random.IntN(len(words))]
	other := words[random.IntN(len(words))]
	start := random.IntN(len(line))
	part := strings.ToValidUTF8(line[start:min(len(line), start+1+random.IntN(16))], "")
	classes := []func() string{
		func() string { return word },
		func() string { return regexp.QuoteMeta(part) },
		func() string { return `\b` + word + `\b` },
		func() string { return word + "|" + other + "|nothing_of_the_kind" },
		func() string { return word + `.*` + other },
		func() string { return word + `\s*[(:=]` },
		func() string { return `[` + word[:1] + `-z]{3,}_` + `\w+` },
		func() string { return `^\s*` + word },
		func() string { return regexp.QuoteMeta(part) + `\w*$` },
		func() string { return word[:len(word)/2] + `\w+` },
		func() string { return `(?:` + word + `|` + other + `)\(\w+\)` },
		func() string { return `[^a-z ]` + word + `?` },
		func() string { return strconv.Itoa(random.IntN(100)) + `\d*[,;]` },
		func() string { return `"[^"]*` + word[:1] + `[^"]*"` },
		func() string { return `\S+\.` + word },
		func() string { return word + `{1,2}` },
		func() string { return `\t` + word },
		func() string { return `(` + word[:1] + `+.){2}` + word[1:] },
	}
	return classes[random.IntN(len(classes))]()
}

// TestSameLinesAsRipgrep checks that generated patterns find the same lines as ripgrep in real
// trees, with and without case.
func TestSameLinesAsRipgrep(t *testing.T) {
	t.Parallel()
	rg := ripgrep(t)
	patterns := 30
	if os.Getenv("REMIT_FULL") == "true" {
		patterns = 200
	}
	for name, folder := range codeTrees(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := copyTree(t, folder)
			server := s.stdio("--toolsets", "context", "--rate-limits", "off")
			random := rand.New(rand.NewPCG(1, uint64(len(name))))
			found := 0
			for _, line := range s.sampleLines(random, patterns) {
				pattern := patternOf(random, line)
				if len(pattern) > 200 {
					continue
				}
				for _, sensitive := range []bool{true, false} {
					found += compareWithRipgrep(t, s, server, rg, pattern, sensitive)
				}
			}
			t.Logf("%d lines are the same", found)
		})
	}
}

// compareWithRipgrep compares the number of matching lines in each file, and the lines themselves
// unless there are too many.
func compareWithRipgrep(t *testing.T, s *workspace, server *stdioServer, rg, pattern string, sensitive bool) int {
	t.Helper()
	args := []string{"--hidden", "--no-heading", "--with-filename", "--line-number", "--glob", "!.remit", "-e", pattern}
	if !sensitive {
		args = append(args, "-i")
	}
	cmd := exec.Command(rg, append(args, ".")...)
	cmd.Dir = s.root
	out, err := cmd.Output()
	if err != nil && cmd.ProcessState.ExitCode() != 1 {
		t.Fatalf("rg %s: %v", pattern, err)
	}
	var want []string
	for line := range strings.Lines(string(out)) {
		if !strings.Contains(line, "binary file matches") {
			want = append(want, strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(line, "./"), "\n"), "\r"))
		}
	}
	const many = 1500
	var got []string
	for cursor, pages := "", 0; len(want) <= many; pages++ {
		page := grep(server, map[string]any{"pattern": pattern, "caseSensitive": sensitive, "limit": 100, "context": 0, "cursor": cursor})
		for _, m := range page.Matches {
			got = append(got, fmt.Sprintf("%s:%d:%s", m.File, m.Line, strings.TrimSuffix(m.Text, "\r")))
		}
		if page.TotalMatches != len(want) || page.Incomplete {
			t.Errorf("%q (sensitive %t): found %d lines, ripgrep %d", pattern, sensitive, page.TotalMatches, len(want))
		}
		if cursor = page.NextCursor; cursor == "" {
			break
		}
		if pages > many {
			t.Fatalf("%q: the pages do not end", pattern)
		}
	}
	if len(want) > many {
		page := grep(server, map[string]any{"pattern": pattern, "caseSensitive": sensitive, "limit": 1})
		if page.TotalMatches != len(want) {
			t.Errorf("%q (sensitive %t): found %d lines, ripgrep %d", pattern, sensitive, page.TotalMatches, len(want))
		}
		return page.TotalMatches
	}
	slices.Sort(want)
	slices.Sort(got)
	compareLines(t, fmt.Sprintf("%q (sensitive %t)", pattern, sensitive), got, want)
	return len(got)
}

// compareLines reports the lines that only one list has. Only the start of a long line is compared.
func compareLines(t *testing.T, what string, got, want []string) {
	t.Helper()
	isLong := func(line string) bool {
		return len(line) > 900 || strings.Contains(line, "\uFFFD") || strings.ToValidUTF8(line, "") != line
	}
	got, want = slices.DeleteFunc(got, isLong), slices.DeleteFunc(want, isLong)
	for _, line := range got {
		if _, ok := slices.BinarySearch(want, line); !ok {
			t.Errorf("%s: ripgrep does not find %s", what, line)
		}
	}
	for _, line := range want {
		if _, ok := slices.BinarySearch(got, line); !ok {
			t.Errorf("%s: ripgrep finds %s", what, line)
		}
	}
}

// grepAnswer is the answer of grep_codebase.
type grepAnswer struct {
	Matches []struct {
		File, Text   string
		Line, Column int
		Cut          bool
		Context      struct{ Before, After []string }
	}
	Files []struct {
		File  string
		Count int
	}
	Pattern       string
	TotalMatches  int
	TotalFiles    int
	FilesSearched int
	SearchTime    int
	Message       string
	Incomplete    bool
	NextCursor    string
}

// grep calls grep_codebase. It omits empty arguments.
func grep(server *stdioServer, args map[string]any) grepAnswer {
	server.t.Helper()
	if args["cursor"] == "" {
		delete(args, "cursor")
	}
	text, err := json.Marshal(args)
	if err != nil {
		server.t.Fatal(err)
	}
	result := server.call("grep_codebase", string(text))
	if result.failed {
		server.t.Fatalf("grep_codebase %s: %s", text, result.text)
	}
	var out grepAnswer
	server.decode([]byte(result.text), &out)
	return out
}
