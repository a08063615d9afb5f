package tree

import (
	"io/fs"
	"syscall"
)

func convert(info fs.FileInfo) status {
	s := status{kind: kindOf(info.Mode()), size: info.Size(), modified: info.ModTime().UnixNano()}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		s.identity = identity{uint64(st.Dev), st.Ino}
		s.changed = st.Ctimespec.Nano()
	}
	return s
}
