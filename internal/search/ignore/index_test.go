package ignore

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// paths returns the tracked paths.
func (t *Tracked) paths() []string {
	var all []string
	for i := range t.Len() {
		all = append(all, t.path(i))
	}
	return all
}

// TestIndexes reads indexes that git writes, in each of their formats.
func TestIndexes(t *testing.T) {
	needGit(t)
	long := strings.Repeat("long/", 40) + strings.Repeat("n", 200)
	names := []string{"b", "a-b", "a/b", "a/b.c/d", "a.b", "é", "sub/x", "sub/y/z", "suby", long}
	if runtime.GOOS == "linux" {
		names = append(names, "\xff/\x01")
	}
	for _, tc := range []struct {
		name string
		init []string
		run  [][]string
	}{
		{"version 2", nil, nil},
		{"version 3", nil, [][]string{{"update-index", "--skip-worktree", "a/b"}, {"rm", "-q", "--cached", "b"}, {"add", "-N", "b"}}},
		{"version 4", nil, [][]string{{"update-index", "--index-version", "4"}, {"rm", "-q", "--cached", "b"}, {"add", "-N", "b"}}},
		{"sha256", []string{"--object-format=sha256"}, nil},
		{"sha256, version 4", []string{"--object-format=sha256"}, [][]string{{"update-index", "--index-version", "4"}}},
		{"split", nil, [][]string{{"update-index", "--split-index"}, {"update-index", "--chmod=+x", "b"}}},
		{"untracked cache", nil, [][]string{{"update-index", "--untracked-cache"}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			home, top := realDir(t), realDir(t)
			git(t, home, top, nil, append([]string{"init", "-q"}, tc.init...)...)
			for _, name := range names {
				write(t, filepath.Join(top, name), name)
			}
			git(t, home, top, nil, "add", ".")
			write(t, filepath.Join(top, "other"), "")
			id := strings.TrimSpace(string(git(t, home, top, nil, "hash-object", "other")))
			entries := "100644 " + id + "\t" + strings.Repeat("very/long/", 800) + "name\n160000 " + id + "\tmodule\n"
			git(t, home, top, []byte(entries), "update-index", "--index-info")
			for _, args := range tc.run {
				git(t, home, top, nil, args...)
			}
			compareTracked(t, home, top)
			compareTracked(t, home, filepath.Join(top, "sub"))
		})
	}
}

func compareTracked(t *testing.T, home, root string) {
	t.Helper()
	want := strings.FieldsFunc(string(git(t, home, root, nil, "ls-files", "-z", "-c")), func(r rune) bool { return r == 0 })
	want = slices.DeleteFunc(want, func(path string) bool { return path == "module" })
	slices.Sort(want)
	tracked := open(t, root, home).Tracked()
	if got := tracked.paths(); !slices.Equal(got, want) {
		t.Errorf("tracked are %.200q, want %.200q", got, want)
	}
	for _, path := range want {
		if !tracked.Has(path) || tracked.Has(path+"x") || tracked.Has(path+"/") || tracked.Beneath(path+"/x") {
			t.Errorf("%.50q is not tracked, or a missing file is", path)
		}
		for dir := filepath.Dir(path); dir != "."; dir = filepath.Dir(dir) {
			if !tracked.Beneath(filepath.ToSlash(dir)) || tracked.Has(dir) {
				t.Errorf("no tracked file is in %.50q", dir)
			}
		}
	}
}

// TestSparseIndex checks that a folder that is a single entry of an index has no files.
func TestSparseIndex(t *testing.T) {
	needGit(t)
	home, top := realDir(t), realDir(t)
	write(t, filepath.Join(home, "config"), "[user]\nname=x\nemail=x@example.org\n")
	git(t, home, top, nil, "init", "-q")
	for _, name := range []string{"in/a", "out/b", "top"} {
		write(t, filepath.Join(top, name), name)
	}
	git(t, home, top, nil, "add", ".")
	git(t, home, top, nil, "commit", "-q", "-m", "x")
	git(t, home, top, nil, "sparse-checkout", "set", "--cone", "--sparse-index", "in")
	data, err := os.ReadFile(filepath.Join(top, ".git/index"))
	if err != nil || !bytes.Contains(data, []byte("out/\x00")) {
		t.Skipf("this git writes no sparse index (%v)", err)
	}
	if got := open(t, top, home).Tracked().paths(); !slices.Equal(got, []string{"in/a", "top"}) {
		t.Errorf("tracked are %q", got)
	}
}

// anIndex returns a minimal index of version 2.
func anIndex(names ...string) []byte {
	data := binary.BigEndian.AppendUint32([]byte("DIRC\x00\x00\x00\x02"), uint32(len(names)))
	for _, name := range names {
		e := make([]byte, entryHeader+22, 200)
		binary.BigEndian.PutUint32(e[entryMode:], modeFile)
		e = append(e, name...)
		data = append(data, append(e, make([]byte, 8-len(e)%8)...)...)
	}
	return append(data, make([]byte, 20)...)
}

func noShared(string) []byte { return nil }

// TestBrokenIndex checks that an invalid index has no files.
func TestBrokenIndex(t *testing.T) {
	whole := anIndex("a", "b/c", "b/c", "d")
	if got := readIndex(whole, 20, "", false, noShared).paths(); !slices.Equal(got, []string{"a", "b/c", "d"}) {
		t.Fatalf("tracked are %q", got)
	}
	if got := readIndex(anIndex("B", "a", "C"), 20, "", true, noShared); !slices.Equal(got.paths(), []string{"a", "b", "c"}) || !got.Has("A") || got.Has("d") {
		t.Errorf("ignoring case, tracked are %q", got.paths())
	}
	// Without its padding the last entry could still be read.
	for size := range len(whole) - 20 - 7 {
		if got := readIndex(whole[:size], 20, "", false, noShared); got != nil {
			t.Errorf("%d bytes of an index have %q", size, got.paths())
		}
	}
	for _, change := range []struct {
		at    int
		value byte
	}{{0, 'X'}, {7, 1}, {7, 5}, {8, 255}, {11, 100}} {
		broken := bytes.Clone(whole)
		broken[change.at] = change.value
		if got := readIndex(broken, 20, "", false, noShared); got != nil {
			t.Errorf("byte %d changed: %q", change.at, got.paths())
		}
	}
}

func FuzzIndex(f *testing.F) {
	f.Add(anIndex("a", "b/c"), false, "")
	four := anIndex("a", "b")
	four[7] = 4
	f.Add(four, true, "b/")
	f.Add(append(anIndex("x"), "link\x00\x00\x00\x1401234567890123456789"...), false, "")
	f.Fuzz(func(t *testing.T, data []byte, sha256 bool, folder string) {
		id := 20
		if sha256 {
			id = 32
		}
		tracked := readIndex(data, id, folder, len(data)%2 == 0, func(string) []byte { return data })
		paths := tracked.paths()
		if !slices.IsSorted(paths) || len(slices.Compact(slices.Clone(paths))) != len(paths) {
			t.Errorf("%q are not in order", paths)
		}
		for _, path := range paths {
			if !tracked.Has(path) {
				t.Errorf("%q is not tracked", path)
			}
		}
	})
}
