//go:build unix

package clients

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// keepOwner gives a new file the owner of another: with sudo it would be root's, and
// the client could not write it any more.
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
			return fmt.Errorf("it belongs to another user, who has to do this: %w", err)
		}
	case is.Gid != was.Gid:
		_ = f.Chown(-1, int(was.Gid)) // who is not in that group cannot; the owner is what counts
	}
	return nil
}
