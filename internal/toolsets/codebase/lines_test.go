package codebase

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"remit/internal/search/corpus"
	"remit/internal/search/tree"
)

func TestSelection(t *testing.T) {
	all := []string{"README.md", "a.go", "src/a.go", "src/a_test.go", "src/c.h", "src/x[1].ts", "src2/b.go", "vendor/v/v.go", "Makefile"}
	for _, tc := range []struct {
		s    Selection
		want string
	}{
		{Selection{Paths: []string{"src"}}, "src/a.go src/a_test.go src/c.h src/x[1].ts"},
		{Selection{Paths: []string{"src/a.go", "vendor"}}, "src/a.go vendor/v/v.go"},
		{Selection{Paths: []string{"*.md", "src/*_test.go"}}, "README.md src/a_test.go"},
		{Selection{Paths: []string{"src/x[1].ts"}}, "src/x[1].ts"},
		{Selection{Globs: []string{"*.go", "!*_test.go"}}, "a.go src/a.go src2/b.go vendor/v/v.go"},
		{Selection{Globs: []string{"!*_test.go", "*.go"}}, "a.go src/a.go src/a_test.go src2/b.go vendor/v/v.go"},
		{Selection{Globs: []string{"!vendor", "!/src/", "!Makefile"}}, "README.md a.go src2/b.go"},
		{Selection{Globs: []string{"/a.go"}}, "a.go"},
		{Selection{Globs: []string{"src/**"}}, "src/a.go src/a_test.go src/c.h src/x[1].ts"},
		{Selection{Types: []string{"md", "make"}}, "README.md Makefile"},
		{Selection{Types: []string{"go"}, Paths: []string{"src"}, Globs: []string{"!*_test.go"}}, "src/a.go"},
		{Selection{NotTypes: []string{"go", "c"}}, "README.md src/x[1].ts Makefile"},
		{Selection{NotTypes: []string{"all"}}, ""},
		{Selection{Folder: "src"}, "src/a.go src/a_test.go src/c.h src/x[1].ts"},
		{Selection{Folder: "vendor/v", Paths: []string{"../../src/*.h", "v.go"}}, "src/c.h vendor/v/v.go"},
		{Selection{Folder: "vendor", Paths: []string{"..", "x"}, Globs: []string{"*.go", "!v/*.go"}}, "a.go src/a.go src/a_test.go src2/b.go"},
		{Selection{Folder: "src", Paths: []string{"*.go"}, Globs: []string{"!/a.go"}}, "src/a_test.go"},
		{Selection{Folder: "src/x[1].ts"}, "src/x[1].ts"},
		{Selection{Folder: "s*", Paths: []string{"*.go"}}, ""},
	} {
		p, err := tc.s.compile()
		if err != nil {
			t.Fatalf("%+v: %v", tc.s, err)
		}
		got := slices.DeleteFunc(slices.Clone(all), func(path string) bool { return !p.Match(path) })
		if strings.Join(got, " ") != tc.want {
			t.Errorf("%+v selects %q, want %s", tc.s, got, tc.want)
		}
	}
	for want, s := range map[string]Selection{
		"cobol2 is not a file type; \"remit grep --type-list\" lists all types":          {Types: []string{"cobol2"}},
		"{a is not a valid glob: a [ or { is not closed, or it ends with a backslash":    {Paths: []string{"src/**"}, Globs: []string{"/{a"}},
		"a glob needs a name or a path, such as '*.go'":                                  {Globs: []string{"!"}},
		"src/[ is not a valid glob: a [ or { is not closed, or it ends with a backslash": {Paths: []string{"src/["}},
	} {
		if _, err := s.compile(); err == nil || err.Error() != want {
			t.Errorf("%+v: error %v, want %s", s, err, want)
		}
	}
}

// newLines returns the lines of a folder with the given files.
func newLines(t *testing.T, files map[string]string) (l Lines, root string) {
	t.Helper()
	root = t.TempDir()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(root, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	listed, err := tree.Open(tree.Options{Root: root, Env: func(string) (string, bool) { return "", false }})
	if err != nil {
		t.Fatal(err)
	}
	texts := corpus.New(listed, corpus.Options{})
	t.Cleanup(func() {
		texts.Close()
		if err := listed.Close(); err != nil {
			t.Error(err)
		}
	})
	return Lines{Corpus: func() (*corpus.Corpus, error) { return texts, nil }}, root
}

// TestGrepOrder checks the order of files, and that each side has as many context lines as wanted.
func TestGrepOrder(t *testing.T) {
	l, root := newLines(t, map[string]string{"a": "1\n2\nx\n4\n5\n", "b": "x\n", "c": "x\n"})
	for i, name := range []string{"b", "c", "a"} {
		when := time.Unix(1_700_000_000+int64(i), 0)
		if err := os.Chtimes(filepath.Join(root, name), when, when); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		q    LineQuery
		want string
	}{
		{LineQuery{}, "a b c"},
		{LineQuery{Reverse: true}, "c b a"},
		{LineQuery{ByTime: true}, "b c a"},
		{LineQuery{ByTime: true, Reverse: true}, "a c b"},
	} {
		tc.q.Patterns, tc.q.Before, tc.q.After = []string{"x"}, 1, 2
		var got []string
		_, err := l.Grep(t.Context(), tc.q, func(f Found) bool {
			got = append(got, f.Path)
			if f.Path == "a" && (strings.Join(f.Lines[0].Before, "") != "2\n" || strings.Join(f.Lines[0].After, "") != "4\n5\n") {
				t.Errorf("context %q and %q", f.Lines[0].Before, f.Lines[0].After)
			}
			return true
		})
		if err != nil || strings.Join(got, " ") != tc.want {
			t.Errorf("%+v: %v, %v, want %s", tc.q, got, err, tc.want)
		}
	}
}

// TestGrepNewline checks that a pattern with \n says how to match across lines.
func TestGrepNewline(t *testing.T) {
	l, _ := newLines(t, map[string]string{"a": "x\ny\n"})
	_, err := l.Grep(t.Context(), LineQuery{Patterns: []string{"z", `x(\ny)`}}, nil)
	wrong, ok := errors.AsType[*PatternError](err)
	if !ok || wrong.Pattern != `x(\ny)` || !strings.Contains(wrong.Reason, "--multiline") {
		t.Errorf("error %v", err)
	}
	found := 0
	if _, err := l.Grep(t.Context(), LineQuery{Patterns: []string{`x\ny`}, Multiline: true}, func(Found) bool { found++; return true }); err != nil || found != 1 {
		t.Errorf("%d files, %v", found, err)
	}
}
