//go:build unix

package clients

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// keepOwner gives a new file the owner of another. Otherwise, with sudo, the file would belong to
// root and the client could no longer write it.
func keepOwner(f *os.File, like fs.FileInfo) error {
	made, err := f.Stat()
	if err != nil {
		return err
	}
	is, ok := made.Sys().(*syscall.Stat_t)
	was, known := like.Sys().(*syscall.Stat_t)
	switch {
	case !ok || !known:
		return nil
	case is.Uid != was.Uid:
		if err := f.Chown(int(was.Uid), int(was.Gid)); err != nil {
			return fmt.Errorf("the file belongs to another user, who must run this command: %w", err)
		}
	case is.Gid != was.Gid:
		_ = f.Chown(-1, int(was.Gid)) // fails outside the group; the owner is enough
	}
	return nil
}
