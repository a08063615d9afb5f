package entries

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"remit/internal/complexitytest"
)

// marked returns an entry of a log as it is stored if it supersedes another.
func marked(t *testing.T, text, supersedes string) string {
	t.Helper()
	line, ok := Mark("a.jsonl", text, supersedes)
	if !ok {
		t.Fatalf("Mark refused %s", text)
	}
	return line
}

// TestStates: entries are superseded and taken back by later ones, and an undo can be undone.
func TestStates(t *testing.T) {
	const first, again = `{"n":1}`, `{"n":2,"why":"better"}`
	second := marked(t, again, idOf(first))
	third := marked(t, `{"n":3}`, idOf(second))
	undoThird := marked(t, UndoEntry("a.jsonl", "2026-01-09T10:30:00Z"), idOf(third))
	undoUndo := marked(t, UndoEntry("a.jsonl", "2026-01-09T10:31:00Z"), idOf(undoThird))
	for _, tc := range []struct {
		name  string
		lines []string
		want  string
	}{
		{"no marks", []string{first, again}, "live live"},
		{"superseded", []string{first, second}, "superseded live"},
		{"a chain keeps the oldest superseded", []string{first, second, third}, "superseded superseded live"},
		{"undone: what it superseded counts again", []string{first, second, third, undoThird}, "superseded live undone live"},
		{"the undo is undone", []string{first, second, third, undoThird, undoUndo}, "superseded superseded live undone live"},
		{"only earlier entries", []string{second, first}, "live live"},
		{"an equal entry later counts", []string{first, second, first}, "superseded live live"},
		{"another value under the key", []string{first, `{"supersedes":"ADR 3"}`, `{"supersedes":3}`}, "live live live"},
		{"no object", []string{first, `"supersedes ` + idOf(first) + `"`, `["supersedes"]`}, "live live live"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, end := range []string{"\n", "\r\n", "\n\n"} {
				var got []string
				for _, e := range Parse("a.jsonl", []byte("\uFEFF"+strings.Join(tc.lines, end)+end)) {
					state := string(e.State)
					if e.State == Live {
						state = "live"
					}
					got = append(got, state)
				}
				if strings.Join(got, " ") != tc.want {
					t.Errorf("%q: %v, want %s", end, got, tc.want)
				}
			}
		})
	}
}

// TestMarkdown: list items and paragraphs are entries, with the code after them; headings and
// comments are none. What is appended changes no entry before a mark.
func TestMarkdown(t *testing.T) {
	const text = "---\ntitle: x\n---\n# Practices\n\n- Look at the data.\n  Twice.\n- Use tests.\n\nA paragraph\nof two lines.\n\n```go\n- not an item\n```\n" +
		"<!-- a comment -->\n> a quote\n"
	list := Parse("b.md", []byte(text))
	var got []string
	for _, e := range list {
		got = append(got, fmt.Sprintf("%d-%d %q", e.Line, e.End, e.Text))
	}
	want := []string{
		`6-7 "- Look at the data.\n  Twice."`, `8-8 "- Use tests."`, `10-15 "A paragraph\nof two lines.\n\n` + "```go\\n- not an item\\n```" + `"`,
		`17-17 "> a quote"`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s", strings.Join(got, "\n"))
	}
	replaced, _ := Mark("b.md", "- Look at the data, always.", list[0].ID)
	undone, _ := Mark("b.md", UndoEntry("b.md", ""), list[1].ID)
	after := text + replaced + "\n" + undone + "\nmore text\n"
	for _, content := range []string{after, strings.ReplaceAll(after, "\n", "\r\n")} {
		current := string(Current("b.md", []byte(content)))
		if strings.Contains(current, "Twice") || strings.Contains(current, "Use tests") || !strings.Contains(current, "always") ||
			!strings.Contains(current, "more text") || !strings.Contains(current, "A paragraph") {
			t.Errorf("%s", current)
		}
		if strings.Count(current, "\n") != strings.Count(content, "\n") {
			t.Error("the numbers of lines have changed")
		}
	}
}

// TestMark: only JSON objects can supersede an entry of a log.
func TestMark(t *testing.T) {
	const id = "0123456789ab"
	for text, want := range map[string]string{
		`{}`: `{"supersedes":"` + id + `"}`, `{"a":{} } `: `{"a":{},"supersedes":"` + id + `"}`, `"x"`: "", `null`: "", `[1]`: "", `{"a":`: "",
		`{"supersedes":"` + id + `"}`: `{"supersedes":"` + id + `"}`, `{"supersedes":"ADR 3"}`: "",
	} {
		if got, ok := Mark("a.jsonl", text, id); ok != (want != "") || ok && got != want {
			t.Errorf("%s: %s %v, want %s", text, got, ok, want)
		}
	}
}

// TestSimilar: entries that say the same in almost the same words are similar, whatever their time,
// type and keys are.
func TestSimilar(t *testing.T) {
	const first = `{"timestamp":"2026-01-09T10:30:00Z","type":"stack","session_id":"1f0e","decision":"SQLite for the tasks of a single user"}`
	for text, want := range map[string]bool{
		`{"timestamp":"2026-02-11T10:30:00Z","type":"decision","content":"SQLite for the tasks of a single user"}`: true,
		`{"content":"For the tasks of a single user: \"SQLite\""}`:                                                 true,
		`{"content":"PostgreSQL for the tasks of a whole team"}`:                                                   false,
		`{"content":"SQLite for the tasks of a single user 2"}`:                                                    false,
		`"sqlite for the tasks of the single users"`:                                                               false,
		`{"timestamp":"2026-01-09T10:30:00Z"}`:                                                                     false,
		`{}`:                                                                                                       false,
	} {
		a, b := Parse("a.jsonl", []byte(first))[0], Parse("a.jsonl", []byte(text))[0]
		var r Recent
		r.Add(SketchOf("a.jsonl", &a))
		sketch := SketchOf("a.jsonl", &b)
		found := r.Find(&sketch)
		if found != nil != want {
			t.Errorf("%s: similar %v, want %v", text, found != nil, want)
		}
		if found != nil && (found.ID != a.ID || found.Excerpt() != "SQLite for the tasks of a single user") {
			t.Errorf("found %s %q", found.ID, found.Excerpt())
		}
	}
}

// TestRecent: the newest similar entry is found, as long as it is one of the newest.
func TestRecent(t *testing.T) {
	var r Recent
	sketch := func(n int, text string) Sketch {
		return SketchOf("a.md", &Entry{ID: fmt.Sprint(n), Text: text})
	}
	for n := range 3 * maxRecent {
		r.Add(sketch(n, fmt.Sprintf("lesson number %d", n/2)))
	}
	for n, want := range map[int]string{0: "", maxRecent - 1: "", 3*maxRecent/2 - 1: fmt.Sprint(3*maxRecent - 1)} {
		s := sketch(-1, fmt.Sprintf("lesson number %d", n))
		if found := r.Find(&s); want == "" && found != nil || want != "" && (found == nil || found.ID != want) {
			t.Errorf("lesson %d: %v, want %q", n, found, want)
		}
	}
	last := sketch(-1, fmt.Sprintf("lesson number %d", 3*maxRecent/2-1))
	r.Remove(fmt.Sprint(3*maxRecent - 1))
	if found := r.Find(&last); found == nil || found.ID != fmt.Sprint(3*maxRecent-2) {
		t.Errorf("after the newest was removed: %v", found)
	}
}

// TestParseIsLinear: twice as many entries take about twice as long.
func TestParseIsLinear(t *testing.T) {
	complexitytest.Linear(t, 20_000, func(n int) {
		var log, practices bytes.Buffer
		last := "000000000000"
		for i := range n {
			line := fmt.Sprintf(`{"n":%d,"supersedes":%q}`, i, last)
			last = idOf(line)
			fmt.Fprintln(&log, line)
			fmt.Fprintf(&practices, "- practice %d\n<!-- undo: %s -->\n", i, idOf(fmt.Sprintf("- practice %d", i)))
		}
		Current("a.jsonl", log.Bytes())
		Current("b.md", practices.Bytes())
	})
}

// FuzzParse: any bytes can be parsed. Entries are in order, Current keeps the lines, and a mark
// that is appended takes effect on an entry of a log.
func FuzzParse(f *testing.F) {
	f.Add("a.jsonl", []byte("{\"n\":1}\r\n{\"supersedes\":\"0734e1ba0cbe\",\"type\":\"undo\"}\n"))
	f.Add("b.md", []byte("- a\n<!-- supersedes: 0b70495b13e4 -->\n- b\n<!-- undo: 0b70495b13e4 -->\n```\n"))
	f.Add("b.md", []byte("> - a\n\n\t<!-- undo: 0b70495b13e4 -->\xff\x00"))
	f.Fuzz(func(t *testing.T, name string, content []byte) {
		list := Parse(name, content)
		last := 0
		for i := range list {
			e := &list[i]
			if e.Line <= last || e.End < e.Line || !IsID(e.ID) || e.Text == "" {
				t.Fatalf("entry %d: %+v after line %d", i, e, last)
			}
			last = e.End
			SketchOf(name, e)
		}
		current := Current(name, content)
		if bytes.Count(current, []byte("\n")) != bytes.Count(content, []byte("\n")) {
			t.Fatalf("%q became %q", content, current)
		}
		if !IsLog(name) || len(list) == 0 {
			return
		}
		target := list[len(list)-1]
		line, ok := Mark(name, `{"type":"undo"}`, target.ID)
		if !ok || !json.Valid([]byte(line)) {
			t.Fatalf("mark: %q", line)
		}
		for _, e := range Parse(name, append(append(bytes.Clone(content), '\n'), line...)) {
			if e.ID == target.ID && e.State != Undone {
				t.Fatalf("%+v was not taken back", e)
			}
		}
	})
}
