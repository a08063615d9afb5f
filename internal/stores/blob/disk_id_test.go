package blob_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"remit/internal/stores/blob"
	"remit/internal/toolsets/books"
	"remit/internal/toolsets/books/bookstest"
)

// remembered is a storageid.Memory.
type remembered struct{ id string }

func (m *remembered) Known() (string, error) { return m.id, nil }
func (m *remembered) Record(id string) error { m.id = id; return nil }

var errReplaced = errors.New("the folder")

// openKnown opens a folder of which it is known whether it was used before.
func openKnown(t *testing.T, dir string, known *remembered) *blob.Disk {
	t.Helper()
	d := openDisk(t, dir)
	d.Identify(known, func(why string) error { return errors.Join(errReplaced, errors.New(why)) })
	t.Cleanup(d.Close)
	return d
}

// TestDiskWithAnID runs the suite on folders that have an id.
func TestDiskWithAnID(t *testing.T) {
	t.Parallel()
	bookstest.Run(t, func(t *testing.T) books.Store {
		t.Helper()
		return openKnown(t, filepath.Join(t.TempDir(), "not", "there", "yet"), &remembered{})
	})
}

// TestTheFolderGoesAway moves the folder away, and puts an empty one in its place: nothing is read,
// written, removed or created, and it goes on when the folder is back.
func TestTheFolderGoesAway(t *testing.T) {
	for _, empty := range []bool{false, true} {
		dir := filepath.Join(t.TempDir(), "library")
		known := &remembered{}
		d := openKnown(t, dir, known)
		_, err := get(d, "books/a")
		equal(t, errors.Is(err, books.ErrNotFound), true)
		check(t, put(d, "books/a", "one", books.Cond{}))
		equal(t, keys(t, d), []string{"books/a"})
		check(t, os.Rename(dir, dir+".away"))
		if empty {
			check(t, os.Mkdir(dir, 0o755))
		}
		for _, d := range []*blob.Disk{d, openKnown(t, dir, known)} {
			_, readErr := get(d, "books/a")
			_, deleteErr := d.Delete(t.Context(), "books/a", books.Cond{})
			_, statErr := d.Stat(t.Context(), "books/a")
			copyErr := d.Copy(t.Context(), "books/a", "books/b", "")
			for _, err := range []error{readErr, deleteErr, statErr, copyErr, put(d, "books/a", "two", books.Cond{})} {
				if !errors.Is(err, errReplaced) {
					t.Errorf("empty %t: %v", empty, err)
				}
			}
			for _, err := range d.List(t.Context(), "") {
				if !errors.Is(err, errReplaced) {
					t.Errorf("empty %t: list: %v", empty, err)
				}
			}
		}
		if !empty {
			if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("it was created anew: %v", err)
			}
		}
		check(t, os.RemoveAll(dir))
		check(t, os.Rename(dir+".away", dir))
		check(t, put(d, "books/a", "two", books.Cond{}))
		got, err := get(d, "books/a")
		check(t, err)
		equal(t, got, "two")
	}
}

// TestTheIDIsNotSwept makes the file old: it is no draft.
func TestTheIDIsNotSwept(t *testing.T) {
	dir := t.TempDir()
	known := &remembered{}
	check(t, put(openKnown(t, dir, known), "a", "x", books.Cond{}))
	old := time.Now().Add(-48 * time.Hour)
	for _, name := range []string{".remit-id", ".locks/swept"} {
		check(t, os.Chtimes(filepath.Join(dir, name), old, old))
	}
	d := openKnown(t, dir, known)
	check(t, put(d, "b", "x", books.Cond{}))
	equal(t, keys(t, d), []string{"a", "b"})
}
