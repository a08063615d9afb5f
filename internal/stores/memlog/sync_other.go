//go:build !linux

package memlog

import "os"

// dataSync is F_FULLFSYNC on macOS, which has no fdatasync; Go's Sync sees to it.
func dataSync(f *os.File) error { return f.Sync() }
