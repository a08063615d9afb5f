package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"remit/internal/toolsets/codebase"
)

// fakeCode returns fixed results.
type fakeCode struct {
	Workspace
	found   []codebase.Found
	summary codebase.Summary
	paths   []string
	partial bool
	err     error

	query codebase.LineQuery // that was asked
	glob  string
}

func (f *fakeCode) Code() CodeSearcher { return f }
func (f *fakeCode) Close() error       { return nil }

func (f *fakeCode) Grep(_ context.Context, q codebase.LineQuery, each func(codebase.Found) bool) (codebase.Summary, error) {
	f.query = q
	for _, file := range f.found {
		file.Lines = slices.Clone(file.Lines)
		for i := range file.Lines {
			if q.Context == 0 {
				file.Lines[i].Before, file.Lines[i].After = nil, nil
			}
		}
		if !each(file) {
			break
		}
	}
	return f.summary, f.err
}

func (f *fakeCode) Files(_ context.Context, glob string, each func(string) bool) (bool, error) {
	f.glob = glob
	for _, path := range f.paths {
		if !each(path) {
			break
		}
	}
	return !f.partial, f.err
}

// types runs a command line on the fake.
func (f *fakeCode) types(t *testing.T, stdout io.Writer, args ...string) (errOut string, code int) {
	t.Helper()
	var complained bytes.Buffer
	p := &Program{
		Open: func(context.Context, Settings, *slog.Logger) (Workspace, error) { return f, nil },
		Logger: func(w io.Writer, _ LogOptions) (*slog.Logger, error) {
			return slog.New(slog.NewTextHandler(w, nil)), nil
		},
		Env:    func(string) (string, bool) { return "", false },
		Stdout: stdout, Stderr: &complained,
	}
	root := &cobra.Command{Use: "remit", SilenceErrors: true, SilenceUsage: true}
	addSettingFlags(root.PersistentFlags())
	root.AddCommand(p.grepCommand(), p.filesCommand())
	root.SetArgs(append(args, "--root", t.TempDir()))
	err := root.ExecuteContext(t.Context())
	var done failure
	var usage usageError
	switch {
	case err == nil:
		return complained.String(), ExitOK
	case errors.As(err, &done):
		return complained.String(), done.code
	case errors.As(err, &usage), isCobraUsage(err):
		return complained.String() + "usage: " + err.Error() + "\n", ExitUsage
	}
	t.Fatalf("remit %q: %v is neither a usage error nor an exit code", args, err)
	return "", 0
}

func (f *fakeCode) says(t *testing.T, args ...string) (out, errOut string, code int) {
	t.Helper()
	var stdout bytes.Buffer
	errOut, code = f.types(t, &stdout, args...)
	return stdout.String(), errOut, code
}

func twoFiles() *fakeCode {
	return &fakeCode{
		found: []codebase.Found{
			{Path: "a.go", Count: 2, Lines: []codebase.Line{
				{Number: 2, Column: 3, Text: "x foo y", Before: []string{"one"}, After: []string{"three"}},
				{Number: 5, Column: 1, Text: "foo", Before: []string{"four"}, After: []string{"six"}},
			}},
			{Path: "b\x1b.go", Count: 1, Lines: []codebase.Line{{Number: 1, Column: 1, Text: "foo \x1b[31m", Cut: true}}},
		},
		summary: codebase.Summary{Matches: 3, Files: 9, Matched: 2},
	}
}

func TestGrepForScripts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		args []string
		want string
	}{
		{"lines", []string{"grep", "foo"}, "a.go:2:x foo y\na.go:5:foo\n\"b\\x1b.go\":1:foo \x1b[31m\n"},
		{"columns", []string{"grep", "foo", "--column", "-n"}, "a.go:2:3:x foo y\na.go:5:1:foo\n\"b\\x1b.go\":1:1:foo \x1b[31m\n"},
		{"context", []string{"grep", "foo", "-C1"}, "a.go-1-one\na.go:2:x foo y\na.go-3-three\na.go-4-four\na.go:5:foo\na.go-6-six\n--\n\"b\\x1b.go\":1:foo \x1b[31m\n"},
		{"names", []string{"grep", "foo", "-l"}, "a.go\n\"b\\x1b.go\"\n"},
		{"counts", []string{"grep", "foo", "-c"}, "a.go:2\n\"b\\x1b.go\":1\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			out, errOut, code := twoFiles().says(t, c.args...)
			if diff := cmp.Diff(c.want, out); diff != "" || errOut != "" || code != ExitOK {
				t.Errorf("exit code %d, stderr %q (-want +got):\n%s", code, errOut, diff)
			}
		})
	}
}

func TestGrepAsJSON(t *testing.T) {
	t.Parallel()
	out, _, code := twoFiles().says(t, "grep", "--json", "foo", "-C", "1")
	var objects []map[string]any
	for line := range strings.Lines(out) {
		var object map[string]any
		if err := json.Unmarshal([]byte(line), &object); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		objects = append(objects, object)
	}
	want := []map[string]any{
		{"file": "a.go", "line": 2.0, "column": 3.0, "text": "x foo y", "before": []any{"one"}, "after": []any{"three"}},
		{"file": "a.go", "line": 5.0, "column": 1.0, "text": "foo", "before": []any{"four"}, "after": []any{"six"}},
		{"file": "b\x1b.go", "line": 1.0, "column": 1.0, "text": "foo \x1b[31m", "cut": true, "before": []any{}, "after": []any{}},
		{"matches": 3.0, "files_searched": 9.0, "files_matched": 2.0, "complete": true},
	}
	if diff := cmp.Diff(want, objects); diff != "" || code != ExitOK {
		t.Errorf("exit code %d (-want +got):\n%s", code, diff)
	}
	counted := twoFiles()
	for i := range counted.found {
		counted.found[i].Lines = nil
	}
	out, _, _ = counted.says(t, "grep", "--json", "foo", "-c")
	if !strings.HasPrefix(out, `{"file":"a.go","count":2}`+"\n") {
		t.Errorf("with -c it prints %s", out)
	}
}

func TestGrepOnAScreen(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := &linePrinter{output: newOutput(&out, true, true), around: 1, marks: (&grepCommands{}).marker(codebase.LineQuery{Pattern: "FOO|y", IgnoreCase: true}, true)}
	found := twoFiles().found
	found[0].Lines[1].Number = 9
	for _, f := range found {
		p.file(f)
	}
	if err := p.end(codebase.Summary{}); err != nil {
		t.Fatal(err)
	}
	const want = "M(a.go)\nG(1)-one\nG(2):x R(foo) R(y)\nG(3)-three\n--\nG(8)-four\nG(9):R(foo)\nG(10)-six\n\nM(\"b\\x1b.go\")\nG(1):R(foo) \\x1b[31m […]\n"
	got := strings.NewReplacer("\x1b[35m", "M(", "\x1b[32m", "G(", "\x1b[1;31m", "R(", "\x1b[0m", ")").Replace(out.String())
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestGrepMergesContext checks that context lines of two matches are printed once, even if a file
// is reported in parts.
func TestGrepMergesContext(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := &linePrinter{output: newOutput(&out, false, false), around: 2}
	p.file(codebase.Found{Path: "a", Lines: []codebase.Line{{Number: 3, Text: "x", Before: []string{"1", "2"}, After: []string{"4", "x"}}}})
	p.file(codebase.Found{Path: "a", Lines: []codebase.Line{
		{Number: 5, Text: "x", Before: []string{"x", "4"}, After: []string{"x", "7"}},
		{Number: 6, Text: "x", Before: []string{"4", "x"}, After: []string{"7", "8"}},
		{Number: 10, Text: "x", Before: []string{"8", "9"}},
	}})
	p.file(codebase.Found{Path: "b", Lines: []codebase.Line{{Number: 1, Text: "x"}}})
	if err := p.end(codebase.Summary{}); err != nil {
		t.Fatal(err)
	}
	const want = "a-1-1\na-2-2\na:3:x\na-4-4\na:5:x\na:6:x\na-7-7\na-8-8\na-9-9\na:10:x\n--\nb:1:x\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestGrepAsks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		want codebase.LineQuery
	}{
		{[]string{"a.b"}, codebase.LineQuery{Pattern: "a.b"}},
		{[]string{"-i", "a", "-C", "3", "-m7"}, codebase.LineQuery{Pattern: "a", IgnoreCase: true, Context: 3, Limit: 7}},
		{[]string{"-i", "-s", "a"}, codebase.LineQuery{Pattern: "a"}},
		{[]string{"-F", "a.b"}, codebase.LineQuery{Pattern: `a\.b`}},
		{[]string{"-w", "a|b"}, codebase.LineQuery{Pattern: `(?:^|\W)(?:a|b)(?:$|\W)`}},
		{[]string{"-w", "a)|(b"}, codebase.LineQuery{Pattern: `a)|(b`}},
		{[]string{"-wF", "f(x"}, codebase.LineQuery{Pattern: `(?:^|\W)(?:f\(x)(?:$|\W)`}},
		{[]string{"-l", "a", "-C2"}, codebase.LineQuery{Pattern: "a", CountOnly: true}},
		{[]string{"a", "-g", "*.go"}, codebase.LineQuery{Pattern: "a", Glob: "**/*.go"}},
		{[]string{"a", "-g*.go", "-g", "/x/*.c"}, codebase.LineQuery{Pattern: "a", Glob: "{**/*.go,x/*.c}"}},
		{[]string{"a", "src/"}, codebase.LineQuery{Pattern: "a", Glob: "{src,src/**}"}},
		{[]string{"a", "./src/*.go"}, codebase.LineQuery{Pattern: "a", Glob: "src/*.go"}},
		{[]string{"a", "src", "."}, codebase.LineQuery{Pattern: "a"}},
		{[]string{"a", "src", "-g", "*.go"}, codebase.LineQuery{Pattern: "a", Glob: "src/**/*.go"}},
		{[]string{"a", ".", "-g", "*.go"}, codebase.LineQuery{Pattern: "a", Glob: "**/*.go"}},
		{[]string{"--", "-a"}, codebase.LineQuery{Pattern: "-a"}},
	} {
		f := twoFiles()
		args := append([]string{"grep"}, c.args...)
		if c.args[0] == "--" {
			g := &grepCommands{}
			q, err := g.query(c.args[1:])
			if err != nil || q != c.want {
				t.Errorf("grep %q asks for %+v, error %v, want %+v", c.args, q, err, c.want)
			}
			continue
		}
		if _, errOut, code := f.says(t, args...); code != ExitOK && !strings.Contains(errOut, "shown") || f.query != c.want {
			t.Errorf("grep %q asks for %+v, want %+v; exit code %d, %s", c.args, f.query, c.want, code, errOut)
		}
	}
}

func TestGrepEnds(t *testing.T) {
	t.Parallel()
	nothing := codebase.Summary{Files: 5}
	for _, c := range []struct {
		name string
		code *fakeCode
		args []string
		want int
		says string
	}{
		{"nothing", &fakeCode{summary: nothing}, []string{"grep", "x"}, 1, ""},
		{"an error", &fakeCode{err: errors.New("the disk is gone")}, []string{"grep", "x"}, 2, "remit: the disk is gone\n"},
		{"interrupted", &fakeCode{err: context.Canceled}, []string{"grep", "x"}, 2, "remit: interrupted\n"},
		{"too late, with nothing", &fakeCode{summary: codebase.Summary{Incomplete: true, Reason: "it took\x1b too long"}}, []string{"grep", "x"}, 2, "remit: the search is incomplete: it took\\x1b too long\n"},
		{"too late, with something", &fakeCode{summary: codebase.Summary{Matches: 1, Incomplete: true, Reason: "it took too long"}}, []string{"grep", "x"}, 0, "remit: the search is incomplete: it took too long\n"},
		{"more than asked for", &fakeCode{summary: codebase.Summary{Matches: 12, Matched: 3}}, []string{"grep", "x", "-m", "2"}, 0, "Only the first 2 of 12 lines are shown.\n"},
		{"more files", &fakeCode{summary: codebase.Summary{Matches: 12, Matched: 3}}, []string{"grep", "x", "-l", "-m", "2"}, 0, "Only the first 2 of 3 files are shown.\n"},
		{"a wrong pattern", &fakeCode{err: &codebase.PatternError{Column: 3, Reason: "this ( is never closed"}}, []string{"grep", "\x1b字(b"}, 2, "remit: the pattern is wrong at column 3: this ( is never closed\n  \\x1b字(b\n        ^\n"},
		{"a long wrong pattern", &fakeCode{err: &codebase.PatternError{Column: 3, Reason: "no"}}, []string{"grep", strings.Repeat("(", 99)}, 2, "remit: the pattern is wrong at column 3: no\n"},
		{"no pattern", &fakeCode{}, []string{"grep"}, 2, "usage: a pattern is missing; usage: remit grep PATTERN [PATH...]\n"},
		{"outside", &fakeCode{}, []string{"grep", "x", "../y"}, 2, "usage: ../y is outside the workspace; name another workspace with --root\n"},
		{"leaving out", &fakeCode{}, []string{"grep", "x", "-g", "!*.go"}, 2, "usage: --glob !*.go: excluding files is not supported; name the files to search\n"},
		{"two ways", &fakeCode{}, []string{"grep", "x", "-lc"}, 2, "usage: -l and -c cannot be combined; give one of them\n"},
		{"less than nothing", &fakeCode{}, []string{"grep", "x", "-C-1"}, 2, "usage: --context and --max must not be negative\n"},
		{"no files", &fakeCode{}, []string{"files"}, 1, ""},
		{"some files", &fakeCode{paths: []string{"a"}, partial: true}, []string{"files"}, 0, "remit: some folders could not be read, so files may be missing\n"},
		{"files, an error", &fakeCode{err: errors.New("the disk is gone")}, []string{"files"}, 2, "remit: the disk is gone\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, errOut, code := c.code.says(t, c.args...)
			if diff := cmp.Diff(c.says, errOut); diff != "" || code != c.want {
				t.Errorf("exit code %d, want %d (-want +got):\n%s", code, c.want, diff)
			}
		})
	}
}

// closedPipe is a pipe whose reader has ended.
type closedPipe struct{ writes int }

func (c *closedPipe) Write([]byte) (int, error) {
	c.writes++
	return 0, syscall.EPIPE
}

func TestGrepEndsQuietlyWhenNobodyReads(t *testing.T) {
	t.Parallel()
	f := twoFiles()
	f.found[0].Lines[0].Text = strings.Repeat("long ", 50_000)
	f.paths = []string{strings.Repeat("long/", 50_000), "b"}
	for _, args := range [][]string{{"grep", "x"}, {"grep", "x", "--json"}, {"grep", "x", "-l"}, {"files"}, {"files", "--json"}} {
		pipe := &closedPipe{}
		if errOut, code := f.types(t, pipe, args...); errOut != "" || code != ExitOK || pipe.writes != 1 {
			t.Errorf("remit %q: exit code %d after %d writes, says %q", args, code, pipe.writes, errOut)
		}
	}
	if errOut, code := f.types(t, fullDisk{}, "grep", "x"); errOut != "remit: no space left\n" || code != ExitUsage {
		t.Errorf("on a full disk: exit code %d, says %q", code, errOut)
	}
}

func TestFiles(t *testing.T) {
	t.Parallel()
	f := &fakeCode{paths: []string{"a b.go", "c\n.go", "é.go", "\xff"}}
	for _, c := range []struct {
		args []string
		want string
		glob string
	}{
		{[]string{"files"}, "a b.go\n\"c\\n.go\"\né.go\n\"\\xff\"\n", ""},
		{[]string{"files", "-0", "*.go"}, "a b.go\x00c\n.go\x00é.go\x00\xff\x00", "**/*.go"},
		{[]string{"files", "--json", "src", "docs"}, "[\n  \"a b.go\",\n  \"c\\n.go\",\n  \"é.go\",\n  \"\\ufffd\"\n]\n", "{src,src/**,docs,docs/**}"},
	} {
		out, errOut, code := f.says(t, c.args...)
		if diff := cmp.Diff(c.want, out); diff != "" || f.glob != c.glob || errOut != "" || code != ExitOK {
			t.Errorf("%q: glob %q, want %q; exit code %d, stderr %q (-want +got):\n%s", c.args, f.glob, c.glob, code, errOut, diff)
		}
	}
}

// TestGrepWords checks that highlighting and columns of whole words exclude the characters around
// them.
func TestGrepWords(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		pattern, line string
		column        int // where the search says that its match begins
		marks         [][]int
		want          int
	}{
		{"foo", "foo foo-foo", 1, [][]int{{0, 3}, {4, 7}, {8, 11}}, 1},
		{"foo", "-foo", 1, [][]int{{1, 4}}, 2},
		{"-x", "a -x b", 2, [][]int{{2, 4}}, 3},
		{`a\.b\(\)`, "x = a.b();", 4, [][]int{{4, 9}}, 5},
	} {
		g := &grepCommands{word: true}
		q := codebase.LineQuery{Pattern: g.expression(tc.pattern)}
		if got := g.marker(q, true)(tc.line); !reflect.DeepEqual(got, tc.marks) {
			t.Errorf("%s in %s: %v, want %v", tc.pattern, tc.line, got, tc.marks)
		}
		lines := []codebase.Line{{Column: tc.column, Text: tc.line}}
		if g.wordFinder(q).place(lines); lines[0].Column != tc.want {
			t.Errorf("%s in %s: column %d, want %d", tc.pattern, tc.line, lines[0].Column, tc.want)
		}
	}
}
