package ignore

import (
	"os"
	"syscall"
)

// changeTime is when a file, or what is known of it, was changed, in nanoseconds.
func changeTime(info os.FileInfo) int64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return stat.Ctim.Nano()
	}
	return 0
}
