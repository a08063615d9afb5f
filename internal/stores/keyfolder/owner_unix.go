//go:build unix

package keyfolder

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// checkOwner returns an error unless a file or folder belongs to us alone.
func checkOwner(name string, info fs.FileInfo) error {
	system, known := info.Sys().(*syscall.Stat_t)
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return fmt.Errorf("%s is a link; name the folder itself with --keys or REMIT_KEYS", name)
	case known && int(system.Uid) != os.Geteuid():
		return fmt.Errorf("%s belongs to another user (uid %d), who could approve in your name; name a folder of your own "+
			"with --keys or REMIT_KEYS", name, system.Uid)
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("%s has mode %o, so that other users could approve in your name; run chmod go= %s", name, info.Mode().Perm(), name)
	}
	return nil
}
