//go:build !linux

package sqlstore

import "os"

// through returns the path of a file as given: other systems have no paths through an open folder.
func through(_ *os.File, file string) string { return file }

// vfsOf returns no option: SQLite's own VFS is used.
func vfsOf(string) []string { return nil }
