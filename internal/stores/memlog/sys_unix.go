//go:build unix

package memlog

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

const noFollow = unix.O_NOFOLLOW

// lock waits for the exclusive lock of f, which its own descriptor then holds.
func lock(f *os.File) error {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX)
		if err != unix.EINTR { // the runtime's own signals interrupt a long wait
			return err
		}
	}
}

// unlock does not leave it to closing: a child that was just forked may still
// hold the descriptor.
func unlock(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_UN) }

func truncate(f *os.File, size int64) error { return f.Truncate(size) }

// syncFolder makes the names in a folder durable, as far as its file system lets us.
func syncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer d.Close()
	err = d.Sync()
	if errors.Is(err, unix.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	return err
}
