package tree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// join opens another view of the files of a view.
func (v *view) join(f failer) *view {
	v.Helper()
	tree, err := v.tree.Join()
	if err != nil {
		v.Fatalf("join: %v", err)
	}
	return &view{failer: f, tree: tree, files: map[string]*File{}, texts: map[string]string{}}
}

// TestModelOfReaders makes random changes to a tree with two readers, updates one of them at a
// time, and compares its view with a plain walk.
func TestModelOfReaders(t *testing.T) {
	modes(t, func(t *testing.T, noWatch bool) {
		scratch, outside := t.TempDir(), t.TempDir()
		var ending sync.WaitGroup
		defer ending.Wait()
		rapid.Check(t, func(rt *rapid.T) {
			root, err := os.MkdirTemp(scratch, "")
			if err != nil {
				rt.Fatal(err)
			}
			defer os.RemoveAll(root)
			v := newView(rt, Options{Root: root, NoWatch: noWatch})
			views := []*view{v, v.join(rt)}
			defer ending.Go(func() { views[0].tree.Close(); views[1].tree.Close() })
			m := &model{T: rt, root: root, outside: outside}
			for range rapid.IntRange(1, 12).Draw(rt, "updates") {
				for range rapid.IntRange(0, 6).Draw(rt, "acts") {
					m.act()
				}
				v := views[rapid.IntRange(0, 1).Draw(rt, "reader")]
				if rapid.Bool().Draw(rt, "interrupted") {
					_ = v.tree.Update(endsAfter(rapid.IntRange(1, 8).Draw(rt, "after")), v.take)
				}
				v.update()
				v.check()
			}
			for _, v := range views {
				v.update()
				v.check()
			}
		})
	})
}

// reports returns what an Update reports, without reading files.
func (v *view) reports(t *testing.T) string {
	t.Helper()
	var all []string
	err := v.tree.Update(t.Context(), func(c Change) {
		v.take(c)
		for sign, files := range map[string][]*File{"+": c.Added, "~": c.Changed, "-": c.Removed} {
			for _, f := range files {
				all = append(all, sign+f.Path)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

func expectReports(t *testing.T, v *view, want string) {
	t.Helper()
	if got := v.reports(t); got != want {
		t.Errorf("reported is %q, want %q", got, want)
	}
}

// TestReaders checks that each reader gets one report of each change to the files it has read, and
// of files added and removed since its last report.
func TestReaders(t *testing.T) {
	modes(t, func(t *testing.T, noWatch bool) {
		root := t.TempDir()
		write(t, root, "a", "1")
		write(t, root, "d/b", "1")
		a := openView(t, Options{Root: root, NoWatch: noWatch})
		a.tree.now = func() time.Time { return time.Now().Add(time.Hour) } // no stamp is young
		expectReports(t, a, "+a +d/b")
		b := a.join(t)
		defer b.tree.Close()
		if b.tree.Unchanged() {
			t.Error("a reader without reports is up to date")
		}
		expectReports(t, b, "+a +d/b")
		a.update() // reads both
		b.tree.Read(b.files["a"], alloc)
		write(t, root, "a", "22")
		write(t, root, "d/b", "22")
		write(t, root, "passing", "1")
		expectReports(t, a, "+passing ~a ~d/b")
		os.Remove(filepath.Join(root, "passing"))
		write(t, root, "c", "1")
		expectReports(t, a, "+c -passing")
		if b.tree.Unchanged() {
			t.Error("a reader with missed changes is up to date")
		}
		expectReports(t, b, "+c ~a") // b has not read the other one
		expectReports(t, b, "")
		os.RemoveAll(filepath.Join(root, "d"))
		expectReports(t, b, "-d/b")
		expectReports(t, a, "-d/b")
		if !noWatch && (!a.tree.Unchanged() || !b.tree.Unchanged()) {
			t.Error("a reader with all reports is not up to date")
		}
	})
}

// TestUpdateWhileAnotherReads checks that a file that is read while it is written is reported to
// its reader, whichever reader updates meanwhile.
func TestUpdateWhileAnotherReads(t *testing.T) {
	modes(t, func(t *testing.T, noWatch bool) {
		root := t.TempDir()
		write(t, root, "f", "1")
		a := openView(t, Options{Root: root, NoWatch: noWatch})
		a.update()
		b := a.join(t)
		defer b.tree.Close()
		expectReports(t, b, "+f")
		a.tree.now = func() time.Time { // b has begun to open the file but not called stat
			a.tree.now = func() time.Time { return time.Now().Add(time.Hour) }
			write(t, root, "f", "22")
			_ = a.tree.Update(context.Background(), nil)
			return time.Now().Add(time.Hour)
		}
		b.tree.Read(b.files["f"], alloc)
		expectReports(t, b, "~f")
	})
}

// TestReadersClose checks that readers share watches and folders, and that each may be closed
// before the other.
func TestReadersClose(t *testing.T) {
	root := t.TempDir()
	for i := range 1000 {
		write(t, root, fmt.Sprintf("d%d/f", i), "1")
	}
	a := openView(t, Options{Root: root})
	a.update()
	b := a.join(t)
	b.update()
	if diff := cmp.Diff(a.paths(), b.paths()); diff != "" || a.files["d1/f"] != b.files["d1/f"] {
		t.Errorf("the readers have different files:\n%s", diff)
	}
	if _, err := a.tree.Join(); err == nil {
		t.Error("a third reader joined")
	}
	if err := a.tree.Close(); err != nil {
		t.Error(err)
	}
	if _, err := a.tree.Read(a.files["d1/f"], alloc); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("read after close: %v", err)
	}
	if err := a.tree.Update(t.Context(), nil); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("update after close: %v", err)
	}
	write(t, root, "d1/f", "22")
	b.update()
	b.check()
	c := b.join(t)
	c.update()
	c.check()
	for _, v := range []*view{b, c} {
		if err := v.tree.Close(); err != nil {
			t.Error(err)
		}
		if err := v.tree.Close(); !errors.Is(err, fs.ErrClosed) {
			t.Errorf("closed again: %v", err)
		}
	}
	if _, err := b.tree.Join(); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("join after close: %v", err)
	}
}

// TestStatAdded: a file that was stat'ed when it was added counts as read, for that reader only.
func TestStatAdded(t *testing.T) {
	modes(t, func(t *testing.T, noWatch bool) {
		root := t.TempDir()
		old := time.Date(2026, 1, 2, 3, 4, 5, 6789, time.UTC)
		for name, text := range map[string]string{"a": "12345", "b/c": "1", "b/d": "12"} {
			write(t, root, name, text)
			if err := os.Chtimes(filepath.Join(root, name), old, old); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink("a", filepath.Join(root, "link")); err != nil {
			t.Fatal(err)
		}
		v := openView(t, Options{Root: root, NoWatch: noWatch})
		v.tree.now = func() time.Time { return time.Now().Add(time.Hour) } // no stamp is young
		v.noRead = true
		v.tree.StatAdded()
		joined, err := v.tree.Join()
		if err != nil {
			t.Fatal(err)
		}
		defer joined.Close()
		v.update()
		for name, want := range map[string]int64{"a": 5, "b/c": 1, "b/d": 2} {
			if size, modified, ok := v.files[name].Stat(); size != want || modified != old.UnixNano() || !ok {
				t.Errorf("%s: %d, %d, %v", name, size, modified, ok)
			}
		}
		if _, _, ok := v.files["link"].Stat(); ok {
			t.Error("a link was stat'ed")
		}
		write(t, root, "b/c", "changed")
		var changed []string
		note := func(c Change) {
			for _, f := range c.Changed {
				changed = append(changed, f.Path)
			}
		}
		if err := v.tree.Update(t.Context(), note); err != nil || !slices.Equal(changed, []string{"b/c"}) {
			t.Errorf("changed: %v, %v", changed, err)
		}
		if changed = nil; joined.Update(t.Context(), note) != nil || changed != nil {
			t.Errorf("changed for a reader that read nothing: %v", changed)
		}
	})
}
