package app

import (
	"os"
	"path/filepath"
	"testing"

	"remit/internal/filelock"
	"remit/internal/stores/workspace"
)

// newTestData returns a data folder in a workspace.
func newTestData(t *testing.T) *dataFolder {
	t.Helper()
	root, err := workspace.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return &dataFolder{path: filepath.Join(t.TempDir(), ".remit"), root: root}
}

// TestProcessFile checks that a process is seen to run until it ends, however it ends.
func TestProcessFile(t *testing.T) {
	data := newTestData(t)
	self, ends, killed := newProcess(data), newProcess(data), newProcess(data)
	if !self.hasEnded("UNKNOWN") {
		t.Error("a process without a file runs")
	}
	for _, p := range []*process{self, ends, killed} {
		if err := p.begin(); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range []*process{self, ends, killed} {
		if self.hasEnded(p.id) {
			t.Error("a process that runs has ended")
		}
	}
	if err := ends.end(); err != nil {
		t.Error(err)
	}
	if err := killed.file.Close(); err != nil { // the system releases the lock
		t.Fatal(err)
	}
	killed.file = nil
	next := newProcess(data)
	if err := next.begin(); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(filepath.Join(data.path, processFolder)); err != nil || len(entries) != 2 {
		t.Errorf("%v, %v; want the files of the two processes that run", entries, err)
	}
	for id, want := range map[string]bool{self.id: false, next.id: false, ends.id: true, killed.id: true, "../audit": false} {
		if err := os.MkdirAll(filepath.Join(data.path, "audit"), 0o700); err != nil {
			t.Fatal(err)
		}
		if got := next.hasEnded(id); got != want {
			t.Errorf("%s has ended: %v, want %v", id, got, want)
		}
	}
	for _, p := range []*process{self, next} {
		if err := p.end(); err != nil {
			t.Error(err)
		}
	}
}

// TestProcessFileRemovedBeforeLock checks that a process makes a new file if another process has
// removed the first one before it was locked.
func TestProcessFileRemovedBeforeLock(t *testing.T) {
	data := newTestData(t)
	p := newProcess(data)
	file, err := p.open(p.id)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if free, err := filelock.TryLock(file); !free || err != nil {
		t.Fatal(free, err)
	}
	begun := make(chan error)
	go func() { begun <- p.begin() }()
	if err := os.Remove(p.path(p.id)); err != nil {
		t.Fatal(err)
	}
	if err := filelock.Unlock(file); err != nil {
		t.Fatal(err)
	}
	if err := <-begun; err != nil {
		t.Fatal(err)
	}
	if newProcess(data).hasEnded(p.id) {
		t.Error("the file that is locked is not the one that others see")
	}
	if err := p.end(); err != nil {
		t.Error(err)
	}
}
