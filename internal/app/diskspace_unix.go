//go:build unix

package app

import "golang.org/x/sys/unix"

// diskSpace returns how many bytes are free for us on the disk of a folder, and its size; 0 if that
// is not known.
func diskSpace(folder string) (free, size int64) {
	var stat unix.Statfs_t
	if unix.Statfs(folder, &stat) != nil {
		return 0, 0
	}
	block := int64(stat.Bsize) //nolint:unconvert // its type depends on the system
	return int64(stat.Bavail) * block, int64(stat.Blocks) * block
}
