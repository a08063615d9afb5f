package tree

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
	"testing"

	"github.com/google/go-cmp/cmp"

	"remit/internal/search/unprivilegedtest"
)

// TestReadRefuses replaces a file by something else between the listing and the read.
func TestReadRefuses(t *testing.T) {
	outside := t.TempDir()
	write(t, outside, "secret/f", "secret")
	for name, replace := range map[string]func(folder, file string) error{
		"fifo":               func(_, file string) error { os.Remove(file); makeFIFO(file); return nil },
		"link":               func(_, file string) error { os.Remove(file); return os.Symlink(outside+"/secret/f", file) },
		"link inside":        func(_, file string) error { os.Remove(file); return os.Symlink("../other", file) },
		"folder":             func(_, file string) error { os.Remove(file); return os.Mkdir(file, 0o755) },
		"gone":               func(_, file string) error { return os.Remove(file) },
		"parent link":        func(folder, _ string) error { os.RemoveAll(folder); return os.Symlink(outside+"/secret", folder) },
		"parent link inside": func(folder, _ string) error { os.RemoveAll(folder); return os.Symlink("elsewhere", folder) },
		"parent file": func(folder, _ string) error {
			os.RemoveAll(folder)
			return os.WriteFile(folder, nil, 0o644)
		},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			write(t, root, "secret/f", "public")
			write(t, root, "other", "other")
			write(t, root, "elsewhere/f", "other")
			v := openView(t, Options{Root: root})
			v.update()
			f := v.files["secret/f"]
			if err := replace(filepath.Join(root, "secret"), filepath.Join(root, "secret/f")); err != nil {
				t.Fatal(err)
			}
			if data, err := v.tree.Read(f, alloc); err == nil {
				t.Errorf("read %q", data)
			}
			if file, err := v.tree.Open(f); err == nil {
				file.Close()
				t.Error("opened")
			}
			v.update()
			v.check()
		})
	}
}

func TestReadRefusesWithoutOpenat2(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	write(t, outside, "f", "secret")
	write(t, root, "a/b/f", "public")
	v := openView(t, Options{Root: root})
	v.tree.rootHandle = withoutOpenat2(v.tree.rootHandle)
	v.update()
	if v.texts["a/b/f"] != "public" {
		t.Errorf("read %q", v.texts["a/b/f"])
	}
	os.RemoveAll(filepath.Join(root, "a/b"))
	if err := os.Symlink(outside, filepath.Join(root, "a/b")); err != nil {
		t.Fatal(err)
	}
	if data, err := v.tree.Read(v.files["a/b/f"], alloc); err == nil {
		t.Errorf("read %q", data)
	}
}

// TestReadWhileWritten shrinks and grows files after their size was returned.
func TestReadWhileWritten(t *testing.T) {
	for name, test := range map[string]struct{ now, want string }{
		"shrinks": {"12", "12"}, "grows": {"123456789", "12345"}, "ends": {"", ""},
	} {
		modes(t, func(t *testing.T, noWatch bool) {
			root := t.TempDir()
			write(t, root, "f", "12345")
			v := openView(t, Options{Root: root, NoWatch: noWatch})
			v.noRead = true
			v.update()
			data, err := v.tree.Read(v.files["f"], func(size int64) []byte {
				write(t, root, "f", test.now)
				return make([]byte, size+1)
			})
			if err != nil || string(data) != test.want {
				t.Errorf("%s: %q, %v", name, data, err)
			}
			seen := 0
			v.tree.Update(t.Context(), func(c Change) { seen += len(c.Changed) })
			if seen != 1 {
				t.Errorf("%s: reported %d times", name, seen)
			}
		})
	}
}

func TestReadWithoutBuffer(t *testing.T) {
	root := t.TempDir()
	write(t, root, "f", "12345")
	v := openView(t, Options{Root: root})
	v.noRead = true
	v.update()
	data, err := v.tree.Read(v.files["f"], func(size int64) []byte {
		if size != 5 {
			t.Errorf("size %d", size)
		}
		return nil
	})
	if data != nil || err != nil {
		t.Errorf("%q, %v", data, err)
	}
	file, err := v.tree.Open(v.files["f"])
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if all, err := io.ReadAll(file); err != nil || string(all) != "12345" {
		t.Errorf("%q, %v", all, err)
	}
}

func TestRootGoneAndBack(t *testing.T) {
	modes(t, func(t *testing.T, noWatch bool) {
		root := filepath.Join(t.TempDir(), "root")
		write(t, root, "a/f", "one")
		write(t, root, "a/g", "one")
		v := openView(t, Options{Root: root, NoWatch: noWatch})
		v.update()
		if err := os.Rename(root, root+"-away"); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			err := v.tree.Update(t.Context(), func(Change) { t.Error("reported") })
			if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "root folder is gone") {
				t.Errorf("update: %v", err)
			}
		}
		write(t, root, "a/f", "two")
		write(t, root, "b/h", "two")
		v.update()
		v.check()
		write(t, root, "a/f", "six")
		v.update()
		v.check()
		os.RemoveAll(root)
		os.Rename(root+"-away", root)
		v.update()
		v.check()
		if diff := cmp.Diff([]string{"a/f", "a/g"}, v.paths()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestRootIsNotAFolder(t *testing.T) {
	root := t.TempDir()
	write(t, root, "f", "")
	for _, name := range []string{"f", "none"} {
		if _, err := Open(Options{Root: filepath.Join(root, name)}); err == nil {
			t.Errorf("%s was opened", name)
		}
	}
}

func TestClosed(t *testing.T) {
	root := t.TempDir()
	write(t, root, "f", "")
	v := newView(t, Options{Root: root})
	v.update()
	if err := v.tree.Close(); err != nil {
		t.Error(err)
	}
	if err := v.tree.Update(t.Context(), nil); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("update: %v", err)
	}
	if _, err := v.tree.Read(v.files["f"], alloc); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("read: %v", err)
	}
	if err := v.tree.Close(); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("close: %v", err)
	}
}

func TestNoPermission(t *testing.T) {
	if unprivilegedtest.Rerun(t) {
		return
	}
	modes(t, func(t *testing.T, noWatch bool) {
		root := t.TempDir()
		write(t, root, "closed/sub/f", "text")
		write(t, root, "open/f", "text")
		v := openView(t, Options{Root: root, NoWatch: noWatch})
		v.update()
		closed := filepath.Join(root, "closed")
		os.Chmod(closed, 0)
		defer os.Chmod(closed, 0o755)
		v.update()
		if diff := cmp.Diff([]string{"open/f"}, v.paths()); diff != "" {
			t.Error(diff)
		}
		os.Chmod(closed, 0o755)
		os.Chmod(filepath.Join(root, "open/f"), 0)
		v.update()
		v.check()
		os.Chmod(filepath.Join(root, "open/f"), 0o644)
		v.update()
		v.check()
	})
}

// TestInterrupted interrupts each Update a little later than the one before, until one succeeds.
func TestInterrupted(t *testing.T) {
	modes(t, func(t *testing.T, noWatch bool) {
		root := t.TempDir()
		for i := range 200 {
			write(t, root, fmt.Sprintf("d%d/e%d/f%d", i%7, i%5, i), "text")
		}
		v := openView(t, Options{Root: root, NoWatch: noWatch})
		finish := func() {
			for asked := 1; ; asked++ {
				err := v.tree.Update(endsAfter(asked), v.take)
				if err == nil {
					break
				}
				if !errors.Is(err, context.Canceled) {
					t.Fatal(err)
				}
			}
			v.update()
			v.check()
		}
		finish()
		os.RemoveAll(filepath.Join(root, "d1"))
		write(t, root, "d2/e2/"+gitignore, "f*\n")
		write(t, root, "d3/e3/f3", "TEXT")
		write(t, root, "d9/e9/f9", "text")
		finish()
		write(t, root, gitignore, "e4\n")
		finish()
	})
}

// TestDeep has paths that are too long for a system call.
func TestDeep(t *testing.T) {
	modes(t, func(t *testing.T, noWatch bool) {
		root, depth := t.TempDir(), 100
		if os.Getenv("REMIT_FULL") == "true" {
			depth = 2000
		}
		name := strings.Repeat("n", 255)
		folder, err := os.OpenRoot(root)
		if err != nil {
			t.Fatal(err)
		}
		for range depth {
			next, err := deeper(folder, name)
			if err != nil {
				t.Fatal(err)
			}
			folder = next
		}
		defer folder.Close()
		v := openView(t, Options{Root: root, NoWatch: noWatch})
		long := strings.Repeat(name+"/", depth) + "f"
		for _, content := range []string{"one", "two"} {
			if err := folder.WriteFile("f", []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
			v.update()
			if v.files[long] == nil || len(v.files) != 1 {
				t.Fatalf("%d files, the deepest is missing", len(v.files))
			}
			if v.texts[long] != content {
				t.Errorf("%q was read", v.texts[long])
			}
		}
	})
}

// deeper creates a folder in another and opens it.
func deeper(folder *os.Root, name string) (*os.Root, error) {
	defer folder.Close()
	if err := folder.Mkdir(name, 0o755); err != nil {
		return nil, err
	}
	return folder.OpenRoot(name)
}

// TestOdd lists odd names, and checks that nothing leads in circles.
func TestOdd(t *testing.T) {
	root := t.TempDir()
	names := []string{"\xff\xfe/\x80", "new\nline", " ", "-f", "a\\b", "build/..x", "sub/build", "sub/.environment", "ü"}
	for _, name := range names {
		write(t, root, name, name)
	}
	write(t, root, "sub/dist/f", "")
	write(t, root, "sub/.env", "")
	write(t, root, "sub/.env.local/f", "")
	write(t, root, ".env.production", "")
	for name, to := range map[string]string{"loop": ".", "sub/up": "..", "sub/dist2": "dist", "none": "nowhere"} {
		if err := os.Symlink(to, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	names = append(slices.DeleteFunc(names, func(name string) bool { return strings.HasPrefix(name, "build/") }), "loop", "sub/up", "sub/dist2", "none")
	slices.Sort(names)
	v := openView(t, Options{Root: root})
	v.update()
	if diff := cmp.Diff(names, v.paths()); diff != "" {
		t.Error(diff)
	}
	for _, f := range v.files {
		if _, err := v.tree.Read(f, alloc); (err != nil) != f.Link {
			t.Errorf("read %q: %v", f.Path, err)
		}
	}
}

func TestSkip(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"data/f", "a/data", "a/f", "b"} {
		write(t, root, name, "")
	}
	v := openView(t, Options{Root: root, Skip: func(path string, folder bool) bool { return path == "data" && folder || path == "b" && !folder }})
	v.update()
	if diff := cmp.Diff([]string{"a/data", "a/f"}, v.paths()); diff != "" {
		t.Error(diff)
	}
}
