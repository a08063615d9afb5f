package e2e

import (
	"bytes"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestFullDiskIsLoggedOnce fills the disk of the data folder. Calls that change something must
// fail, the log must not repeat itself for each of them, and all must work again when there is
// space.
func TestFullDiskIsLoggedOnce(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, nil)
	s.ownKeys()
	disk := t.TempDir()
	if err := unix.Mount("tmpfs", disk, "tmpfs", 0, "size=4m"); err != nil {
		t.Skipf("a disk of our own cannot be mounted here: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(disk, unix.MNT_DETACH) })
	w := s.serve("--data", filepath.Join(disk, "data"), "--toolsets", "learning-os,tasks", "--approve", "auto", "--rate-limits", "off")
	add := func() httpAnswer { return w.post("/tools/add_task", `{"user_id":"ada","title":"x"}`, nil) }
	if got := add(); got.status != http.StatusOK {
		t.Fatalf("%d %s", got.status, got.body)
	}
	filler := filepath.Join(disk, "filler")
	if err := os.WriteFile(filler, bytes.Repeat([]byte("x"), 8<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the disk is not full: %v", err)
	}
	failed := 0
	for range 100 {
		w.post("/tools/hello", `{"name":"Ada"}`, nil)
		w.post("/tools/write_memory_entry", entryArgs, nil)
		if got := add(); got.status != http.StatusOK {
			failed++
		}
	}
	if failed < 90 { // the first ones may still fit
		t.Errorf("only %d of 100 writes failed", failed)
	}
	lines := strings.Count(w.stderr.String(), " WRN ") + strings.Count(w.stderr.String(), " ERR ")
	if lines == 0 || lines > 10 {
		t.Errorf("%d lines for 300 calls:\n%s", lines, clip(w.stderr.String()))
	}
	s.check(os.Remove(filler))
	eventually(t, "writes succeed again", func() bool { return add().status == http.StatusOK })
	w.kill()
}
