package corpus

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"remit/internal/search/glob"
	"remit/internal/search/text"
	"remit/internal/search/tree"
)

// open returns the corpus of a folder. It is closed at the end of the test, and must leave no
// goroutines.
func open(t testing.TB, root string, o Options) *Corpus {
	t.Helper()
	return openTree(t, tree.Options{Root: root, Env: noEnvironment}, o)
}

func openTree(t testing.TB, of tree.Options, o Options) *Corpus {
	t.Helper()
	files, err := tree.Open(of)
	if err != nil {
		t.Fatal(err)
	}
	c := New(files, o)
	t.Cleanup(func() {
		c.Close()
		if err := files.Close(); err != nil {
			t.Error(err)
		}
		checkNoGoroutines(t)
	})
	return c
}

// goSource returns the folder of the standard library, about 10,000 files.
func goSource(t testing.TB) string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(strings.TrimSpace(string(out)), "src")
}

func noEnvironment(string) (string, bool) { return "", false }

// checkNoGoroutines fails if a goroutine of the package is still running. It waits only for those
// that are about to end by themselves.
func checkNoGoroutines(t testing.TB) {
	t.Helper()
	for range 1000 {
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		if !bytes.Contains(stacks, []byte("corpus.(*Corpus).run")) && !bytes.Contains(stacks, []byte("corpus.(*Corpus).tend")) {
			return
		}
		runtime.Gosched()
	}
	t.Error("a goroutine of the corpus is left")
}

// maintained waits until the background maintenance has finished.
func (c *Corpus) maintained() { c.maintenance.Wait() }

func pattern(t testing.TB, expression string, ignoreCase bool) *text.Pattern {
	t.Helper()
	p, err := text.Compile(expression, text.Options{IgnoreCase: ignoreCase})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func globbing(t testing.TB, expression string) *glob.Pattern {
	t.Helper()
	if expression == "" {
		return nil
	}
	p, err := glob.Compile(expression)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// search returns the delivered lines in grep's format, and the summary.
func (c *Corpus) search(t testing.TB, q Query) ([]string, Summary) {
	t.Helper()
	var lines []string
	sum, err := c.Search(context.Background(), q, func(f FileMatches) bool {
		lines = append(lines, grepped(f)...)
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines, sum
}

func grepped(f FileMatches) []string {
	var lines []string
	for _, l := range f.Lines {
		lines = append(lines, fmt.Sprintf("%s:%d:%s", f.Path, l.Number, l.Text))
	}
	return lines
}

// write creates a file in a folder.
func write(t testing.TB, root, path, content string) {
	t.Helper()
	name := filepath.Join(root, filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// bruteForce finds what Search should find in texts without byte order marks: it reads every file
// and matches every line.
func bruteForce(t testing.TB, root, expression, only string) (lines []string, sum Summary) {
	t.Helper()
	re, g := regexp.MustCompile(expression), globbing(t, only)
	for _, path := range listed(t, root) {
		if g != nil && !g.Match(path) {
			continue
		}
		content, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			t.Fatal(err)
		}
		if i := bytes.IndexByte(content, 0); i >= 0 {
			continue
		}
		sum.Files++
		before := sum.Matches
		for i, line := range strings.Split(strings.TrimSuffix(string(content), "\n"), "\n") {
			if len(content) > 0 && re.MatchString(line) {
				lines = append(lines, fmt.Sprintf("%s:%d:%s", path, i+1, strings.TrimSuffix(line, "\r")))
				sum.Matches++
			}
		}
		if sum.Matches > before {
			sum.Matched++
		}
	}
	return lines, sum
}

// listed returns the regular files in a folder, sorted by bytes.
func listed(t testing.TB, root string) (paths []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			path, err = filepath.Rel(root, path)
			paths = append(paths, filepath.ToSlash(path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(paths)
	return paths
}

// same fails if two lists of lines differ, and shows the first difference.
func same(t testing.TB, what string, got, want []string) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		g, w := "nothing", "nothing"
		if i < len(got) {
			g = got[i]
		}
		if i < len(want) {
			w = want[i]
		}
		if g != w {
			t.Fatalf("%s: got %d lines, want %d; line %d is\n%.300q, wanted\n%.300q", what, len(got), len(want), i+1, g, w)
		}
	}
}
