package tree

import (
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestModel makes random changes to a tree, and after each Update compares the reports with a plain
// walk.
func TestModel(t *testing.T) {
	modes(t, func(t *testing.T, noWatch bool) {
		scratch, outside := t.TempDir(), t.TempDir()
		// The kernel is slow to end watches, so the test does not wait for that before it creates
		// the next tree.
		var ending sync.WaitGroup
		defer ending.Wait()
		rapid.Check(t, func(rt *rapid.T) {
			root, err := os.MkdirTemp(scratch, "")
			if err != nil {
				rt.Fatal(err)
			}
			defer os.RemoveAll(root)
			v := newView(rt, Options{Root: root, NoWatch: noWatch})
			defer ending.Go(func() { v.tree.Close() })
			m := &model{T: rt, root: root, outside: outside}
			for range rapid.IntRange(1, 12).Draw(rt, "updates") {
				for range rapid.IntRange(0, 6).Draw(rt, "acts") {
					m.act()
				}
				if rapid.Bool().Draw(rt, "interrupted") {
					_ = v.tree.Update(endsAfter(rapid.IntRange(1, 8).Draw(rt, "after")), v.take)
				}
				v.update()
				v.check()
			}
		})
	})
}

// model makes random changes to files. Whether they succeed does not matter.
type model struct {
	*rapid.T
	root    string
	outside string // target of links, which may therefore be written to
}

func (m *model) folder() string {
	folder := ""
	for range rapid.IntRange(0, 3).Draw(m.T, "depth") {
		folder = path.Join(folder, rapid.SampledFrom([]string{"a", "b", "a.d", "build", "\xff"}).Draw(m.T, "folder"))
	}
	return folder
}

func (m *model) name() string {
	return path.Join(m.folder(), rapid.SampledFrom([]string{"a", "b", "x", "y", "y.log", ".env.x", "build", "\xfe"}).Draw(m.T, "name"))
}

func (m *model) at(name string) string { return filepath.Join(m.root, name) }

func (m *model) content() []byte {
	return []byte(rapid.SampledFrom([]string{"one", "two", "six", "", "longer"}).Draw(m.T, "content"))
}

func (m *model) act() {
	acts := map[string]func(){
		"write":   func() { put(m.at(m.name()), os.O_TRUNC, m.content()) },
		"write2":  func() { put(m.at(m.name()), os.O_TRUNC, m.content()) },
		"replace": m.replace,
		"append":  m.append,
		"truncate": func() {
			os.Truncate(m.at(m.name()), rapid.Int64Range(0, 4).Draw(m.T, "size"))
		},
		"rename":    func() { os.Rename(m.at(m.name()), m.at(m.name())) },
		"move":      func() { os.Rename(m.at(m.folder()), m.at(m.folder())) },
		"remove":    func() { os.Remove(m.at(m.name())) },
		"removeAll": m.removeAll,
		"mkdir":     func() { os.MkdirAll(m.at(m.folder()), 0o755) },
		"mkdir2":    func() { os.MkdirAll(m.at(m.folder()), 0o755) },
		"symlink": func() {
			os.Symlink(rapid.SampledFrom([]string{".", "a", "../x", m.outside}).Draw(m.T, "to"), m.at(m.name()))
		},
		"chmod": func() {
			os.Chmod(m.at(m.name()), os.FileMode(rapid.SampledFrom([]int{0o700, 0o755}).Draw(m.T, "mode")))
		},
		"times":   m.times,
		"ignore":  m.ignore,
		"ignore2": m.ignore,
		"git":     m.git,
		"away":    m.awayAndBack,
	}
	acts[rapid.SampledFrom(slices.Sorted(maps.Keys(acts))).Draw(m.T, "act")]()
}

// replace writes a new file and renames it over an old one.
func (m *model) replace() {
	name := m.at(m.name())
	if os.WriteFile(m.at("a~"), m.content(), 0o644) == nil && os.Rename(m.at("a~"), name) != nil {
		os.Remove(m.at("a~"))
	}
}

func (m *model) append() {
	put(m.at(m.name()), os.O_APPEND, m.content())
}

// put writes a file. It does not block if that is a FIFO.
func put(name string, flag int, content []byte) {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|syscall.O_NONBLOCK|flag, 0o644)
	if err == nil {
		f.Write(content)
		f.Close()
	}
}

func (m *model) removeAll() {
	if folder := m.folder(); folder != "" {
		os.RemoveAll(m.at(folder))
	}
}

// times writes a file and restores its old time.
func (m *model) times() {
	name := m.at(m.name())
	info, err := os.Lstat(name)
	if err != nil || !info.Mode().IsRegular() {
		return
	}
	put(name, os.O_TRUNC, m.content())
	os.Chtimes(name, time.Time{}, info.ModTime())
}

func (m *model) ignore() {
	rules := rapid.SampledFrom([]string{"", "x\n", "*.log\n!y.log\n", "a/\n", "/b\n", "*\n!a\n!a/**\n", "a/*\n!a/x\n", ".gitignore\n"}).Draw(m.T, "rules")
	name := m.at(path.Join(m.folder(), gitignore))
	if rules == "" {
		os.Remove(name)
		return
	}
	os.WriteFile(name, []byte(rules), 0o644)
}

// git creates or removes a repository.
func (m *model) git() {
	folder := m.at(path.Join(m.folder(), git))
	if os.RemoveAll(folder) == nil && rapid.Bool().Draw(m.T, "repository") && os.Mkdir(folder, 0o755) == nil {
		os.MkdirAll(filepath.Join(folder, "objects"), 0o755)
		os.MkdirAll(filepath.Join(folder, "refs"), 0o755)
		os.WriteFile(filepath.Join(folder, "HEAD"), []byte("ref: refs/heads/main\n"), 0o644)
	}
}

// awayAndBack moves a folder out of the tree, writes to it there, and moves it back.
func (m *model) awayAndBack() {
	folder := m.at(m.folder())
	away := m.root + "-away"
	if folder == m.root || os.Rename(folder, away) != nil {
		return
	}
	put(filepath.Join(away, "x"), os.O_TRUNC, m.content())
	os.MkdirAll(filepath.Join(away, "b"), 0o755)
	os.Rename(away, folder)
	os.RemoveAll(away)
}
