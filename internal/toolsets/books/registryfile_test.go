package books

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"remit/internal/complexitytest"
	"remit/internal/contract"
)

const entryText = `  - book_id: new-book
    title: New Book
    storage_backend: fs
    created_at: "2026-01-09T10:00:00Z"
    status: active
`

func newBook() *Book {
	return &Book{ID: "new-book", Title: "New Book", Backend: "fs", Created: "2026-01-09T10:00:00Z", Status: "active"}
}

// TestAppendBook: everything that people have written in the registry stays unchanged.
func TestAppendBook(t *testing.T) {
	old := strings.ReplaceAll(entryText, "new-book", "old-book")
	flush := strings.ReplaceAll(strings.TrimPrefix(strings.ReplaceAll("\n"+old, "\n  ", "\n"), "\n"), "New Book", "x")
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", "books:\n" + entryText},
		{"comments alone", "# ours\n\n", "# ours\nbooks:\n" + entryText},
		{"an empty list", "books: []\n", "books:\n" + entryText},
		{"an empty list with a comment", "books: [ ] # none yet\nmore: 1\n", "books: # none yet\n" + entryText + "more: 1\n"},
		{"no list", "books:\n", "books:\n" + entryText},
		{"null", "books: null\n", "books:\n" + entryText},
		{"one", "books:\n" + old, "books:\n" + old + entryText},
		{"no newline at the end", "books:\n" + strings.TrimSuffix(old, "\n"), "books:\n" + old + entryText},
		{"what follows", "books:\n" + old + "\n# about the owner\nowner: ann\n", "books:\n" + old + entryText + "\n# about the owner\nowner: ann\n"},
		{"what comes before", "owner: ann\nbooks:\n" + old, "owner: ann\nbooks:\n" + old + entryText},
		{"other keys alone", "owner: ann\n", "owner: ann\nbooks:\n" + entryText},
		{"not indented", "books:\n" + flush + "x: 1\n", "books:\n" + flush + strings.TrimPrefix(strings.ReplaceAll("\n"+entryText, "\n  ", "\n"), "\n") + "x: 1\n"},
		{"comments within", "books:\n  # the first\n" + old + "  # the last\n", "books:\n  # the first\n" + old + entryText + "  # the last\n"},
		{"other fields", "books:\n" + old + "    owner: |\n      - ann\n\n      - bob\n", "books:\n" + old + "    owner: |\n      - ann\n\n      - bob\n" + entryText},
		{"Windows", strings.ReplaceAll("books:\n"+old, "\n", "\r\n"), strings.ReplaceAll("books:\n"+old+entryText, "\n", "\r\n")},
		{"a broken entry", "books:\n  - title: no id\n", "books:\n  - title: no id\n" + entryText},
		{"a document with a mark", "---\nbooks:\n" + old, "---\nbooks:\n" + old + entryText},
	} {
		got, err := appendBook([]byte(c.text), newBook())
		if err != nil || string(got) != c.want {
			t.Errorf("%s: error %v, got\n%s\nwant\n%s", c.name, err, got, c.want)
		}
	}
}

// TestAppendBookRefuses: a registry that cannot safely be extended is not changed.
func TestAppendBookRefuses(t *testing.T) {
	for _, text := range []string{
		"books: [{book_id: a}]\n", "books: [\n", "books: 7\n", "- a\n", "books:\n  a: b\n", "books:\n  - a\n---\nbooks:\n  - b\n", "\tbooks:\n", "\"books\":\n  - book_id: a\n",
	} {
		got, err := appendBook([]byte(text), newBook())
		var worded *contract.Error
		if !errors.As(err, &worded) || worded.Kind != contract.Unavailable || !strings.Contains(worded.Message, "registry.yaml") {
			t.Errorf("%q becomes %q, error %v", text, got, err)
		}
	}
}

func TestParseRegistry(t *testing.T) {
	entry := func(id, title, created string) string {
		return "  - {book_id: " + id + ", title: " + title + ", storage_backend: fs, created_at: " + created + ", status: active}\n"
	}
	text := "books:\n" + entry("abc", "A", "2025-01-01T00:00:00Z") + entry("d-1", "'B: C'", "2025-01-01") + entry("007", "007", `"2025-01-01 12:00:00"`) +
		entry("abc", "again", "2025-01-01") + entry("ABC", "A", "2025-01-01") + entry("xyz", "", "2025-01-01") + entry("xyz", "X", "soon") + "  - just text\n  - [a]\n  -\n" +
		"  - {book_id: efg, title: E, storage_backend: ftp, created_at: 2025-01-01, status: active}\n  - {book_id: efg, title: E, storage_backend: fs, created_at: 2025-01-01, status: lost}\n" +
		entry("hij", "H", "2025-01-01T00:00:00+02:00")
	books, problems, err := parseRegistry([]byte(text))
	want := []Book{
		{"abc", "A", "fs", "2025-01-01T00:00:00Z", "active"},
		{"d-1", "B: C", "fs", "2025-01-01T00:00:00Z", "active"},
		{"007", "007", "fs", "2025-01-01T12:00:00Z", "active"},
		{"hij", "H", "fs", "2025-01-01T00:00:00+02:00", "active"},
	}
	if err != nil || !slices.Equal(books, want) || len(problems) != 9 {
		t.Errorf("got %+v\nproblems %q, error %v", books, problems, err)
	}
}

func TestTitleOf(t *testing.T) {
	for id, want := range map[string]string{"ai-native-python": "Ai Native Python", "abc": "Abc", "--1-x-": "1 X", "---": "---"} {
		if got := titleOf(id); got != want {
			t.Errorf("%s becomes %q, want %q", id, got, want)
		}
	}
}

// FuzzAppendBook: a registry gains a book and is otherwise unchanged, or is not changed at all.
func FuzzAppendBook(f *testing.F) {
	for _, seed := range []string{"", "books:\n" + entryText, "books: []", "a: b\nbooks:\n- x: y\n# c\nz: 1", "books:\r\n  - a: |\r\n    b\r\n", "{books: []}", "books:\n  - &a {book_id: abc}\n  - *a\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		before, _, err := parseRegistry([]byte(text))
		if err != nil || slices.ContainsFunc(before, func(b Book) bool { return b.ID == "new-book" }) {
			return
		}
		added, err := appendBook([]byte(text), newBook())
		if err != nil {
			return
		}
		after, _, err := parseRegistry(added)
		if err != nil || !slices.Equal(after, append(before, *newBook())) {
			t.Errorf("%q becomes %q with %v, error %v", text, added, after, err)
		}
	})
}

// TestDeeplyNestedRegistries: deeply nested registries are refused, since parsing them would
// exhaust the memory, and so are lines that the parser takes minutes for.
func TestDeeplyNestedRegistries(t *testing.T) {
	for _, deep := range []string{
		strings.Repeat("[", 200_000), strings.Repeat("{a: ", 200_000), strings.Repeat("- ", 200_000), strings.Repeat("? ", 200_000),
		strings.Repeat("a: ", 200_000), strings.Repeat(`"a":`, 200_000), strings.Repeat("&a ", 200_000), strings.Repeat("*a ", 200_000), strings.Repeat("!a ", 200_000),
	} {
		if _, _, err := parseRegistry([]byte("books:\n  " + deep)); err == nil || lineOf(err) != 2 || !strings.Contains(err.Error(), "nested too deeply") {
			t.Errorf("%.10s: %v", deep, err)
		}
	}
	many := "books:\n# " + strings.Repeat("[ ] - ", 5000) + "\n" + strings.Repeat(`  - {book_id: abc, title: "a - b [1]", storage_backend: fs, created_at: 2025-01-01, status: active}`+"\n", 1500)
	if books, broken, err := parseRegistry([]byte(many)); err != nil || len(books) != 1 || len(broken) != 1499 {
		t.Errorf("%d books, %d broken, %v", len(books), len(broken), err)
	}
}

// TestCostlyRegistries checks that registries which would keep the parser busy are refused before
// they are parsed, whatever they consist of, and that one with as many books as allowed is read.
func TestCostlyRegistries(t *testing.T) {
	for _, part := range []string{
		"- a\n", "-\n", "- {}\n", "- *a\n", "- &a b\n", "- a\r", "-\r\n", "#\n", "# a\n", "\n", "\r", "a: b\n", "  a: b\n", "? a\n", "---\n", "%\n", "{},\n",
		"a: b,\n", "a,", "{a: b},", "- book_id: abc\n", "  a\n",
	} {
		text := "books:\n" + strings.Repeat(part, (maxRegistry-10)/len(part))
		var refused *faultError
		if _, _, err := parseRegistry([]byte(text)); !errors.As(err, &refused) || refused.line > maxLines+1 || !strings.Contains(refused.why, " too ") {
			t.Errorf("%q: %.100v", part, err)
		}
	}
	list := func(n int) []byte {
		text := []byte("books:\n")
		for i := range n {
			text = fmt.Appendf(text, "  - book_id: book-%d\n    title: \"A, b: [c]\"\n    storage_backend: fs\n    created_at: 2025-01-01\n    status: active\n", i)
		}
		return text
	}
	full := list(maxEntries)
	if books, broken, err := parseRegistry(full); len(books) != maxEntries || len(broken) > 0 || err != nil {
		t.Errorf("%d books, %d broken, %v", len(books), len(broken), err)
	}
	if _, err := appendBook(full, newBook()); err == nil || !strings.Contains(err.Error(), "has 5000 entries, and no more are read") {
		t.Errorf("one book too many: %v", err)
	}
	complexitytest.Linear(t, maxEntries, func(n int) { _, _, _ = parseRegistry(list(n)) })
}
