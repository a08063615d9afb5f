package blob_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"remit/internal/stores/blob"
	"remit/internal/toolsets/books"
	"remit/internal/toolsets/books/bookstest"
)

func TestDisk(t *testing.T) {
	t.Parallel()
	bookstest.Run(t, func(t *testing.T) books.Store { return openDisk(t, filepath.Join(t.TempDir(), "not", "there", "yet")) })
}

func openDisk(t *testing.T, dir string) *blob.Disk {
	t.Helper()
	d, err := blob.OpenDisk(dir)
	check(t, err)
	return d
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal(t *testing.T, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func put(s books.Store, key, content string, c books.Cond) error {
	_, _, err := s.Put(context.Background(), key, strings.NewReader(content), int64(len(content)), c)
	return err
}

func get(s books.Store, key string) (string, error) {
	body, err := s.Open(context.Background(), key)
	if err != nil {
		return "", err
	}
	content, err := io.ReadAll(body)
	return string(content), errors.Join(err, body.Close())
}

func keys(t *testing.T, s books.Store) []string {
	t.Helper()
	var found []string
	for o, err := range s.List(t.Context(), "") {
		check(t, err)
		found = append(found, o.Key)
	}
	return found
}

// write writes a file directly to the disk.
func write(t *testing.T, dir, name, content string) {
	t.Helper()
	host := filepath.Join(dir, filepath.FromSlash(name))
	check(t, os.MkdirAll(filepath.Dir(host), 0o755))
	check(t, os.WriteFile(host, []byte(content), 0o644))
}

// files returns the names of all files below a folder, without the locks.
func files(t *testing.T, dir string) []string {
	t.Helper()
	var found []string
	check(t, fs.WalkDir(os.DirFS(dir), ".", func(name string, e fs.DirEntry, err error) error {
		if err == nil && e.Name() == ".locks" {
			return fs.SkipDir
		}
		if err == nil && !e.IsDir() {
			found = append(found, name)
		}
		return err
	}))
	return found
}

// Reading creates nothing, not even the folder.
func TestReadingMakesNothing(t *testing.T) {
	dir := t.TempDir()
	d := openDisk(t, filepath.Join(dir, "library"))
	equal(t, keys(t, d), []string(nil))
	_, err := d.Stat(t.Context(), "books/b/x")
	equal(t, errors.Is(err, books.ErrNotFound), true)
	_, err = d.Delete(t.Context(), "books/b/x", books.Cond{})
	check(t, err)
	equal(t, errors.Is(put(d, "books/b/x", "", books.Cond{Hash: bookstest.HashOf("")}), books.ErrConflict), true)
	entries, err := os.ReadDir(dir)
	check(t, err)
	equal(t, len(entries), 0)

	write(t, dir, "library/books/b/x", "by hand")
	equal(t, keys(t, d), []string{"books/b/x"})
	entries, err = os.ReadDir(filepath.Join(dir, "library"))
	check(t, err)
	equal(t, len(entries), 1)
}

func TestAFileIsWhereTheFolderShouldBe(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "library", "a file")
	for _, host := range []string{"library", "library/beneath"} {
		d := openDisk(t, filepath.Join(dir, host))
		err := put(d, "books/b/x", "x", books.Cond{})
		if err == nil || errors.Is(err, books.ErrPathConflict) || errors.Is(err, books.ErrNotFound) {
			t.Errorf("put: error %v, want the error of the system", err)
		}
		if _, err := d.Stat(t.Context(), "books/b/x"); err == nil || errors.Is(err, books.ErrNotFound) {
			t.Errorf("stat: error %v, want the error of the system", err)
		}
	}
	equal(t, files(t, dir), []string{"library"})
}

// The folder may be moved away and replaced by another one.
func TestTheFolderIsReplaced(t *testing.T) {
	dir := t.TempDir()
	library := filepath.Join(dir, "library")
	d := openDisk(t, library)
	check(t, put(d, "books/b/x", "old", books.Cond{}))
	check(t, os.Rename(library, filepath.Join(dir, "away")))
	equal(t, keys(t, d), []string(nil))
	check(t, put(d, "books/b/y", "new", books.Cond{}))
	equal(t, keys(t, d), []string{"books/b/y"})
}

func TestKeysThatAreNone(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "secret", "s")
	library := filepath.Join(dir, "library")
	d := openDisk(t, library)
	check(t, put(d, "books/b/x", "x", books.Cond{}))
	write(t, library, "books/b/.remit-draft", "s")
	for _, key := range []string{
		"", ".", "..", "/", "../secret", "books/../../secret", "books/./b/x", "books//b/x", "/books/b/x", "books/b/x/", filepath.Join(dir, "secret"),
		".locks", ".locks/00", ".locks/new", "books/b/.remit-draft", ".remit-new", "books/b/.remit-f/x", "books\\b\\x", "books/b/x\x00", "books/b/x y", "books/b/é",
		"books/b/x\n", "books/b/\u2215x", "C:x", "books/b/" + strings.Repeat("dd/", 339) + "x",
	} {
		_, err := d.Open(t.Context(), key)
		equal(t, errors.Is(err, books.ErrNotFound), true)
		_, err = d.Stat(t.Context(), key)
		equal(t, errors.Is(err, books.ErrNotFound), true)
		if err := put(d, key, "y", books.Cond{}); !errors.Is(err, books.ErrPathConflict) {
			t.Errorf("put %q: %v", key, err)
		}
		if existed, err := d.Delete(t.Context(), key, books.Cond{}); existed || err != nil {
			t.Errorf("delete %q: existed %v, error %v", key, existed, err)
		}
		if err := d.Copy(t.Context(), "books/b/x", key, bookstest.HashOf("x")); !errors.Is(err, books.ErrPathConflict) {
			t.Errorf("copy to %q: %v", key, err)
		}
		for o, err := range d.List(t.Context(), key+"/") {
			t.Errorf("list %q: %+v, error %v", key+"/", o, err)
		}
	}
	equal(t, keys(t, d), []string{"books/b/x"})
	equal(t, files(t, dir), []string{"library/books/b/.remit-draft", "library/books/b/x", "secret"})
}

// A name that is too long for the system gives the error of the system, and no object.
func TestANameThatIsTooLong(t *testing.T) {
	dir := t.TempDir()
	d := openDisk(t, dir)
	long := strings.Repeat("n", 300)
	for _, key := range []string{"books/b/" + long, "books/" + long + "/x"} {
		_, err := d.Stat(t.Context(), key)
		equal(t, errors.Is(err, books.ErrNotFound), true)
		_, err = d.Open(t.Context(), key)
		equal(t, errors.Is(err, books.ErrNotFound), true)
		if err := put(d, key, "x", books.Cond{}); err == nil {
			t.Error("it was stored")
		}
	}
	equal(t, files(t, dir), []string(nil))
	_, err := os.Stat(filepath.Join(dir, "books"))
	equal(t, errors.Is(err, fs.ErrNotExist), true)
}

// Files whose names are not keys do not exist for the store.
func TestForeignFilesArePassedOver(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"books/b/a b.md", "books/b/é.md", "books/my book/x", "books/b/x~", "books/b/#x#", "books/b/.remit-x", ".locks/zz"} {
		write(t, dir, name, "x")
	}
	write(t, dir, "books/b/x.md", "x")
	d := openDisk(t, dir)
	equal(t, keys(t, d), []string{"books/b/x.md"})
	// A folder that holds foreign files stays when its last object is removed.
	existed, err := d.Delete(t.Context(), "books/b/x.md", books.Cond{})
	equal(t, existed, true)
	check(t, err)
	equal(t, len(files(t, dir)), 6)
}

// An edit by hand is detected even if the size and the second of the modification time are
// unchanged.
func TestEditsByHand(t *testing.T) {
	dir := t.TempDir()
	d := openDisk(t, dir)
	check(t, put(d, "books/b/x", "one", books.Cond{}))
	before, err := d.Stat(t.Context(), "books/b/x")
	check(t, err)
	host := filepath.Join(dir, "books", "b", "x")
	for _, content := range []string{"two", "six"} {
		check(t, os.WriteFile(host, []byte(content), 0o644))
		check(t, os.Chtimes(host, before.Modified, before.Modified.Truncate(time.Second)))
		now, err := d.Stat(t.Context(), "books/b/x")
		check(t, err)
		if now.Version == before.Version {
			t.Errorf("%s has the version of what was there before", content)
		}
		before = now
		err = put(d, "books/b/x", "ten", books.Cond{Hash: bookstest.HashOf("one")})
		conflict := (*books.ConflictError)(nil)
		if !errors.As(err, &conflict) || conflict.Actual != bookstest.HashOf(content) {
			t.Errorf("a write over %s: error %v", content, err)
		}
	}
	check(t, put(d, "books/b/x", "ten", books.Cond{Hash: bookstest.HashOf("six")}))
}

// A reader always finds the object, with one of the contents ever written, while others replace it.
func TestReadersFindWholeObjects(t *testing.T) {
	d := openDisk(t, t.TempDir())
	contents := []string{strings.Repeat("a", 100_000), strings.Repeat("b", 70_000), ""}
	check(t, put(d, "books/b/x", contents[0], books.Cond{}))
	var readers sync.WaitGroup
	done := make(chan struct{})
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if got, err := get(d, "books/b/x"); err != nil || !slices.Contains(contents, got) {
					t.Errorf("read %d bytes, error %v", len(got), err)
					return
				}
			}
		})
	}
	for i := range 60 {
		check(t, put(d, "books/b/x", contents[i%3], books.Cond{}))
	}
	close(done)
	readers.Wait()
}

// A reader that began before a write gets all of the old content.
func TestAnOpenBodyStays(t *testing.T) {
	d := openDisk(t, t.TempDir())
	check(t, put(d, "books/b/x", "old", books.Cond{}))
	first, err := d.Open(t.Context(), "books/b/x")
	check(t, err)
	check(t, put(d, "books/b/x", "new", books.Cond{}))
	second, err := d.Open(t.Context(), "books/b/x")
	check(t, err)
	_, err = d.Delete(t.Context(), "books/b/x", books.Cond{})
	check(t, err)
	for body, want := range map[*books.Body]string{first: "old", second: "new"} {
		got, err := io.ReadAll(body)
		check(t, errors.Join(err, body.Close()))
		equal(t, string(got), want)
	}
}

// The first write removes the drafts of killed processes, but not those of running ones. A second
// process does not search again.
func TestStaleDraftsAreSwept(t *testing.T) {
	dir := t.TempDir()
	past := time.Now().Add(-2 * time.Hour)
	plant := func(name string, at time.Time) {
		write(t, dir, name, "draft")
		check(t, os.Chtimes(filepath.Join(dir, name), at, at))
	}
	plant("books/b/.remit-old", past)
	plant("books/b/deep/er/.remit-old", past)
	plant(".remit-old", past)
	plant("books/b/.remit-new", time.Now())
	plant("books/b/x", past)
	d := openDisk(t, dir)
	equal(t, keys(t, d), []string{"books/b/x"})
	check(t, put(d, "books/b/y", "y", books.Cond{}))
	equal(t, files(t, dir), []string{"books/b/.remit-new", "books/b/x", "books/b/y"})

	plant(".remit-old", past)
	check(t, put(openDisk(t, dir), "books/b/y", "z", books.Cond{}))
	equal(t, files(t, dir), []string{".remit-old", "books/b/.remit-new", "books/b/x", "books/b/y"})
	check(t, os.Chtimes(filepath.Join(dir, ".locks", "swept"), past, past))
	check(t, put(openDisk(t, dir), "books/b/y", "z", books.Cond{}))
	equal(t, files(t, dir), []string{"books/b/.remit-new", "books/b/x", "books/b/y"})
}

// Refused and failed writes leave no draft and no folder behind.
func TestRefusedWritesLeaveNothing(t *testing.T) {
	dir := t.TempDir()
	d := openDisk(t, dir)
	check(t, put(d, "books/b/x", "x", books.Cond{}))
	_, _, err := d.Put(t.Context(), "books/b/new/folder/y", strings.NewReader("short"), 10, books.Cond{})
	equal(t, err != nil, true)
	equal(t, errors.Is(put(d, "books/b/x", "y", books.Cond{Absent: true}), books.ErrConflict), true)
	equal(t, errors.Is(put(d, "books/b", "y", books.Cond{}), books.ErrPathConflict), true)
	equal(t, errors.Is(put(d, "books/b/x/y", "y", books.Cond{}), books.ErrPathConflict), true)
	conflict := d.Copy(t.Context(), "books/b/x", "books/c/y", bookstest.HashOf("y"))
	equal(t, errors.Is(conflict, books.ErrConflict), true)
	equal(t, files(t, dir), []string{"books/b/x"})
	folders, err := os.ReadDir(filepath.Join(dir, "books"))
	check(t, err)
	equal(t, len(folders), 1)
}

func BenchmarkDisk(b *testing.B) {
	d, err := blob.OpenDisk(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	for i := range 500 {
		if err := put(d, fmt.Sprintf("books/b/lessons/part-%02d/%03d.md", i%40, i), strings.Repeat("x", 4096), books.Cond{}); err != nil {
			b.Fatal(err)
		}
	}
	const key = "books/b/lessons/part-07/007.md"
	buf := make([]byte, 4096)
	b.Run("read 4 KB", func(b *testing.B) {
		for b.Loop() {
			body, err := d.Open(b.Context(), key)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := io.ReadFull(body, buf); err != nil {
				b.Fatal(err)
			}
			body.Close()
		}
	})
	b.Run("stat", func(b *testing.B) {
		for b.Loop() {
			if _, err := d.Stat(b.Context(), key); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("list 500", func(b *testing.B) {
		for b.Loop() {
			for _, err := range d.List(b.Context(), "books/b/") {
				if err != nil {
					b.Fatal(err)
				}
			}
		}
	})
	b.Run("put 4 KB", func(b *testing.B) {
		for b.Loop() {
			if err := put(d, key, strings.Repeat("y", 4096), books.Cond{}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
