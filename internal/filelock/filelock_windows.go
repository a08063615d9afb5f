package filelock

import (
	"errors"
	"math"
	"os"

	"golang.org/x/sys/windows"
)

// lockedByte returns a position past the end of any file, because a lock on Windows also blocks
// readers of the bytes that it covers.
func lockedByte() *windows.Overlapped {
	return &windows.Overlapped{Offset: math.MaxUint32, OffsetHigh: math.MaxInt32}
}

// Lock waits for the exclusive lock of f. The handle of f holds the lock until Unlock.
func Lock(f *os.File) error {
	return windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK, 0, 1, 0, lockedByte())
}

// TryLock takes the exclusive lock of f, unless another process has it. It does not wait.
func TryLock(f *os.File) (bool, error) {
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, lockedByte())
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, err
}

// Unlock releases the lock.
func Unlock(f *os.File) error {
	return windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, lockedByte())
}

// SyncFolder does nothing: Windows has no call to sync a folder.
func SyncFolder(string) error { return nil }
