package keyfolder

import (
	"fmt"
	"io/fs"
)

// checkOwner returns an error for a link. The access rights of a profile are those of its user.
func checkOwner(name string, info fs.FileInfo) error {
	if info.Mode()&fs.ModeSymlink != 0 {
		return fmt.Errorf("%s is a link; name the folder itself with --keys or REMIT_KEYS", name)
	}
	return nil
}

// checkAbove returns no error: the access rights of a profile are those of its user.
func checkAbove(string) error { return nil }
