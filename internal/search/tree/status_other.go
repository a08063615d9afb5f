//go:build !linux && !darwin

package tree

import "io/fs"

// convert sets neither the identity nor the change time, because not every system has them. A
// folder is then identified by its path, and a file counts as unchanged if its size and
// modification time are the same.
func convert(info fs.FileInfo) status {
	s := status{kind: kindOf(info.Mode()), size: info.Size(), modified: info.ModTime().UnixNano()}
	s.inode = uint64(s.kind)
	if s.kind == directory {
		s.size = 0
	}
	return s
}
