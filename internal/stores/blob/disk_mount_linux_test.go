package blob_test

import (
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// mountSmall mounts a new file system of 2 MiB and returns its folder.
func mountSmall(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=2m"); err != nil {
		t.Skipf("a disk of our own cannot be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func TestADiskThatIsReadOnly(t *testing.T) {
	dir := mountSmall(t)
	write(t, dir, "books/b/there", "old")
	if err := unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Skipf("a disk cannot be made read-only here: %v", err)
	}
	mustFail(t, openDisk(t, dir), syscall.EROFS)
}

// TestAFolderThatCannotBeWritten: root may write whatever the modes of the folders are, so the test
// accesses them as another user then. Linux keeps that user per thread, so the test locks its
// thread until the user is restored.
func TestAFolderThatCannotBeWritten(t *testing.T) {
	dir, err := os.MkdirTemp("", "blob")
	check(t, err)
	t.Cleanup(func() { check(t, os.RemoveAll(dir)) })
	write(t, dir, "books/b/there", "old")
	for _, folder := range []string{"books/b", "books", "."} {
		host := filepath.Join(dir, folder)
		check(t, os.Chmod(host, 0o555))
		t.Cleanup(func() { check(t, os.Chmod(host, 0o755)) })
	}
	if os.Geteuid() == 0 {
		const nobody = 65534
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		before, err := unix.SetfsuidRetUid(nobody)
		check(t, err)
		defer unix.SetfsuidRetUid(before) // cannot fail for root
	}
	mustFail(t, openDisk(t, dir), os.ErrPermission)
}
