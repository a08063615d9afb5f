package blob

import (
	"errors"

	"golang.org/x/sys/unix"
)

// openBeneath opens a file or folder below a folder without following links. It takes one system
// call, unless the kernel is too old or a sandbox forbids that call.
func openBeneath(dir int, name string, flags int) (int, error) {
	how := unix.OpenHow{
		Flags:   uint64(flags | unix.O_CLOEXEC),
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS,
	}
	fd := -1
	err := retryInterrupted(func() (err error) {
		fd, err = unix.Openat2(dir, name, &how)
		return err
	})
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
		return walkBeneath(dir, name, flags)
	}
	return fd, err
}
