//go:build !linux

package memlog

import "os"

// dataSync syncs a file. macOS has no fdatasync; there, Sync uses F_FULLFSYNC.
func dataSync(f *os.File) error { return f.Sync() }
