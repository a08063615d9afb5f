//go:build unix

package memlog

import (
	"os"

	"golang.org/x/sys/unix"
)

const noFollow = unix.O_NOFOLLOW

func truncate(f *os.File, size int64) error { return f.Truncate(size) }
