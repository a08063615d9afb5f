package tree

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// logged returns a logger and its output.
func logged() (*slog.Logger, *bytes.Buffer) {
	var b bytes.Buffer
	return slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{Level: slog.LevelInfo})), &b
}

// TestTooManyFolders creates more folders than may be watched.
func TestTooManyFolders(t *testing.T) {
	root := t.TempDir()
	for i := range 10 {
		write(t, root, fmt.Sprintf("d%d/f", i), "one")
	}
	log, text := logged()
	v := openView(t, Options{Root: root, Log: log})
	v.tree.limit = 20
	v.update()
	if v.tree.watch == nil {
		t.Fatal("the tree is not watched")
	}
	for i := range 15 {
		write(t, root, fmt.Sprintf("d%d/e%d/f", i, i), "one")
	}
	for range 3 {
		v.update()
		v.check()
	}
	if v.tree.watch != nil || strings.Count(text.String(), "not watched") != 1 {
		t.Errorf("watched: %v, the log says:\n%s", v.tree.watch != nil, text)
	}
	write(t, root, "d3/e3/f", "two")
	v.update()
	v.check()
}

// TestKernelRefuses simulates a kernel that accepts no more watches, and one that creates no
// watcher.
func TestKernelRefuses(t *testing.T) {
	root := t.TempDir()
	write(t, root, "d/f", "one")
	log, text := logged()
	v := openView(t, Options{Root: root, Log: log})
	v.update()
	v.tree.watch.fail(fmt.Errorf("watch folder: %w", unix.ENOSPC))
	for range 3 {
		write(t, root, "e/f", "one")
		v.update()
		v.check()
	}
	if v.tree.watch != nil || strings.Count(text.String(), unix.ENOSPC.Error()) != 1 {
		t.Errorf("watched: %v, the log says:\n%s", v.tree.watch != nil, text)
	}
}

// TestQueueOverflow causes more events than the kernel's queue can hold.
func TestQueueOverflow(t *testing.T) {
	limit := 0
	if text, err := os.ReadFile("/proc/sys/fs/inotify/max_queued_events"); err == nil {
		fmt.Sscan(string(text), &limit)
	}
	if limit == 0 || limit > 20_000 {
		t.Skip("the queue is too long")
	}
	root := t.TempDir()
	write(t, root, "d/f", "one")
	write(t, root, "d/g", "one")
	write(t, root, "d/e/h", "one")
	v := openView(t, Options{Root: root})
	v.update()
	files := [2]*os.File{}
	for i, name := range []string{"d/f", "d/g"} {
		file, err := os.OpenFile(filepath.Join(root, name), os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		files[i] = file
	}
	for i := range limit + 10 { // alternating, so that the kernel cannot merge the events
		files[i%2].WriteAt([]byte("two"), 0)
	}
	os.RemoveAll(filepath.Join(root, "d/e"))
	write(t, root, "d/e/h", "two")
	write(t, root, "d/new/f", "two")
	v.update()
	v.check()
	write(t, root, "d/new/f", "six")
	write(t, root, "d/e/h", "six")
	v.update()
	v.check()
	if v.tree.watch == nil {
		t.Error("the tree is not watched any more")
	}
}

// TestWatchesGo checks that removed folders are no longer watched.
func TestWatchesGo(t *testing.T) {
	root := t.TempDir()
	for i := range 5 {
		write(t, root, fmt.Sprintf("a/b%d/c/f", i), "one")
	}
	v := openView(t, Options{Root: root})
	v.update()
	watches := func(want int) {
		t.Helper()
		if got := len(v.tree.watch.folders); got != want || kernelWatches(t, v.tree.watch.fd) != want {
			t.Errorf("%d watches, %d in the kernel, want %d", got, kernelWatches(t, v.tree.watch.fd), want)
		}
	}
	watches(12)
	os.Rename(filepath.Join(root, "a/b0"), filepath.Join(root, "z"))
	v.update()
	watches(12)
	os.Rename(filepath.Join(root, "a/b1"), filepath.Join(t.TempDir(), "away"))
	os.RemoveAll(filepath.Join(root, "a/b2/c"))
	v.update()
	watches(9)
	write(t, root, gitignore, "a\n")
	v.update()
	watches(3)
	v.check()
	write(t, root, "z/c/f", "two")
	v.update()
	v.check()
}

// kernelWatches returns the number of watches in the kernel.
func kernelWatches(t *testing.T, fd int) int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/self/fdinfo/%d", fd))
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Count(text, []byte("inotify wd:"))
}

// TestSafetySweep changes a file through a name outside the tree, which the watches do not report.
func TestSafetySweep(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	write(t, root, "d/f", "one")
	other := filepath.Join(outside, "f")
	if err := os.Link(filepath.Join(root, "d/f"), other); err != nil {
		t.Skip(err)
	}
	now := time.Now()
	v := openView(t, Options{Root: root})
	v.tree.now = func() time.Time { return now }
	v.update()
	write(t, outside, "f", "other")
	now = now.Add(sweepInterval + 1)
	v.update()
	v.check()
}

// TestSwaps replaces folders by others of the same name in one step.
func TestSwaps(t *testing.T) {
	modes(t, func(t *testing.T, noWatch bool) {
		root := t.TempDir()
		write(t, root, "a/sub/f", "one")
		write(t, root, "b/sub/f", "two")
		v := openView(t, Options{Root: root, NoWatch: noWatch})
		v.update()
		at := func(name string) string { return filepath.Join(root, name) }
		for i := range 5 {
			if err := unix.Renameat2(unix.AT_FDCWD, at("a"), unix.AT_FDCWD, at("b"), unix.RENAME_EXCHANGE); errors.Is(err, unix.EINVAL) {
				t.Skip("the file system cannot swap")
			} else if err != nil {
				t.Fatal(err)
			}
			write(t, root, "a/sub/f", fmt.Sprintf("a%d", i))
			v.update()
			v.check()
			os.Rename(at("a"), at("c"))
			os.Rename(at("b"), at("a"))
			os.Rename(at("c"), at("b"))
			write(t, root, "b/sub/g", fmt.Sprintf("b%d", i))
			v.update()
			v.check()
			os.RemoveAll(at("a"))
			write(t, root, "a/sub/f", "new")
			v.update()
			v.check()
			write(t, root, "a/sub/f", "old")
			v.update()
			v.check()
		}
	})
}
