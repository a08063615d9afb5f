package books

import (
	"slices"
	"strings"
	"testing"
)

// TestChangeEntry: everything that people have written in the registry stays unchanged.
func TestChangeEntry(t *testing.T) {
	const before = "# ours\nbooks:\n  # the first\n  - book_id: old-book # keep\n    title: \"Old: é\"   # title\n    storage_backend: fs\n" +
		"    created_at: 2025-01-01\n    owner: |\n      - ann\n\n    status: active\n  # the last\n"
	const flow = "  - {book_id: abc, title: 'It''s, it', storage_backend: fs, created_at: 2025-01-01, status: active}\n"
	const after = "\n# about the owner\nowner: ann\n"
	edit := func(change func(b *Book)) func(Book) *Book {
		return func(b Book) *Book { change(&b); return &b }
	}
	remove := func(Book) *Book { return nil }
	title := edit(func(b *Book) { b.Title = `New, "title": {x} # é` })
	for _, tc := range []struct {
		name, id   string
		text, want string
		change     func(Book) *Book
	}{
		{"title", "old-book", before + flow + after, strings.Replace(before, `"Old: é"`, `"New, \"title\": {x} # é"`, 1) + flow + after, title},
		{"title in one line", "abc", before + flow + after, before + strings.Replace(flow, "'It''s, it'", `"New, \"title\": {x} # é"`, 1) + after, title},
		{"status", "old-book", before + flow + after, strings.Replace(before, "active", "archived", 1) + flow + after, edit(func(b *Book) { b.Status = archived })},
		{"id", "abc", before + flow + after, before + strings.Replace(flow, "abc", `"123"`, 1) + after, edit(func(b *Book) { b.ID = "123" })},
		{"removal", "old-book", before + flow + after, "# ours\nbooks:\n  # the first\n  # the last\n" + flow + after, remove},
		{"removal of the last", "abc", before + flow + after, before + after, remove},
		{"removal of the only one", "abc", "books:\n" + flow, "books:\n", remove},
		{"not indented", "abc", "books:\n" + flow[2:] + "x: 1\n", "books:\nx: 1\n", remove},
		{"a dash alone", "abc", "books:\n-\n" + "  book_id: abc\n  title: A\n  storage_backend: fs\n" +
			"  created_at: 2025-01-01\n  status: active\n", "books:\n", remove},
		{
			"Windows", "old-book", strings.ReplaceAll(before+flow, "\n", "\r\n"), strings.ReplaceAll(strings.Replace(before, "active", "archived", 1)+flow, "\n", "\r\n"),
			edit(func(b *Book) { b.Status = archived }),
		},
		{"a list in one line", "abc", "books: [" + strings.TrimSpace(flow)[2:] + "]\n", "", remove},
		{"lines of both kinds", "abc", "books:\r\n" + flow, "", title},
		{"a folded title", "abc", "books:\n- book_id: abc\n  title: >\n    a\n    b\n  storage_backend: fs\n  created_at: 2025-01-01\n  status: active\n", "", title},
	} {
		books, _, err := parseRegistry([]byte(tc.text))
		at := slices.IndexFunc(books, func(b Book) bool { return b.ID == tc.id })
		if err != nil || at < 0 {
			t.Fatalf("%s: %v, error %v", tc.name, books, err)
		}
		got, err := changeEntry([]byte(tc.text), &entryChange{&books[at], tc.change(books[at])})
		if string(got) != tc.want || (err == nil) != (tc.want != "") {
			t.Errorf("%s: error %v, got\n%s\nwant\n%s", tc.name, err, got, tc.want)
		}
	}
}

// FuzzChangeEntry: a registry has another entry and is otherwise unchanged, or is not changed at
// all.
func FuzzChangeEntry(f *testing.F) {
	f.Add("books:\n"+entryText, "A title")
	f.Add("books:\n- {book_id: abc, title: b, storage_backend: fs, created_at: 2025-01-01, status: active} # c\n#d\nx: y", "a, b: 'c'")
	f.Add("books:\r\n-\r\n  book_id: abc\r\n  title: b\r\n  storage_backend: fs\r\n  created_at: 2025-01-01\r\n  status: active\r\n", "ü\u00a0")
	f.Fuzz(func(t *testing.T, text, title string) {
		before, _, err := parseRegistry([]byte(text))
		if title = cleanTitle(title); err != nil || len(before) == 0 || title == "" {
			return
		}
		changed := before[0]
		changed.Title, changed.Status = title, archived
		if got, err := changeEntry([]byte(text), &entryChange{&before[0], &changed}); err == nil {
			after, _, err := parseRegistry(got)
			if err != nil || !slices.Equal(after, append([]Book{changed}, before[1:]...)) {
				t.Errorf("%q becomes %q with %v, error %v", text, got, after, err)
			}
		}
		if got, err := changeEntry([]byte(text), &entryChange{from: &before[0]}); err == nil {
			if after, _, err := parseRegistry(got); err != nil || !slices.Equal(after, before[1:]) {
				t.Errorf("%q becomes %q with %v, error %v", text, got, after, err)
			}
		}
	})
}
