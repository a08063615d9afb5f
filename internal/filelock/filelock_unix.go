//go:build unix

package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Lock waits for the exclusive lock of f. The file descriptor of f holds the lock until Unlock.
func Lock(f *os.File) error {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX)
		if err != unix.EINTR { // the runtime's own signals interrupt a long wait
			return err
		}
	}
}

// TryLock takes the exclusive lock of f, unless another process has it. It does not wait.
func TryLock(f *os.File) (bool, error) {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

// Unlock releases the lock. Closing f is not enough: a child process that was just forked may still
// hold the descriptor.
func Unlock(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_UN) }

// SyncFolder makes the entries of a folder durable, if its file system supports that.
func SyncFolder(path string) error {
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
