//go:build unix

package blob

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// folder is an open folder. Files below it are opened without following links.
type folder struct{ fd int }

// openFolder opens a folder of the host. Its path may contain links.
func openFolder(host string) (folder, error) {
	fd, err := openIn(unix.AT_FDCWD, host, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return folder{}, fmt.Errorf("open %s: %w", host, err)
	}
	return folder{fd}, nil
}

func (f folder) close() { _ = unix.Close(f.fd) } // nothing was written through it

// enter opens a folder below this one.
func (f folder) enter(path string) (folder, error) {
	fd, err := openBeneath(f.fd, path, unix.O_RDONLY|unix.O_DIRECTORY)
	return folder{fd}, err
}

// openFile opens a file below this folder for reading.
func (f folder) openFile(path string) (*os.File, node, error) {
	// O_NONBLOCK keeps a pipe from blocking us. It is cleared again, because files need no poller.
	fd, err := openBeneath(f.fd, path, unix.O_RDONLY|unix.O_NONBLOCK)
	if err != nil {
		return nil, node{}, err
	}
	var st unix.Stat_t
	if err = unix.Fstat(fd, &st); err == nil {
		_, err = unix.FcntlInt(uintptr(fd), unix.F_SETFL, 0)
	}
	at := nodeOf(&st)
	if err == nil && at.kind != aFile {
		err = errMisplaced
	}
	if err != nil {
		return nil, node{}, errors.Join(err, unix.Close(fd))
	}
	return os.NewFile(uintptr(fd), path), at, nil
}

// openOwn opens one of the package's own files in this folder.
func (f folder) openOwn(name string, flags int) (*os.File, error) {
	fd, err := openIn(f.fd, name, flags|unix.O_NOFOLLOW, 0o644)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

// look returns the metadata of an entry of this folder, without following a link.
func (f folder) look(name string) (node, error) {
	var st unix.Stat_t
	err := retryInterrupted(func() error { return unix.Fstatat(f.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) })
	if err != nil {
		return node{}, err
	}
	return nodeOf(&st), nil
}

// names returns the names in this folder.
func (f folder) names() ([]string, error) {
	fd, err := openIn(f.fd, ".", unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), ".")
	defer file.Close()
	return file.Readdirnames(-1)
}

// stamp sets the modification time of a file in this folder.
func (f folder) stamp(name string, at time.Time) error {
	ts := unix.NsecToTimespec(at.UnixNano())
	return unix.UtimesNanoAt(f.fd, name, []unix.Timespec{ts, ts}, unix.AT_SYMLINK_NOFOLLOW)
}

func (f folder) makeFolder(name string) error {
	return retryInterrupted(func() error { return unix.Mkdirat(f.fd, name, 0o755) })
}

// rename renames a file in this folder and replaces the target.
func (f folder) rename(from, to string) error {
	return retryInterrupted(func() error { return unix.Renameat(f.fd, from, f.fd, to) })
}

func (f folder) remove(name string) error {
	return retryInterrupted(func() error { return unix.Unlinkat(f.fd, name, 0) })
}

// removeFolder removes a folder in this one if it is empty. It removes nothing else.
func (f folder) removeFolder(name string) error {
	return retryInterrupted(func() error { return unix.Unlinkat(f.fd, name, unix.AT_REMOVEDIR) })
}

// sync makes the entries of this folder durable, if its file system supports that.
func (f folder) sync() error {
	err := retryInterrupted(func() error { return unix.Fsync(f.fd) })
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOTSUP) {
		return nil
	}
	return err
}

// walkBeneath opens a file or folder below a folder one path element at a time, without following
// links.
func walkBeneath(dir int, name string, flags int) (int, error) {
	at := dir
	for {
		step, rest, more := strings.Cut(name, "/")
		last := flags
		if more {
			last = unix.O_RDONLY | unix.O_DIRECTORY
		}
		next, err := openIn(at, step, last|unix.O_NOFOLLOW, 0)
		if at != dir {
			_ = unix.Close(at) // it was only passed through
		}
		if err != nil || !more {
			return next, err
		}
		at, name = next, rest
	}
}

func openIn(dir int, name string, flags int, perm uint32) (fd int, err error) {
	err = retryInterrupted(func() error {
		fd, err = unix.Openat(dir, name, flags|unix.O_CLOEXEC, perm)
		return err
	})
	return fd, err
}

// retryInterrupted repeats a system call until no signal interrupts it, which can happen on slow
// disks.
func retryInterrupted(do func() error) error {
	for {
		if err := do(); err != unix.EINTR { //nolint:errorlint // a bare errno
			return err
		}
	}
}

func nodeOf(st *unix.Stat_t) node {
	n := node{kind: another, size: st.Size, modified: st.Mtim.Nano(), changed: st.Ctim.Nano(), inode: st.Ino}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		n.kind = aFile
	case unix.S_IFDIR:
		n.kind = aFolder
	}
	return n
}

// isMisplaced reports whether a part of a path is a link, a file instead of a folder or the
// reverse, or a socket (ENXIO), which cannot be opened.
func isMisplaced(err error) bool {
	return errors.Is(err, errMisplaced) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.EISDIR) || errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENXIO)
}

func isTooLong(err error) bool { return errors.Is(err, unix.ENAMETOOLONG) }
