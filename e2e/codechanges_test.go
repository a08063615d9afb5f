package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestSearchSeesChangedFiles checks that a search sees every change made right before it: 1,000
// changes in a row, with and without file system events.
func TestSearchSeesChangedFiles(t *testing.T) {
	t.Parallel()
	for _, watch := range []string{"on", "off"} {
		t.Run("watch "+watch, func(t *testing.T) {
			t.Parallel()
			s := newWorkspace(t, nil)
			for n := range 200 {
				s.write(fmt.Sprintf("src/module%d/file%d.go", n%20, n), fmt.Sprintf("package module\n\n// nothing %d\n", n))
			}
			server := s.stdio("--toolsets", "context", "--rate-limits", "off", "--watch", watch)
			changes := &changes{s: s, server: server, holds: map[string]string{}}
			for n := range 200 { // five changes each
				changes.change(n)
			}
		})
	}
}

// changes changes files, and searches after each change.
type changes struct {
	s      *workspace
	server *stdioServer
	holds  map[string]string // the word in each file
}

func (c *changes) change(n int) {
	c.s.t.Helper()
	name := fmt.Sprintf("src/module%d/new%d.go", n%25, n%50)
	// All of the same length, so that file sizes do not reveal a change.
	word := func(step int) string { return fmt.Sprintf("needle%05d%d", n, step) }
	c.write(name, word(1))
	c.write(name, word(2))
	other := fmt.Sprintf("src/other%d/%d.go", n%3, n)
	c.s.check(os.MkdirAll(filepath.Dir(c.s.path(other)), 0o755))
	c.s.check(os.Rename(c.s.path(name), c.s.path(other)))
	delete(c.holds, name)
	c.holds[other] = word(2)
	c.search(word(2))
	draft := c.s.path(other) + ".tmp"
	c.s.check(os.WriteFile(draft, []byte(word(3)+"\n"), 0o644))
	c.s.check(os.Rename(draft, c.s.path(other)))
	c.holds[other] = word(3)
	c.search(word(2))
	c.search(word(3))
	if n%2 == 0 {
		c.s.check(os.Remove(c.s.path(other)))
	} else {
		c.s.check(os.RemoveAll(filepath.Dir(c.s.path(other))))
		for file := range c.holds {
			if filepath.Dir(file) == filepath.Dir(other) {
				delete(c.holds, file)
			}
		}
	}
	delete(c.holds, other)
	c.search(word(3))
}

func (c *changes) write(name, word string) {
	c.s.t.Helper()
	c.s.write(name, word+"\n")
	c.holds[name] = word
	c.search(word)
}

// search searches for a word, and expects the files that contain it.
func (c *changes) search(word string) {
	c.s.t.Helper()
	var want, got []string
	for file, holds := range c.holds {
		if holds == word {
			want = append(want, file)
		}
	}
	slices.Sort(want)
	for _, f := range grep(c.server, map[string]any{"pattern": word, "output": "files"}).Files {
		got = append(got, f.File)
	}
	if !slices.Equal(got, want) {
		c.s.t.Fatalf("found %s in %v, want %v", word, got, want)
	}
}

// TestSearchSeesChangedIgnoreRules checks that a search applies changed ignore files.
func TestSearchSeesChangedIgnoreRules(t *testing.T) {
	t.Parallel()
	for _, watch := range []string{"on", "off"} {
		t.Run("watch "+watch, func(t *testing.T) {
			t.Parallel()
			s := newWorkspace(t, map[string]string{"a.txt": "needle\n", "sub/b.txt": "needle\n", "sub/deep/c.txt": "needle\n"})
			server := s.stdio("--toolsets", "context", "--rate-limits", "off", "--watch", watch)
			expect := func(want ...string) {
				t.Helper()
				var got []string
				for _, f := range grep(server, map[string]any{"pattern": "needle", "output": "files"}).Files {
					got = append(got, f.File)
				}
				if !slices.Equal(got, want) {
					t.Fatalf("got %v, want %v", got, want)
				}
			}
			expect("a.txt", "sub/b.txt", "sub/deep/c.txt")
			s.write(".gitignore", "deep/\n")
			expect("a.txt", "sub/b.txt")
			s.write("sub/.gitignore", "*.txt\n")
			expect("a.txt")
			s.write(".gitignore", "a.*\n")
			expect()
			s.check(os.Remove(s.path("sub/.gitignore")))
			expect("sub/b.txt", "sub/deep/c.txt")
			s.check(os.Remove(s.path(".gitignore")))
			expect("a.txt", "sub/b.txt", "sub/deep/c.txt")
		})
	}
}
