package books_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSearchSeesEveryChange: a search sees changes by anybody, however often it ran before.
func TestSearchSeesEveryChange(t *testing.T) {
	d := serve(t)
	grep := func(want string) {
		t.Helper()
		for range 2 { // also from memory
			if got := text(d.does(t, "grep_search", `{"book_id":"abc","pattern":"word"}`)); got != want {
				t.Errorf("found %s, want %s", got, want)
			}
		}
	}
	match := func(path string, line int, what string) string {
		return fmt.Sprintf(`{"file_path":"books/abc/%s","line_number":%d,"matched_line":%q}`, path, line, what)
	}
	d.given(t, "books/abc/a.md", "a word\n")
	grep("[" + match("a.md", 1, "a word") + "]")
	d.given(t, "books/abc/a.md", "no wrd\n") // the same length as before
	grep("[]")
	d.does(t, "write_content", `{"book_id":"abc","path":"b/c.md","content":"\n\nword"}`)
	grep("[" + match("b/c.md", 3, "word") + "]")
	d.given(t, "books/abc/a.md", "a word\n")
	grep("[" + match("a.md", 1, "a word") + "," + match("b/c.md", 3, "word") + "]")
	if err := os.Remove(filepath.Join(d.dir, "books/abc/a.md")); err != nil {
		t.Fatal(err)
	}
	d.does(t, "delete_content", `{"book_id":"abc","path":"b/c.md"}`)
	grep("[]")
}

func TestGrepStopsAtMaxResults(t *testing.T) {
	d := serve(t)
	for i := range 40 {
		d.given(t, fmt.Sprintf("books/abc/%02d.md", i), strings.Repeat("word\n", 5))
	}
	for _, c := range []struct {
		limit     int
		shown     int
		truncated bool
	}{{1, 1, true}, {7, 7, true}, {199, 199, true}, {200, 200, false}, {1000, 200, false}} {
		answer, result := d.answer(t, "grep_search", fmt.Sprintf(`{"book_id":"abc","pattern":"^word$","max_results":%d}`, c.limit))
		if len(answer.Members) != c.shown || result.Truncation.Truncated != c.truncated {
			t.Errorf("at most %d: %d, truncated %v", c.limit, len(answer.Members), result.Truncation.Truncated)
		}
		for i := range answer.Members {
			want := fmt.Sprintf(`{"file_path":"books/abc/%02d.md","line_number":%d,"matched_line":"word"}`, i/5, i%5+1)
			if got := text(answer.Members[i].Value); got != want {
				t.Fatalf("result %d is %s, want %s", i, got, want)
			}
		}
	}
}

func TestGrepGivesWholeLines(t *testing.T) {
	d := serve(t)
	d.given(t, "books/abc/a.md", "one\r\ntwo \xff word\r\nword at the end")
	want := `[{"file_path":"books/abc/a.md","line_number":2,"matched_line":"two ` + "\uFFFD" + ` word"},{"file_path":"books/abc/a.md","line_number":3,"matched_line":"word at the end"}]`
	if got := text(d.does(t, "grep_search", `{"book_id":"abc","pattern":"word"}`)); got != want {
		t.Errorf("found %s, want %s", got, want)
	}
	if answer, result := d.answer(t, "grep_search", `{"book_id":"abc","pattern":"word","max_results":1}`); len(answer.Members) != 1 || !result.Truncation.Truncated {
		t.Errorf("of two lines in one file: %s, truncated %v", text(answer), result.Truncation.Truncated)
	}
}

// TestGlobIsCut: an answer that is too long is cut at its end and marked as truncated.
func TestGlobIsCut(t *testing.T) {
	d := serve(t)
	folder := strings.Repeat("long-name-", 20)
	for i := range 1500 {
		d.given(t, fmt.Sprintf("books/abc/%s/%04d.md", folder, i), "")
	}
	answer, result := d.answer(t, "glob_search", `{"book_id":"abc","pattern":"**/*.md"}`)
	if n := len(answer.Members); n == 0 || n >= 1500 || !result.Truncation.Truncated || result.Truncation.Total != 1500 || len(result.Body) > 256<<10 {
		t.Errorf("%d files in %d bytes, notes %+v", n, len(result.Body), result.Truncation)
	}
}
