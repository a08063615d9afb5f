//go:build unix

package cli

import (
	"io/fs"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// isOwn reports whether a file belongs to the user, or with sudo, to the user who ran that.
func isOwn(info fs.FileInfo) bool {
	system, known := info.Sys().(*syscall.Stat_t)
	if !known || int(system.Uid) == os.Geteuid() {
		return true
	}
	return os.Geteuid() == 0 && strconv.FormatUint(uint64(system.Uid), 10) == os.Getenv("SUDO_UID")
}

// mayWrite returns an error if the user may not create files in a folder.
func mayWrite(folder string) error {
	return unix.Faccessat(unix.AT_FDCWD, folder, unix.W_OK|unix.X_OK, unix.AT_EACCESS)
}
