package tree

import (
	"bytes"
	"context"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"remit/internal/search/ignore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// modes runs a test with watches and with sweeps.
func modes(t *testing.T, test func(t *testing.T, noWatch bool)) {
	t.Run("watch", func(t *testing.T) { test(t, false) })
	t.Run("sweep", func(t *testing.T) { test(t, true) })
}

// failer is the part of testing.TB that views use. rapid's T implements it too.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// view records the reports of a tree and the texts of its files.
type view struct {
	failer
	tree   *Tree
	files  map[string]*File
	texts  map[string]string // texts of files that were read and not reported since
	noRead bool              // do not read files
}

// noEnv hides the git configuration of the user who runs the tests.
func noEnv(string) (string, bool) { return "", false }

func newView(f failer, o Options) *view {
	if o.Env == nil {
		o.Env = noEnv
	}
	tree, err := Open(o)
	if err != nil {
		f.Fatalf("open: %v", err)
	}
	return &view{failer: f, tree: tree, files: map[string]*File{}, texts: map[string]string{}}
}

// openView opens a view of a folder. It is closed when the test ends.
func openView(t *testing.T, o Options) *view {
	v := newView(t, o)
	t.Cleanup(func() { v.tree.Close() })
	return v
}

// take applies a change, and fails if it contradicts earlier reports.
func (v *view) take(c Change) {
	v.Helper()
	for _, f := range c.Removed {
		if v.files[f.Path] != f {
			v.Fatalf("%q was removed but did not exist", f.Path)
		}
		delete(v.files, f.Path)
		delete(v.texts, f.Path)
	}
	for _, f := range c.Added {
		if v.files[f.Path] != nil {
			v.Fatalf("%q was added but already existed", f.Path)
		}
		v.files[f.Path] = f
	}
	for _, f := range c.Changed {
		if v.files[f.Path] != f {
			v.Fatalf("%q was changed but did not exist", f.Path)
		}
		delete(v.texts, f.Path)
	}
}

// update updates the tree, and then reads all files with changes.
func (v *view) update() {
	v.Helper()
	if err := v.tree.Update(context.Background(), v.take); err != nil {
		v.Fatalf("update: %v", err)
	}
	if v.noRead {
		return
	}
	for name, f := range v.files {
		if _, known := v.texts[name]; known || f.Link {
			continue
		}
		if text, err := v.tree.Read(f, alloc); err == nil {
			v.texts[name] = string(text)
		} else {
			v.texts[name] = "!"
		}
	}
}

func alloc(size int64) []byte { return make([]byte, size+1) }

// paths returns the sorted paths of the view.
func (v *view) paths() []string { return slices.Sorted(maps.Keys(v.files)) }

// check compares the view with a plain walk, and the texts with the files.
func (v *view) check() {
	v.Helper()
	root := v.tree.o.Root
	if diff := cmp.Diff(plainWalk(root), v.paths()); diff != "" {
		v.Fatalf("files differ from a plain walk (-walk +tree):\n%s", diff)
	}
	for name, known := range v.texts {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			text = []byte("!")
		}
		if !bytes.Equal(text, []byte(known)) {
			v.Fatalf("%q holds %q, and the view has %q", name, text, known)
		}
	}
}

// plainWalk lists what git would list, in the simplest way.
func plainWalk(root string) []string {
	var paths []string
	var walk func(base, folder string, repo *ignore.Repository, above *ignore.Rules, only bool)
	walk = func(base, folder string, repo *ignore.Repository, above *ignore.Rules, only bool) {
		entries, err := os.ReadDir(filepath.Join(root, folder))
		if err != nil {
			return
		}
		if folder != "" && isRepository(filepath.Join(root, folder)) {
			repo, _ = ignore.Open(filepath.Join(root, folder), noEnv)
			base, above = folder+"/", repo.Rules()
		}
		var content []byte
		if info, err := os.Lstat(filepath.Join(root, folder, gitignore)); err == nil && info.Mode().IsRegular() {
			content, _ = os.ReadFile(filepath.Join(root, folder, gitignore))
		}
		within := func(name string) string { return strings.TrimPrefix(name, base) }
		rules := above.Enter(strings.TrimSuffix(within(folder+"/"), "/"), content)
		for _, e := range entries {
			name := path.Join(folder, e.Name())
			ignored := only || rules.Ignores(within(name), e.IsDir())
			switch mode := e.Type(); {
			case e.Name() == git, excluded([]byte(e.Name())), mode.IsDir() && excludedFolder([]byte(e.Name())):
			case mode.IsDir() && (!ignored || repo.Tracked().Beneath(within(name))):
				walk(base, name, repo, rules, ignored)
			case (mode.IsRegular() || mode&os.ModeSymlink != 0) && (!ignored || repo.Tracked().Has(within(name))):
				paths = append(paths, name)
			}
		}
	}
	repo, err := ignore.Open(root, noEnv)
	if err != nil {
		return paths
	}
	walk("", "", repo, repo.Rules(), false)
	slices.Sort(paths)
	return paths
}

func isRepository(folder string) bool {
	if _, err := os.Lstat(filepath.Join(folder, git)); err != nil {
		return false
	}
	repo, err := ignore.Open(folder, noEnv)
	return err == nil && isTop(repo, folder)
}

// countdown is a context that ends after a number of calls of Err.
type countdown struct {
	context.Context
	left atomic.Int64
}

func endsAfter(asked int) *countdown {
	c := &countdown{Context: context.Background()}
	c.left.Store(int64(asked))
	return c
}

func (c *countdown) Err() error {
	if c.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// write writes a file and creates its folders.
func write(t failer, root, name, content string) {
	t.Helper()
	full := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		t.Fatalf("make folder: %v", err)
	}
	if err := os.WriteFile(full, []byte(content), 0o644); err != nil {
		t.Fatalf("write: %v", err)
	}
}
