package memlog

import (
	"math"
	"os"

	"golang.org/x/sys/windows"
)

const noFollow = 0

// lockedByte lies past the end of any file: a lock on Windows also keeps readers
// from the bytes it covers.
func lockedByte() *windows.Overlapped {
	return &windows.Overlapped{Offset: math.MaxUint32, OffsetHigh: math.MaxInt32}
}

// lock waits for the exclusive lock of f, which its own handle then holds.
func lock(f *os.File) error {
	return windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK, 0, 1, 0, lockedByte())
}

func unlock(f *os.File) error {
	return windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, lockedByte())
}

// truncate goes by the name: a handle that may only append cannot cut.
func truncate(f *os.File, size int64) error { return os.Truncate(f.Name(), size) }

// syncFolder does nothing: Windows has no such call.
func syncFolder(string) error { return nil }
