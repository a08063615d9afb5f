package ignore

import (
	"os"
	"syscall"
)

// changeTime returns when a file or its metadata was last changed, in nanoseconds.
func changeTime(info os.FileInfo) int64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return stat.Ctim.Nano()
	}
	return 0
}
