package blob_test

import (
	"os"
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

// Root may access any file whatever its mode, so the test drops those rights. Linux keeps the user
// id for file access per thread, so the test locks its thread until the id is restored.
func TestAFolderOfAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can play another user")
	}
	dir, err := os.MkdirTemp("", "blob")
	check(t, err)
	defer os.RemoveAll(dir)
	check(t, os.Chmod(dir, 0o755))
	write(t, dir, "books/b/there", "old")
	const nobody = 65534
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before, err := unix.SetfsuidRetUid(nobody)
	check(t, err)
	defer unix.SetfsuidRetUid(before) // cannot fail for root
	mustFail(t, openDisk(t, dir), os.ErrPermission)
}
