package tree

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestEveryChangeIsSeen makes one change after the other, and expects the next Update to report
// each.
func TestEveryChangeIsSeen(t *testing.T) {
	modes(t, func(t *testing.T, noWatch bool) {
		root := t.TempDir()
		v := openView(t, Options{Root: root, NoWatch: noWatch})
		for i := range 20 {
			write(t, root, fmt.Sprintf("d%d/sub/f%d", i%4, i), "old")
		}
		v.update()
		for i := range 1000 {
			change(t, root, i)
			v.update()
			v.expect(root)
		}
		v.check()
	})
}

// change makes the i-th of many changes.
func change(t *testing.T, root string, i int) {
	at := func(name string) string { return filepath.Join(root, name) }
	name := at(fmt.Sprintf("d%d/sub/f%d", i/8%4, i/8%20))
	must := func(err error) {
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	switch i % 8 {
	case 0, 1:
		write(t, root, fmt.Sprintf("d%d/sub/f%d", i/8%4, i/8%20), fmt.Sprintf("%03d", i))
	case 2: // same size and same time
		info, err := os.Stat(name)
		must(err)
		must(os.WriteFile(name, fmt.Appendf(nil, "%03d", i), 0o644))
		must(os.Chtimes(name, time.Time{}, info.ModTime()))
	case 3:
		must(os.WriteFile(at("new"), fmt.Appendf(nil, "%03d", i), 0o644))
		must(os.Rename(at("new"), name))
	case 4:
		must(os.Rename(name, at(fmt.Sprintf("moved%d", i))))
	case 5:
		must(os.Rename(at("d0"), at("d0moved")))
	case 6:
		must(os.Rename(at("d0moved"), at("d0")))
	case 7:
		must(os.Remove(at(fmt.Sprintf("moved%d", i-3))))
	}
}

// expect compares the view with all files on disk.
func (v *view) expect(root string) {
	v.Helper()
	files := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		rel, _ := filepath.Rel(root, path)
		text, err := os.ReadFile(path)
		if known, found := v.texts[rel]; !found || known != string(text) {
			v.Fatalf("%s holds %q, and the view has %q", rel, text, known)
		}
		return err
	})
	if err != nil || files != len(v.files) {
		v.Fatalf("%d files, the view has %d: %v", files, len(v.files), err)
	}
}

// TestChangesAtSeveralDepths changes two folders with an unchanged one between them.
func TestChangesAtSeveralDepths(t *testing.T) {
	modes(t, func(t *testing.T, noWatch bool) {
		root := t.TempDir()
		v := openView(t, Options{Root: root, NoWatch: noWatch})
		write(t, root, "b/c/d/old", "x")
		v.update()
		for _, name := range []string{"top", "b/middle", "b/c/d/deep"} {
			write(t, root, name, "x")
		}
		v.update()
		v.check()
	})
}

// TestQuietFilesAreNotReported reads everything, and expects no reports once the stamps have aged.
func TestQuietFilesAreNotReported(t *testing.T) {
	modes(t, func(t *testing.T, noWatch bool) {
		root := t.TempDir()
		for i := range 50 {
			write(t, root, fmt.Sprintf("d%d/f%d", i%3, i), "text")
		}
		write(t, root, gitignore, "*.log\n")
		v := openView(t, Options{Root: root, NoWatch: noWatch})
		v.tree.now = func() time.Time { return time.Now().Add(time.Hour) } // everything is old
		v.update()
		for range 3 {
			if err := v.tree.Update(t.Context(), func(c Change) {
				t.Errorf("reported: %d added, %d changed, %d removed", len(c.Added), len(c.Changed), len(c.Removed))
			}); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestYoungStampsAreNotTrusted writes to a file without a visible change of its status.
func TestYoungStampsAreNotTrusted(t *testing.T) {
	root := t.TempDir()
	write(t, root, "f", "one")
	v := openView(t, Options{Root: root, NoWatch: true})
	v.update()
	changed := func() (n int) {
		if err := v.tree.Update(t.Context(), func(c Change) { n += len(c.Changed); v.take(c) }); err != nil {
			t.Fatal(err)
		}
		return n
	}
	info, err := os.Stat(filepath.Join(root, "f"))
	if err != nil {
		t.Fatal(err)
	}
	v.tree.now = func() time.Time { return info.ModTime().Add(fineTick - 1) }
	v.tree.Read(v.files["f"], alloc)
	if changed() != 1 {
		t.Error("a file that was read within the tick of its last write is trusted")
	}
	v.tree.now = func() time.Time { return info.ModTime().Add(time.Second) }
	if changed() != 0 {
		t.Error("a file that was not read again is reported again")
	}
	v.tree.Read(v.files["f"], alloc)
	if changed() != 0 {
		t.Error("a file that was read long after its last write is not trusted")
	}
}

func TestStampsOfCoarseClocks(t *testing.T) {
	second := time.Unix(1_700_000_000, 0)
	for _, test := range []struct {
		name              string
		modified, changed time.Time
		now               time.Time
		tick              time.Duration
		racy              bool
	}{
		{"old", second, second, second.Add(3 * time.Second), fineTick, false},
		{"whole seconds", second, second, second.Add(time.Second), fineTick, true},
		{"time put back", second, second.Add(time.Millisecond), second.Add(time.Second), fineTick, false},
		{"changed at once", second, second.Add(time.Millisecond), second.Add(2 * time.Millisecond), fineTick, true},
		{"from another machine", second.Add(1), second.Add(1), second.Add(time.Second), coarseTick, true},
		{"from the future", second.Add(time.Hour), second.Add(1), second.Add(time.Second), fineTick, true},
	} {
		s := status{modified: test.modified.UnixNano(), changed: test.changed.UnixNano()}
		if got := s.stamp(test.now, test.tick)&racy != 0; got != test.racy {
			t.Errorf("%s: racy is %v", test.name, got)
		}
	}
}

// TestTimesPutBack writes to a file and restores its size and time, so that only its change time
// differs.
func TestTimesPutBack(t *testing.T) {
	root := t.TempDir()
	write(t, root, "f", "one")
	v := openView(t, Options{Root: root, NoWatch: true})
	v.tree.now = func() time.Time { return time.Now().Add(time.Hour) } // no stamp is young
	v.update()
	name := filepath.Join(root, "f")
	before, err := v.tree.rootHandle.lstat("f")
	for now := before; err == nil && now.changed == before.changed; now, err = v.tree.rootHandle.lstat("f") {
		write(t, root, "f", "two")
		if err := os.Chtimes(name, time.Time{}, time.Unix(0, before.modified)); err != nil {
			t.Fatal(err)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	v.update()
	v.check()
}

// TestRulesRewritten rewrites rules without changing their folder.
func TestRulesRewritten(t *testing.T) {
	modes(t, func(t *testing.T, noWatch bool) {
		root := t.TempDir()
		write(t, root, gitignore, "none\n")
		write(t, root, "a/x", "")
		write(t, root, "a/y", "")
		v := openView(t, Options{Root: root, NoWatch: noWatch})
		v.tree.now = func() time.Time { return time.Now().Add(time.Hour) } // no stamp is young
		for _, rules := range []string{"x\n", "y # longer\n", "a/\n", "none\n"} {
			v.update()
			v.check()
			write(t, root, gitignore, rules)
		}
		v.update()
		v.check()
	})
}
