//go:build unix

package workspace

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// handle keeps the root folder open. Calls use the descriptor through conn, so that Close cannot
// close it during a call.
type handle struct {
	file *os.File
	conn syscall.RawConn
}

func openHandle(dir string) (handle, error) {
	file, err := os.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return handle{}, err
	}
	conn, err := file.SyscallConn()
	if err != nil {
		return handle{}, errors.Join(err, file.Close())
	}
	return handle{file: file, conn: conn}, nil
}

func (h handle) Close() error { return h.file.Close() }

func statHandle(h handle) (os.FileInfo, error) { return h.file.Stat() }

// lend runs use with the descriptor of the root folder.
func (h handle) lend(use func(root int) error) error {
	var err error
	if closed := h.conn.Control(func(fd uintptr) { err = use(int(fd)) }); closed != nil {
		return fmt.Errorf("use root folder: %w", closed)
	}
	return err
}

// node is the type and identity of a file.
type node struct {
	identity
	mode uint32
}

// identity identifies a file on disk, whatever its name.
type identity struct{ device, inode uint64 }

func (n node) isLink() bool    { return n.mode&unix.S_IFMT == unix.S_IFLNK }
func (n node) isFolder() bool  { return n.mode&unix.S_IFMT == unix.S_IFDIR }
func (n node) isRegular() bool { return n.mode&unix.S_IFMT == unix.S_IFREG }

func nodeOf(st *unix.Stat_t) node {
	return node{
		// The field widths differ by system.
		identity: identity{device: uint64(st.Dev), inode: uint64(st.Ino)},
		mode:     uint32(st.Mode),
	}
}

// statAt describes an entry of an open folder, without following a link.
func statAt(dir int, name string) (node, error) {
	var st unix.Stat_t
	if err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return node{}, fmt.Errorf("stat %s: %w", name, err)
	}
	return nodeOf(&st), nil
}

// statOpen describes the file of an open descriptor.
func statOpen(fd int) (node, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return node{}, fmt.Errorf("stat open file: %w", err)
	}
	return nodeOf(&st), nil
}

// identities returns the identities of the hidden files and folders that exist now. It looks them
// up for every call, because they may be created, moved or linked at any time.
func (h *hidden) identities() []identity {
	found := make([]identity, 0, len(h.hosts))
	for _, host := range h.hosts {
		var st unix.Stat_t
		if unix.Stat(host, &st) == nil {
			found = append(found, nodeOf(&st).identity)
		}
	}
	return found
}

// openIn opens name in an open folder, without following a link: for a link it returns ELOOP on
// every system.
func openIn(dir int, name string, flags int, perm uint32) (int, error) {
	for {
		fd, err := unix.Openat(dir, name, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC, perm)
		switch {
		case err == nil:
			return fd, nil
		case errors.Is(err, unix.EINTR):
			continue // slow file systems, such as those on a network, may be interrupted
		case isLinkIn(dir, name):
			return -1, fmt.Errorf("%s is a link: %w", name, unix.ELOOP)
		default:
			return -1, fmt.Errorf("open %s: %w", name, err)
		}
	}
}

func isLinkIn(dir int, name string) bool {
	n, err := statAt(dir, name)
	return err == nil && n.isLink()
}

// readLink returns the target of a link in an open folder.
func readLink(dir int, name string) (string, error) {
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(dir, name, buf)
	if err != nil {
		return "", fmt.Errorf("read link %s: %w", name, err)
	}
	if n == len(buf) {
		return "", fmt.Errorf("read link %s: %w", name, unix.ENAMETOOLONG)
	}
	return string(buf[:n]), nil
}

// descend opens folders one after the other, from the root on, with enter. It holds one folder open
// at a time. The caller closes the last one with release.
func descend(root int, folders []string, enter func(dir int, name string) (int, error)) (int, error) {
	dir := root
	for _, name := range folders {
		next, err := enter(dir, name)
		release(dir, root)
		if err != nil {
			return -1, err
		}
		dir = next
	}
	return dir, nil
}

// release closes a folder, unless it is the root, which is only lent.
func release(dir, root int) {
	if dir != root {
		_ = unix.Close(dir) // nothing was written through it
	}
}
