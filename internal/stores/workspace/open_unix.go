//go:build unix

package workspace

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// open opens the resolved path, one folder at a time and without following links, so that it opens
// the path that was checked or fails.
func (f *File) open() (*os.File, error) {
	fd := -1
	err := f.root.dir().lend(func(root int) (err error) {
		fd, err = f.openFrom(root)
		return err
	})
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), f.resolved), nil
}

func (f *File) openFrom(root int) (int, error) {
	secrets := f.root.hidden.identities()
	folder, base := path.Split(f.resolved)
	dir, err := descend(root, segments(folder), func(dir int, name string) (int, error) {
		return f.pass(dir, name, secrets)
	})
	if err != nil {
		return -1, err
	}
	defer release(dir, root)
	return f.openLast(dir, base, secrets)
}

// pass opens a folder on the way to a file, unless the folder is hidden.
func (q request) pass(dir int, name string, secrets []identity) (int, error) {
	next, err := openIn(dir, name, searchOnly, 0)
	if err != nil {
		return -1, err
	}
	here, err := statOpen(next)
	if err == nil && slices.Contains(secrets, here.identity) {
		err = q.denied(errors.New("the path leads through a hidden one"))
	}
	if err != nil {
		return -1, errors.Join(err, unix.Close(next))
	}
	return next, nil
}

// openLast opens the file itself. It checks the file before opening it, because opening a device
// may have an effect, and again afterwards, because the file may have been replaced in between.
func (f *File) openLast(dir int, name string, secrets []identity) (int, error) {
	here, err := statAt(dir, name)
	if err == nil {
		err = f.readable(here, secrets)
	}
	if err != nil {
		return -1, err
	}
	// O_NONBLOCK keeps a pipe that has replaced the file from blocking us.
	fd, err := openIn(dir, name, unix.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return -1, err
	}
	here, err = statOpen(fd)
	if err == nil {
		err = f.readable(here, secrets)
	}
	if err == nil {
		err = unix.SetNonblock(fd, false) // a regular file needs no poller
	}
	if err != nil {
		return -1, errors.Join(err, unix.Close(fd))
	}
	return fd, nil
}

func (f *File) readable(n node, secrets []identity) error {
	switch {
	case slices.Contains(secrets, n.identity):
		return f.denied(errors.New("the path leads to a hidden one"))
	case n.isLink():
		return f.denied(errors.New("the path became a link after it was checked"))
	case n.isFolder():
		return f.isFolder()
	case !n.isRegular():
		return f.isSpecial()
	default:
		return nil
	}
}

// OpenAppend opens one of Remit's own files within the root for reading and appending. It creates
// the file and the folders above it if they are missing, and syncs what it creates. It refuses to
// go through a link. No policy applies, because the name does not come from a caller.
func (r *Root) OpenAppend(name string) (*os.File, error) {
	return r.openOwn(name, func(root int) (int, error) { return appendFrom(root, name, 0o755, 0o644) })
}

// OpenPrivate is OpenAppend for a file that only the user may read.
func (r *Root) OpenPrivate(name string) (*os.File, error) {
	return r.openOwn(name, func(root int) (int, error) { return appendFrom(root, name, 0o700, 0o600) })
}

// OpenFolder opens one of Remit's own folders within the root. It creates the folder and those
// above it if they are missing, for the user only. It refuses to go through a link.
func (r *Root) OpenFolder(name string) (*os.File, error) {
	return r.openOwn(name, func(root int) (int, error) { return descend(root, segments(name), enterOrMake(0o700)) })
}

func (r *Root) openOwn(name string, open func(root int) (int, error)) (*os.File, error) {
	if !isOurs(name) {
		return nil, fmt.Errorf("open %q: %w", name, os.ErrInvalid)
	}
	fd := -1
	err := r.dir().lend(func(root int) (err error) {
		fd, err = open(root)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", name, err)
	}
	return os.NewFile(uintptr(fd), filepath.Join(r.real, filepath.FromSlash(name))), nil
}

func appendFrom(root int, name string, folderMode, mode uint32) (int, error) {
	folder, base := path.Split(name)
	dir, err := descend(root, segments(folder), enterOrMake(folderMode))
	if err != nil {
		return -1, err
	}
	defer release(dir, root)
	fd, err := openOrMake(dir, base, mode)
	if err != nil {
		return -1, err
	}
	here, err := statOpen(fd)
	if err == nil && !here.isRegular() {
		err = fmt.Errorf("%s is not a regular file", base)
	}
	if err != nil {
		return -1, errors.Join(err, unix.Close(fd))
	}
	return fd, nil
}

func enterOrMake(mode uint32) func(dir int, name string) (int, error) {
	return func(dir int, name string) (int, error) {
		const flags = unix.O_RDONLY | unix.O_DIRECTORY
		fd, err := openIn(dir, name, flags, 0)
		if !errors.Is(err, unix.ENOENT) {
			return fd, err
		}
		// It does not matter if another process creates the folder first.
		if err := unix.Mkdirat(dir, name, mode); err != nil && !errors.Is(err, unix.EEXIST) {
			return -1, fmt.Errorf("make folder %s: %w", name, err)
		}
		if err := keepEntry(dir); err != nil {
			return -1, err
		}
		return openIn(dir, name, flags, 0)
	}
}

func openOrMake(dir int, name string, mode uint32) (int, error) {
	const flags = unix.O_RDWR | unix.O_APPEND
	fd, err := openIn(dir, name, flags, 0)
	if !errors.Is(err, unix.ENOENT) {
		return fd, err
	}
	fd, err = openIn(dir, name, flags|unix.O_CREAT, mode)
	if err != nil {
		return -1, err
	}
	if err := keepEntry(dir); err != nil {
		return -1, errors.Join(err, unix.Close(fd))
	}
	return fd, nil
}

// keepEntry makes a new directory entry durable: without it, a synced file can still be lost.
func keepEntry(dir int) error {
	err := unix.Fsync(dir)
	// Some file systems cannot sync a folder.
	if err != nil && !isAny(err, unix.EINVAL, unix.ENOTSUP) {
		return fmt.Errorf("sync folder: %w", err)
	}
	return nil
}
