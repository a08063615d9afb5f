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

// open opens the resolved path, a folder at a time and without following links,
// so that it arrives at the place that was judged or nowhere.
func (f *File) open() (*os.File, error) {
	fd := -1
	err := f.root.dir.lend(func(root int) (err error) {
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

// pass enters a folder on the way, unless it is a hidden one.
func (q request) pass(dir int, name string, secrets []identity) (int, error) {
	next, err := openIn(dir, name, searchOnly, 0)
	if err != nil {
		return -1, err
	}
	here, err := lookInto(next)
	if err == nil && slices.Contains(secrets, here.identity) {
		err = q.denied(errors.New("the path leads through a hidden one"))
	}
	if err != nil {
		return -1, errors.Join(err, unix.Close(next))
	}
	return next, nil
}

// openLast opens the file itself. It looks before it opens, because to open a
// device may have an effect, and again after, because only then is it certain.
func (f *File) openLast(dir int, name string, secrets []identity) (int, error) {
	here, err := lookAt(dir, name)
	if err == nil {
		err = f.readable(here, secrets)
	}
	if err != nil {
		return -1, err
	}
	// A pipe that took the place of the file must not hold us up.
	fd, err := openIn(dir, name, unix.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return -1, err
	}
	here, err = lookInto(fd)
	if err == nil {
		err = f.readable(here, secrets)
	}
	if err == nil {
		err = unix.SetNonblock(fd, false) // a regular file has no use for the poller
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
		return f.denied(errors.New("the path became a link after it was judged"))
	case n.isFolder():
		return f.isFolder()
	case !n.isRegular():
		return f.isSpecial()
	default:
		return nil
	}
}

// OpenAppend opens a file of ours beneath the root for reading and appending
// and makes it, and the folders it lies in, if need be; what it makes is there
// to stay when it returns. It refuses to go through a link. The name is one of
// ours, not a caller's: no policy is asked.
func (r *Root) OpenAppend(name string) (*os.File, error) {
	if !isOurs(name) {
		return nil, fmt.Errorf("open %q to append: %w", name, os.ErrInvalid)
	}
	fd := -1
	err := r.dir.lend(func(root int) (err error) {
		fd, err = appendFrom(root, name)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("open %s to append: %w", name, err)
	}
	return os.NewFile(uintptr(fd), filepath.Join(r.real, filepath.FromSlash(name))), nil
}

func appendFrom(root int, name string) (int, error) {
	folder, base := path.Split(name)
	dir, err := descend(root, segments(folder), enterOrMake)
	if err != nil {
		return -1, err
	}
	defer release(dir, root)
	fd, err := openOrMake(dir, base)
	if err != nil {
		return -1, err
	}
	here, err := lookInto(fd)
	if err == nil && !here.isRegular() {
		err = fmt.Errorf("%s is not a regular file", base)
	}
	if err != nil {
		return -1, errors.Join(err, unix.Close(fd))
	}
	return fd, nil
}

func enterOrMake(dir int, name string) (int, error) {
	const flags = unix.O_RDONLY | unix.O_DIRECTORY
	fd, err := openIn(dir, name, flags, 0)
	if !errors.Is(err, unix.ENOENT) {
		return fd, err
	}
	// Another process may make it first, which is as good.
	if err := unix.Mkdirat(dir, name, 0o755); err != nil && !errors.Is(err, unix.EEXIST) {
		return -1, fmt.Errorf("make folder %s: %w", name, err)
	}
	if err := keepEntry(dir); err != nil {
		return -1, err
	}
	return openIn(dir, name, flags, 0)
}

func openOrMake(dir int, name string) (int, error) {
	const flags = unix.O_RDWR | unix.O_APPEND
	fd, err := openIn(dir, name, flags, 0)
	if !errors.Is(err, unix.ENOENT) {
		return fd, err
	}
	fd, err = openIn(dir, name, flags|unix.O_CREAT, 0o644)
	if err != nil {
		return -1, err
	}
	if err := keepEntry(dir); err != nil {
		return -1, errors.Join(err, unix.Close(fd))
	}
	return fd, nil
}

// keepEntry makes a new name in a folder last: a file that is synced is still
// lost if the folder forgets it.
func keepEntry(dir int) error {
	err := unix.Fsync(dir)
	if err != nil && !isAny(err, unix.EINVAL, unix.ENOTSUP) { // some disks cannot sync a folder
		return fmt.Errorf("sync folder: %w", err)
	}
	return nil
}
