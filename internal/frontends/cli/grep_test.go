package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"regexp"
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

	query     codebase.LineQuery // that was asked
	selection codebase.Selection
}

func (f *fakeCode) Code() CodeSearcher { return f }
func (f *fakeCode) Close() error       { return nil }

func (f *fakeCode) Grep(_ context.Context, q codebase.LineQuery, each func(codebase.Found) bool) (codebase.Summary, error) {
	f.query = q
	for _, file := range f.found {
		file.Lines = slices.Clone(file.Lines)
		for i := range file.Lines {
			if q.Before+q.After == 0 {
				file.Lines[i].Before, file.Lines[i].After = nil, nil
			}
		}
		if !each(file) {
			break
		}
	}
	return f.summary, f.err
}

func (f *fakeCode) Files(_ context.Context, s codebase.Selection, each func(string) bool) (bool, error) {
	f.selection = s
	for _, path := range f.paths {
		if !each(path) {
			break
		}
	}
	return !f.partial, f.err
}

func (f *fakeCode) Missing(_ context.Context, s codebase.Selection) ([]string, error) {
	if len(f.paths) > 0 {
		return nil, f.err
	}
	return s.Paths, f.err
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
				{Number: 2, Column: 3, Offset: 4, Text: "x foo y\n", Spans: [][]int{{2, 5}}, Before: []string{"one\n"}, After: []string{"three\n"}},
				{Number: 5, Column: 1, Offset: 23, Text: "foofoo\n", Spans: [][]int{{0, 3}, {3, 6}}, Before: []string{"four\n"}, After: []string{"six"}},
			}},
			{Path: "b\x1b.go", Count: 1, Lines: []codebase.Line{{Number: 1, Column: 1, Text: "foo \x1b[31m\xff", Spans: [][]int{{0, 3}}}}},
		},
		summary: codebase.Summary{Matches: 3, Files: 9, Matched: 2, Bytes: 77},
		paths:   []string{"a.go"},
	}
}

func TestGrepForScripts(t *testing.T) {
	t.Parallel()
	const last = "\"b\\x1b.go\":1:foo \x1b[31m\xff\n"
	for _, c := range []struct {
		args string
		want string
	}{
		{"foo", "a.go:2:x foo y\na.go:5:foofoo\n" + last},
		{"foo --column -n", "a.go:2:3:x foo y\na.go:5:1:foofoo\n" + strings.Replace(last, ":1:", ":1:1:", 1)},
		{"foo -C1", "a.go-1-one\na.go:2:x foo y\na.go-3-three\na.go-4-four\na.go:5:foofoo\na.go-6-six\n--\n" + last},
		{"foo -l", "a.go\n\"b\\x1b.go\"\n"},
		{"foo -c", "a.go:2\n\"b\\x1b.go\":1\n"},
		{"foo -c -I", "2\n1\n"},
		{"foo -l -I", "a.go\n\"b\\x1b.go\"\n"},
		{"foo -c -o", "a.go:3\n\"b\\x1b.go\":1\n"},
		{"foo --count-matches", "a.go:3\n\"b\\x1b.go\":1\n"},
		{"foo -o --column", "a.go:2:3:foo\na.go:5:1:foo\na.go:5:4:foo\n\"b\\x1b.go\":1:1:foo\n"},
		{"foo -oIN", "foo\nfoo\nfoo\nfoo\n"},
		{"foo -q", ""},
		{"foo --color always", "M(a.go):G(2):x R(foo) y\nM(a.go):G(5):R(foo)R(foo)\nM(\"b\\x1b.go\"):G(1):R(foo) \x1b[31m\xff\n"},
	} {
		t.Run(c.args, func(t *testing.T) {
			t.Parallel()
			out, errOut, code := twoFiles().says(t, append([]string{"grep"}, strings.Fields(c.args)...)...)
			if diff := cmp.Diff(c.want, named(out)); diff != "" || errOut != "" || code != ExitOK {
				t.Errorf("exit code %d, stderr %q (-want +got):\n%s", code, errOut, diff)
			}
		})
	}
}

// named replaces the control sequences of colours by names.
func named(text string) string {
	return strings.NewReplacer("\x1b[35m", "M(", "\x1b[32m", "G(", "\x1b[1;31m", "R(", "\x1b[0m", ")").Replace(text)
}

// TestGrepAcrossLines checks that a match across lines is printed line by line.
func TestGrepAcrossLines(t *testing.T) {
	t.Parallel()
	f := &fakeCode{summary: codebase.Summary{Matches: 1, Matched: 1}, found: []codebase.Found{{Path: "a", Count: 1, Lines: []codebase.Line{
		{Number: 7, Text: "x foo\r\nbar y\n", Spans: [][]int{{2, 10}}, Before: []string{"six\n"}, After: []string{"nine\n"}},
	}}}}
	for args, want := range map[string]string{
		"-C1":         "a-6-six\na:7:x foo\r\na:8:bar y\na-9-nine\n",
		"--column":    "a:7:3:x foo\r\na:8:1:bar y\n",
		"-o --column": "a:7:3:foo\r\na:8:1:bar\n",
		"-c":          "a:1\n",
	} {
		out, _, _ := f.says(t, append([]string{"grep", "-U", "x"}, strings.Fields(args)...)...)
		if diff := cmp.Diff(want, out); diff != "" {
			t.Errorf("%s (-want +got):\n%s", args, diff)
		}
	}
}

// TestGrepAsJSON compares the messages with those of ripgrep 15.
func TestGrepAsJSON(t *testing.T) {
	t.Parallel()
	out, _, code := twoFiles().says(t, "grep", "--json", "foo", "-C", "1")
	elapsed := regexp.MustCompile(`("elapsed(_total)?":)\{"secs":0,"nanos":\d+,"human":"\d+\.\d+s"\}`)
	const path, zero = `{"path":{"text":"a.go"}`, `{"secs":0,"nanos":0,"human":"0.000000s"}`
	want := []string{
		`{"type":"begin","data":` + path + `}}`,
		`{"type":"context","data":` + path + `,"lines":{"text":"one\n"},"line_number":1,"absolute_offset":0,"submatches":[]}}`,
		`{"type":"match","data":` + path + `,"lines":{"text":"x foo y\n"},"line_number":2,"absolute_offset":4,` +
			`"submatches":[{"match":{"text":"foo"},"start":2,"end":5}]}}`,
		`{"type":"context","data":` + path + `,"lines":{"text":"three\n"},"line_number":3,"absolute_offset":12,"submatches":[]}}`,
		`{"type":"context","data":` + path + `,"lines":{"text":"four\n"},"line_number":4,"absolute_offset":18,"submatches":[]}}`,
		`{"type":"match","data":` + path + `,"lines":{"text":"foofoo\n"},"line_number":5,"absolute_offset":23,` +
			`"submatches":[{"match":{"text":"foo"},"start":0,"end":3},{"match":{"text":"foo"},"start":3,"end":6}]}}`,
		`{"type":"context","data":` + path + `,"lines":{"text":"six"},"line_number":6,"absolute_offset":30,"submatches":[]}}`,
		`{"type":"end","data":` + path + `,"binary_offset":null,"stats":{"elapsed":` + zero + `,"searches":1,"searches_with_match":1,` +
			`"bytes_searched":0,"bytes_printed":952,"matched_lines":2,"matches":3}}}`,
		`{"type":"begin","data":{"path":{"text":"b\u001b.go"}}}`,
		`{"type":"match","data":{"path":{"text":"b\u001b.go"},"lines":{"bytes":"Zm9vIBtbMzFt/w=="},"line_number":1,"absolute_offset":0,` +
			`"submatches":[{"match":{"text":"foo"},"start":0,"end":3}]}}`,
		`{"type":"end","data":{"path":{"text":"b\u001b.go"},"binary_offset":null,"stats":{"elapsed":` + zero + `,"searches":1,` +
			`"searches_with_match":1,"bytes_searched":0,"bytes_printed":241,"matched_lines":1,"matches":1}}}`,
		`{"type":"summary","data":{"elapsed_total":` + zero + `,"stats":{"elapsed":` + zero + `,"searches":9,"searches_with_match":2,` +
			`"bytes_searched":77,"bytes_printed":1193,"matched_lines":3,"matches":4}}}`,
	}
	got := strings.Split(strings.TrimSpace(elapsed.ReplaceAllString(out, "${1}"+zero)), "\n")
	if diff := cmp.Diff(want, got); diff != "" || code != ExitOK {
		t.Errorf("exit code %d (-want +got):\n%s", code, diff)
	}
	out, _, _ = twoFiles().says(t, "grep", "--json", "foo", "-q")
	if strings.Count(out, "\n") != 1 || !strings.HasPrefix(out, `{"type":"summary"`) {
		t.Errorf("with -q it prints %s", out)
	}
}

func TestGrepStats(t *testing.T) {
	t.Parallel()
	out, _, _ := twoFiles().says(t, "grep", "--stats", "-l", "foo")
	got := regexp.MustCompile(`\d+\.\d+ seconds`).ReplaceAllString(out, "N seconds")
	const want = "a.go\n\"b\\x1b.go\"\n\n4 matches\n3 matched lines\n2 files contained matches\n9 files searched\n" +
		"16 bytes printed\n77 bytes searched\nN seconds spent searching\nN seconds total\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestGrepOnAScreen(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := newLinePrinter(linePrinter{output: newOutput(&out, true, true), context: true})
	found := twoFiles().found
	found[0].Lines[1].Number = 9
	long := strings.Repeat("-", 5000)
	found[1].Lines = append(found[1].Lines, codebase.Line{Number: 2, Text: long + "foo" + long + "\r\n", Spans: [][]int{{5000, 5003}}})
	for _, f := range found {
		p.file(f)
	}
	if err := p.end(codebase.Summary{}); err != nil {
		t.Fatal(err)
	}
	want := "M(a.go)\nG(1)-one\nG(2):x R(foo) y\nG(3)-three\n--\nG(8)-four\nG(9):R(foo)R(foo)\nG(10)-six\n\nM(\"b\\x1b.go\")\nG(1):R(foo) \\x1b[31m\\xff\n" +
		"G(2):" + long[:200] + "R(foo)" + long[:797] + " […]\n"
	if diff := cmp.Diff(want, named(out.String())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestGrepMergesContext checks that context lines of two matches are printed once, even if a file
// is reported in parts.
func TestGrepMergesContext(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := newLinePrinter(linePrinter{output: newOutput(&out, false, false), context: true})
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
	type query = codebase.LineQuery
	in := func(paths ...string) codebase.Selection { return codebase.Selection{Paths: paths} }
	a := []string{"a"}
	for _, c := range []struct {
		args string
		want query
	}{
		{"a.b", query{Patterns: []string{"a.b"}}},
		{"-i a -C 3 --max 7", query{Patterns: a, IgnoreCase: true, Before: 3, After: 3, Limit: 7}},
		{"a -C 3 -A 0 -m7", query{Patterns: a, Before: 3, PerFile: 7}},
		{"-i -s a", query{Patterns: a}},
		{"-S a", query{Patterns: a, IgnoreCase: true}},
		{"-S -e a -e A", query{Patterns: []string{"a", "A"}}},
		{"-F a.b", query{Patterns: []string{`a\.b`}}},
		{"-wF f(x", query{Patterns: []string{`f\(x`}, Word: true}},
		{"-xvU a", query{Patterns: a, WholeLine: true, Invert: true, Multiline: true}},
		{"-l a -C2", query{Patterns: a, CountOnly: true}},
		{"-c --stats a", query{Patterns: a, Bytes: true}},
		{"-co a", query{Patterns: a}},
		{"--json a", query{Patterns: a, Bytes: true}},
		{"a -g !*.go -t md -T c", query{Patterns: a, Selection: codebase.Selection{Globs: []string{"!*.go"}, Types: []string{"md"}, NotTypes: []string{"c"}}}},
		{"a src/ ./b/*.go", query{Patterns: a, Selection: in("src", "b/*.go")}},
		{"-e a src", query{Patterns: a, Selection: in("src")}},
		{"a src .", query{Patterns: a, Selection: in("src", ".")}},
		{"a --sort modified", query{Patterns: a, ByTime: true}},
		{"a --sortr path", query{Patterns: a, Reverse: true}},
	} {
		f := twoFiles()
		_, errOut, code := f.says(t, append([]string{"grep"}, strings.Fields(c.args)...)...)
		if diff := cmp.Diff(c.want, f.query); diff != "" || code != ExitOK {
			t.Errorf("grep %s: exit code %d, %s (-want +got):\n%s", c.args, code, errOut, diff)
		}
	}
}

func TestGrepEnds(t *testing.T) {
	t.Parallel()
	nothing := codebase.Summary{Files: 5}
	locked := []codebase.Found{{Path: "a\x1b", Error: "permission denied"}}
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
		{"too late, with something", &fakeCode{summary: codebase.Summary{Matches: 1, Incomplete: true, Reason: "it took too long"}}, []string{"grep", "x"}, 2, "remit: the search is incomplete: it took too long\n"},
		{"too late, but quiet", &fakeCode{summary: codebase.Summary{Matches: 1, Incomplete: true, Reason: "late"}}, []string{"grep", "-q", "x"}, 0, "remit: the search is incomplete: late\n"},
		{"a missing path", &fakeCode{summary: codebase.Summary{Matches: 1}}, []string{"grep", "x", "no/such"}, 2, "remit: no/such: no such file, or none that is searched; \"remit files\" lists all files\n"},
		{"an unreadable file", &fakeCode{found: locked, summary: codebase.Summary{Matches: 1, Files: 1}}, []string{"grep", "x"}, 2, "remit: a\\x1b: permission denied\n"},
		{"only an unreadable file", &fakeCode{found: locked, paths: []string{"a"}}, []string{"grep", "x", "a"}, 2, "remit: a\\x1b: permission denied\n"},
		{"an unreadable file, but quiet", &fakeCode{found: locked, summary: codebase.Summary{Matches: 1}}, []string{"grep", "-q", "x"}, 0, "remit: a\\x1b: permission denied\n"},
		{"none of that name", &fakeCode{}, []string{"grep", "x", "-g", "*.no"}, 2, "remit: no text file matches that path, name or type; \"remit files\" lists all files\n"},
		{"at most none", &fakeCode{}, []string{"grep", "x", "-m0"}, 1, ""},
		{"an unknown order", &fakeCode{}, []string{"grep", "x", "--sort", "size"}, 2, "usage: --sort and --sortr take path, modified or none\n"},
		{"an unknown color", &fakeCode{}, []string{"grep", "x", "--color", "red"}, 2, "usage: --color takes auto, always or never\n"},
		{"a limit in another order", &fakeCode{}, []string{"grep", "x", "--max", "1", "--sort", "modified"}, 2, "usage: --max needs the order of paths and lines; leave out --sort, --sortr and --count-matches, or use head\n"},
		{"more than asked for", &fakeCode{summary: codebase.Summary{Matches: 12, Matched: 3}}, []string{"grep", "x", "--max", "2"}, 0, "Only the first 2 of 12 lines are shown.\n"},
		{"more files", &fakeCode{summary: codebase.Summary{Matches: 12, Matched: 3}}, []string{"grep", "x", "-l", "--max", "2"}, 0, "Only the first 2 of 3 files are shown.\n"},
		{"a wrong pattern", &fakeCode{err: &codebase.PatternError{Pattern: "\x1b字(b", Column: 3, Reason: "this ( is never closed"}}, []string{"grep", "\x1b字(b"}, 2, "remit: the pattern is wrong at column 3: this ( is never closed\n  \\x1b字(b\n        ^\n"},
		{"a long wrong pattern", &fakeCode{err: &codebase.PatternError{Pattern: strings.Repeat("(", 99), Column: 3, Reason: "no"}}, []string{"grep", strings.Repeat("(", 99)}, 2, "remit: the pattern is wrong at column 3: no\n"},
		{"no pattern", &fakeCode{}, []string{"grep"}, 2, "usage: a pattern is missing; usage: remit grep PATTERN [PATH...]\n"},
		{"outside", &fakeCode{}, []string{"grep", "x", "../y"}, 2, "usage: ../y is outside the workspace; name another workspace with --root\n"},
		{"two ways", &fakeCode{}, []string{"grep", "x", "-lc"}, 2, "usage: -l, -c and --json cannot be combined; give one of them\n"},
		{"less than nothing", &fakeCode{}, []string{"grep", "x", "-C-1"}, 2, "usage: -A, -B, -C, --max-count and --max must not be negative\n"},
		{"no files", &fakeCode{}, []string{"files"}, 1, ""},
		{"some files", &fakeCode{paths: []string{"a"}, partial: true}, []string{"files"}, 2, "remit: some folders could not be read, so files may be missing\n"},
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
		from []string
	}{
		{[]string{"files"}, "a b.go\n\"c\\n.go\"\né.go\n\"\\xff\"\n", nil},
		{[]string{"files", "-0", "*.go"}, "a b.go\x00c\n.go\x00é.go\x00\xff\x00", []string{"*.go"}},
		{[]string{"files", "--json", "src", "docs"}, "[\n  \"a b.go\",\n  \"c\\n.go\",\n  \"é.go\",\n  \"\\ufffd\"\n]\n", []string{"src", "docs"}},
	} {
		out, errOut, code := f.says(t, c.args...)
		if diff := cmp.Diff(c.want, out); diff != "" || !slices.Equal(f.selection.Paths, c.from) || errOut != "" || code != ExitOK {
			t.Errorf("%q: in %q, want %q; exit code %d, stderr %q (-want +got):\n%s", c.args, f.selection.Paths, c.from, code, errOut, diff)
		}
	}
}
