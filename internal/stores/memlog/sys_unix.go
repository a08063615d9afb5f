//go:build unix

package memlog

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

const noFollow = unix.O_NOFOLLOW

func truncate(f *os.File, size int64) error { return f.Truncate(size) }

// syncFolder makes the entries of a folder durable, if its file system supports that.
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
