package books_test

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"remit/internal/toolsets/books"
)

// A snapshot has what was there when it was taken, although everything changes afterwards.
func TestSnapshot(t *testing.T) {
	d := serve(t)
	write := func(path, text string) {
		d.does(t, "write_content", fmt.Sprintf(`{"book_id":"python","path":%q,"content":%q}`, path, text))
	}
	write("lessons/same.md", "same")
	write("lessons/changed.md", "old")
	write("lessons/deleted.md", "gone")
	write("lessons/edited.md", "by a tool")
	write("lessons/twice.md", "0")
	write("lessons/twice.md", "1")
	s, err := books.TakeSnapshot(t.Context(), d.stores.Main)
	if err != nil {
		t.Fatal(err)
	}
	write("lessons/changed.md", "new")
	write("lessons/twice.md", "2")
	write("lessons/twice.md", "3")
	write("lessons/late.md", "late")
	d.does(t, "delete_content", `{"book_id":"python","path":"lessons/deleted.md"}`)
	for _, name := range []string{"edited.md", "removed.md"} { // without a history
		if err := os.WriteFile(filepath.Join(d.dir, "books/python/lessons", name), []byte("by hand"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	found, records := map[string]string{}, 0
	for _, o := range s.Objects {
		body, err := s.Open(t.Context(), o)
		if err != nil {
			t.Fatalf("%s: %v", o.Key, err)
		}
		text, err := io.ReadAll(body)
		if err = errors.Join(err, body.Close()); err != nil {
			t.Fatal(err)
		}
		switch name, isLesson := strings.CutPrefix(o.Key, "books/python/lessons/"); {
		case isLesson:
			found[name] = string(text)
		case strings.HasPrefix(o.Key, ".history/python/log/"):
			records++
		}
	}
	want := map[string]string{"same.md": "same", "changed.md": "old", "deleted.md": "gone", "edited.md": "by hand", "twice.md": "1"}
	if !maps.Equal(found, want) || records != 6 {
		t.Errorf("the snapshot has %v and %d records", found, records)
	}
}

func TestMoveRegistry(t *testing.T) {
	const text = "books:\n- book_id: s3\n  storage_backend: s3 # s3\n- {book_id: x, \"storage_backend\": \"s3\", title: s3x}\n- storage_backend: fs\n"
	const want = "books:\n- book_id: s3\n  storage_backend: fs # s3\n- {book_id: x, \"storage_backend\": \"fs\", title: s3x}\n- storage_backend: fs\n"
	if got := string(books.MoveRegistry([]byte(text), "s3", "fs")); got != want {
		t.Errorf("the registry is\n%s", got)
	}
}
