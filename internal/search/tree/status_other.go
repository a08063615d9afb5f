//go:build !linux && !darwin

package tree

import "io/fs"

// convert knows neither identities nor times of change: they cannot be had everywhere. A folder then is what is at its path, and a
// file is the same if its size and the time of its content are.
func convert(info fs.FileInfo) status {
	s := status{kind: kindOf(info.Mode()), size: info.Size(), modified: info.ModTime().UnixNano()}
	s.inode = uint64(s.kind)
	if s.kind == directory {
		s.size = 0
	}
	return s
}
