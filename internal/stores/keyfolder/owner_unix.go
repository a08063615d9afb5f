//go:build unix

package keyfolder

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
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
		private := 0o600
		if info.IsDir() {
			private = 0o700
		}
		return fmt.Errorf("%s has mode %o, so that other users could approve in your name; run chmod %o %s", name, info.Mode().Perm(), private, name)
	}
	return nil
}

// checkAbove returns an error if another user could put another folder in the place of this one:
// one who owns a folder above it, or anybody if all may rename what is in it.
func checkAbove(name string) error {
	spellings := []string{name}
	if real, err := filepath.EvalSymlinks(filepath.Dir(name)); err == nil {
		spellings = append(spellings, filepath.Join(real, filepath.Base(name)))
	}
	for _, folder := range spellings {
		for folder != filepath.Dir(folder) {
			folder = filepath.Dir(folder)
			info, err := os.Stat(folder)
			if err != nil {
				continue // it will be ours
			}
			system, known := info.Sys().(*syscall.Stat_t)
			if known && system.Uid != 0 && int(system.Uid) != os.Geteuid() && !isUnmapped(system.Uid) {
				return fmt.Errorf("%s belongs to another user (uid %d), who could replace the key folder %s; name another "+
					"with --keys or REMIT_KEYS", folder, system.Uid, name)
			}
			if info.Mode()&0o002 != 0 && info.Mode()&fs.ModeSticky == 0 {
				return fmt.Errorf("%s has mode %o, so that anybody could replace the key folder %s; run chmod o-w %s, or "+
					"name another folder with --keys or REMIT_KEYS", folder, info.Mode().Perm(), name, folder)
			}
		}
	}
	return nil
}

// isUnmapped reports whether a uid stands for all users that a user namespace does not know, which
// include the root of the machine.
func isUnmapped(uid uint32) bool {
	const overflow = 65534
	known, err := os.ReadFile("/proc/self/uid_map")
	return uid == overflow && err == nil && strings.Join(strings.Fields(string(known)), " ") != "0 0 4294967295"
}
