package codebase

import (
	"testing"

	"remit/internal/search/corpus"
)

func TestLines(t *testing.T) {
	const text = "one\ntwo\r\nthree"
	for _, tc := range []struct {
		first, last int
		want        string
	}{{1, 1, "one\n"}, {2, 2, "two\r\n"}, {3, 3, "three"}, {1, 3, text}, {2, 9, "two\r\nthree"}, {4, 9, ""}} {
		if got := string(lines([]byte(text), tc.first, tc.last)); got != tc.want {
			t.Errorf("lines %d to %d: %q, want %q", tc.first, tc.last, got, tc.want)
		}
	}
}

// TestTake: lines beyond the end are an error that contains the number of lines.
func TestTake(t *testing.T) {
	for _, tc := range []struct {
		text          string
		offset, limit int
		want          string
		start, end    int
		fails         bool
	}{
		{text: "a\nb\nc\n", want: "a\nb\nc\n"},
		{text: "a\nb\nc\n", offset: 2, want: "b\nc\n", start: 2, end: 3},
		{text: "a\nb\nc\n", limit: 2, want: "a\nb\n", start: 1, end: 2},
		{text: "a\nb\nc\n", offset: 3, limit: 1 << 62, want: "c\n", start: 3, end: 3},
		{text: "a\nb\nc\n", offset: 4, fails: true},
		{text: "", offset: 1, start: 1},
		{text: "", limit: 5, start: 1},
	} {
		f := File{Lines: countOf(tc.text)}
		err := f.take([]byte(tc.text), &ReadIn{Offset: tc.offset, Limit: tc.limit})
		if (err != nil) != tc.fails || f.Content != tc.want || f.StartLine != tc.start || f.EndLine != tc.end {
			t.Errorf("%+v: %+v, %v", tc, f, err)
		}
	}
}

func countOf(text string) int {
	n := 0
	for _, c := range text {
		if c == '\n' {
			n++
		}
	}
	return n
}

// TestCursors: a cursor continues only the search that issued it.
func TestCursors(t *testing.T) {
	in := GrepIn{Pattern: "a", FilePattern: "*.go", Output: "matches"}
	for _, place := range []corpus.Place{{Path: "a.go", Line: 1}, {Path: "src/\xff", Line: 1 << 40}, {Path: "x"}} {
		got, err := in.search().resume(in.search().cursor(place))
		if err != nil || got != place {
			t.Errorf("%+v: %+v, %v", place, got, err)
		}
	}
	other := in
	other.CaseSensitive = true
	for _, cursor := range []string{"", "abc", "!", other.search().cursor(corpus.Place{Path: "a.go", Line: 1})} {
		if _, err := in.search().resume(cursor); err == nil {
			t.Errorf("%q leads on", cursor)
		}
	}
}
