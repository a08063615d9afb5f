//go:build unix

package blob

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestEitherWayBeneath checks that opening one path element at a time, for systems without the
// single call, leads to the same file or to the same failure.
func TestEitherWayBeneath(t *testing.T) {
	dir := t.TempDir()
	for _, err := range []error{
		os.MkdirAll(filepath.Join(dir, "in/a/b"), 0o755), os.WriteFile(filepath.Join(dir, "in/a/b/c"), []byte("c"), 0o644),
		os.WriteFile(filepath.Join(dir, "secret"), []byte("s"), 0o644), os.Symlink("../secret", filepath.Join(dir, "in/out")),
		os.Symlink("a", filepath.Join(dir, "in/link")), os.Symlink("..", filepath.Join(dir, "in/up")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	root, err := openFolder(filepath.Join(dir, "in"))
	if err != nil {
		t.Fatal(err)
	}
	defer root.close()
	for way, open := range map[string]func(int, string, int) (int, error){"one call": openBeneath, "steps": walkBeneath} {
		for name, want := range map[string]string{
			"a/b/c": "content c", "a/b": "a folder", "a": "a folder", "a/b/d": "nothing", "a/d/c": "nothing", "a/b/c/d": "misplaced", "out": "misplaced", "link": "misplaced",
			"link/b/c": "misplaced", "up/secret": "misplaced",
		} {
			if got := whatIs(open(root.fd, name, unix.O_RDONLY)); got != want {
				t.Errorf("%s: %s is %s, want %s", way, name, got, want)
			}
		}
	}
}

func whatIs(fd int, err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "nothing"
	case isMisplaced(err):
		return "misplaced"
	case err != nil:
		return err.Error()
	}
	file := os.NewFile(uintptr(fd), "")
	defer file.Close()
	content, err := io.ReadAll(file)
	if isMisplaced(err) {
		return "a folder"
	}
	return "content " + string(content)
}
