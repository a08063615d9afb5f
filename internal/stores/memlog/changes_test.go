package memlog_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"remit/internal/stores/memlog"
)

func TestTheFileChangesUnderneath(t *testing.T) {
	long := strings.Repeat("{\"long\":true}\n", 10_000)
	for _, c := range []struct {
		name   string
		change func(t *testing.T, path string)
		line   int64 // number of the next entry, after three lines of ours
		before string
	}{
		{"nothing", func(*testing.T, string) {}, 4, "{\"n\":0}\n{\"n\":1}\n{\"n\":2}\n"},
		{"deleted", func(t *testing.T, path string) { check(t, os.Remove(path)) }, 1, ""},
		{"folder deleted", func(t *testing.T, path string) { check(t, os.RemoveAll(filepath.Dir(path))) }, 1, ""},
		{"rotated", func(t *testing.T, path string) { check(t, os.Rename(path, path+".1")) }, 1, ""},
		{"replaced", func(t *testing.T, path string) {
			write(t, path+".new", "{}\n{}\n{}\n{}\n{}\n")
			check(t, os.Rename(path+".new", path))
		}, 6, "{}\n{}\n{}\n{}\n{}\n"},
		{"replaced by an equal", func(t *testing.T, path string) {
			write(t, path+".new", read(t, path))
			check(t, os.Rename(path+".new", path))
		}, 4, "{\"n\":0}\n{\"n\":1}\n{\"n\":2}\n"},
		{"emptied", func(t *testing.T, path string) { check(t, os.Truncate(path, 0)) }, 1, ""},
		{"cut at a line", func(t *testing.T, path string) { check(t, os.Truncate(path, 16)) }, 3, "{\"n\":0}\n{\"n\":1}\n"},
		{"cut within a line", func(t *testing.T, path string) { check(t, os.Truncate(path, 19)) }, 3, "{\"n\":0}\n{\"n\":1}\n"},
		{"line added", func(t *testing.T, path string) { write(t, path, read(t, path)+"{}\n") }, 5, "{\"n\":0}\n{\"n\":1}\n{\"n\":2}\n{}\n"},
		{"line added at the top", func(t *testing.T, path string) { write(t, path, "\n\n"+read(t, path)) }, 6, "\n\n{\"n\":0}\n{\"n\":1}\n{\"n\":2}\n"},
		{"rewritten, longer", func(t *testing.T, path string) { write(t, path, long) }, 10_001, long},
		{"lines joined, same size", func(t *testing.T, path string) {
			write(t, path, strings.Replace(read(t, path), "\n", " ", 1))
		}, 3, "{\"n\":0} {\"n\":1}\n{\"n\":2}\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, name)
			l := open(t, dir, memlog.JSONLines)
			for i := range 3 {
				put(t, l, fmt.Sprintf(`{"n":%d}`, i))
			}
			c.change(t, path)
			for i := range 3 {
				same(t, "place", put(t, l, `{}`), memlog.Position{Line: c.line + int64(i), Bytes: 3})
			}
			same(t, "file", read(t, path), c.before+"{}\n{}\n{}\n")
		})
	}
}

// TestAnEditFarFromTheEnd keeps the size and the last lines, so that only the modification time
// reveals the edit.
func TestAnEditFarFromTheEnd(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, name)
	l := open(t, dir, memlog.JSONLines)
	for range 1000 {
		l.Append([]byte(`{"n":1}`), false)
	}
	same(t, "place", put(t, l, `{}`), memlog.Position{Line: 1001, Bytes: 3})
	write(t, path, strings.Replace(read(t, path), "\n", " ", 1))
	later := time.Now().Add(time.Minute) // some file systems have coarse clocks
	check(t, os.Chtimes(path, later, later))
	same(t, "place", put(t, l, `{}`), memlog.Position{Line: 1001, Bytes: 3})
}

func TestARotatedFileKeepsItsLines(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, name)
	l := open(t, dir, memlog.JSONLines)
	put(t, l, `{"old":1}`)
	check(t, os.Rename(path, path+".1"))
	put(t, l, `{"new":1}`)
	same(t, "old file", read(t, path+".1"), "{\"old\":1}\n")
	same(t, "new file", read(t, path), "{\"new\":1}\n")
}

func TestASymlinkInPlaceOfTheFileIsRefused(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, name)
	l := open(t, dir, memlog.JSONLines)
	put(t, l, `{}`)
	check(t, os.Rename(path, path+".1"))
	write(t, filepath.Join(dir, "secret"), "secret\n")
	check(t, os.Symlink("../secret", path))
	if _, err := l.Append([]byte(`{}`), true).Wait(t.Context()); err == nil {
		t.Fatal("wrote through a symlink")
	}
	same(t, "target", read(t, filepath.Join(dir, "secret")), "secret\n")
	check(t, os.Remove(path))
	same(t, "place", put(t, l, `{}`), memlog.Position{Line: 1, Bytes: 3})
}

// rooted opens files relative to a folder's descriptor, like the workspace: the names of its files
// may not exist as paths.
type rooted struct{ root *os.Root }

func (r rooted) OpenAppend(name string) (*os.File, error) {
	return r.root.OpenFile(name, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
}

func TestTheRootMayMove(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a")
	check(t, os.Mkdir(dir, 0o700))
	root, err := os.OpenRoot(dir)
	check(t, err)
	defer root.Close()
	l := openWith(t, memlog.Options{Files: rooted{root}, Name: "log.jsonl"})
	put(t, l, `{}`)
	check(t, os.Rename(dir, dir+"moved"))
	same(t, "place", put(t, l, `{}`), memlog.Position{Line: 2, Bytes: 3})
	check(t, os.Remove(filepath.Join(dir+"moved", "log.jsonl")))
	same(t, "place", put(t, l, `{}`), memlog.Position{Line: 1, Bytes: 3})
}

// TestAWriterWithoutLock simulates a person with "echo >>": the returned line numbers must be
// correct even then.
func TestAWriterWithoutLock(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, name)
	l := open(t, dir, memlog.JSONLines)
	put(t, l, `{"n":-1}`)
	stranger, err := memlog.Dir(dir).OpenAppend(name)
	check(t, err)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		defer stranger.Close()
		for {
			select {
			case <-stop:
				return
			default:
				if _, err := stranger.WriteString("{\"stranger\":true}\n"); err != nil {
					t.Error(err)
					return
				}
			}
		}
	}()
	var places []memlog.Position
	for i := range 500 {
		p, err := l.Append(fmt.Appendf(nil, `{"n":%d}`, i), false).Wait(t.Context())
		check(t, err)
		places = append(places, p)
	}
	close(stop)
	<-stopped
	lines := strings.Split(read(t, path), "\n")
	for i, p := range places {
		same(t, "line", lines[p.Line-1], fmt.Sprintf(`{"n":%d}`, i))
	}
}

// TestTheFileChangesBetweenLookAndWrite changes the file in Seal, which is called between the two.
func TestTheFileChangesBetweenLookAndWrite(t *testing.T) {
	for _, c := range []struct {
		name, before, changed string
		line                  int64
	}{
		{"longer", "{}\n", "{}\n[]\n[]\n", 4},
		{"emptied", "{}\n{}\n", "", 1},
		{"shorter", "{}\n{\"long\":\"line\"}\n", "{}\n", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, name)
			write(t, path, c.before)
			change := true
			l := openWith(t, memlog.Options{
				Files: memlog.Dir(dir), Name: name,
				Seal: func(b, _ []byte, _ int64, body []byte) []byte {
					if change {
						write(t, path, c.changed)
					}
					change = false
					return append(b, body...)
				},
			})
			for i := range 2 {
				same(t, "place", put(t, l, `{"n":1}`), memlog.Position{Line: c.line + int64(i), Bytes: 8})
			}
			same(t, "file", read(t, path), c.changed+"{\"n\":1}\n{\"n\":1}\n")
		})
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
