package filelock

import (
	"math"
	"os"

	"golang.org/x/sys/windows"
)

// lockedByte lies past the end of any file: a lock on Windows also keeps readers from
// the bytes it covers.
func lockedByte() *windows.Overlapped {
	return &windows.Overlapped{Offset: math.MaxUint32, OffsetHigh: math.MaxInt32}
}

// Lock waits for the exclusive lock of f, which its own handle then holds.
func Lock(f *os.File) error {
	return windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK, 0, 1, 0, lockedByte())
}

// Unlock releases the lock.
func Unlock(f *os.File) error {
	return windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, lockedByte())
}
