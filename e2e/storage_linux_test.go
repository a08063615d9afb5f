package e2e

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// bind mounts a folder at another path, or skips the test if this process may not mount.
func (s *storages) bind(from, to string) {
	s.t.Helper()
	if err := unix.Mount(from, to, "", unix.MS_BIND, ""); err != nil {
		s.t.Skipf("a volume cannot be mounted here: %v", err)
	}
	s.t.Cleanup(func() { _ = unix.Unmount(to, unix.MNT_DETACH) }) // the test may have unmounted it
}

// TestVolumeIsUnmounted unmounts the volume of each storage under load, as "umount -l" does, and
// mounts it again.
func TestVolumeIsUnmounted(t *testing.T) {
	t.Parallel()
	for name, a := range aways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStorages(t)
			volume, path := filepath.Join(t.TempDir(), "volume"), filepath.Join(s.base, a.folder)
			s.check(os.MkdirAll(path, 0o755))
			s.check(os.CopyFS(volume, os.DirFS(path)))
			s.check(os.RemoveAll(path))
			s.check(os.MkdirAll(path, 0o755))
			s.bind(volume, path)
			s.goesAway(a,
				func(path string) { s.check(unix.Unmount(path, unix.MNT_DETACH)) },
				func(path string) { s.bind(volume, path) })
		})
	}
}

// TestVolumeIsHidden mounts an empty file system over each storage under load, and unmounts it.
func TestVolumeIsHidden(t *testing.T) {
	t.Parallel()
	for name, a := range aways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStorages(t)
			s.goesAway(a, func(path string) {
				if err := unix.Mount("tmpfs", path, "tmpfs", 0, "size=2m"); err != nil {
					t.Skipf("a volume cannot be mounted here: %v", err)
				}
				t.Cleanup(func() { _ = unix.Unmount(path, unix.MNT_DETACH) }) // after a failure
			}, func(path string) { s.check(unix.Unmount(path, unix.MNT_DETACH)) })
		})
	}
}
