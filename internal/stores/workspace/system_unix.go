//go:build unix

package workspace

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// handle keeps the root folder open. Its descriptor is lent out by the runtime,
// which sees to it that Close cannot pull it from under a call in progress.
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

// lend runs use with the descriptor of the root folder.
func (h handle) lend(use func(root int) error) error {
	var err error
	if closed := h.conn.Control(func(fd uintptr) { err = use(int(fd)) }); closed != nil {
		return fmt.Errorf("use root folder: %w", closed)
	}
	return err
}

// node is what stands at a place on disk.
type node struct {
	identity
	mode uint32
}

// identity tells whether two names lead to the same thing on disk.
type identity struct{ device, inode uint64 }

func (n node) isLink() bool    { return n.mode&unix.S_IFMT == unix.S_IFLNK }
func (n node) isFolder() bool  { return n.mode&unix.S_IFMT == unix.S_IFDIR }
func (n node) isRegular() bool { return n.mode&unix.S_IFMT == unix.S_IFREG }

func nodeOf(st *unix.Stat_t) node {
	return node{
		identity: identity{device: uint64(st.Dev), inode: uint64(st.Ino)}, // the widths differ by system
		mode:     uint32(st.Mode),
	}
}

// lookAt tells what name is in an open folder, be it a link.
func lookAt(dir int, name string) (node, error) {
	var st unix.Stat_t
	if err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return node{}, fmt.Errorf("look at %s: %w", name, err)
	}
	return nodeOf(&st), nil
}

// lookInto tells what an open descriptor leads to.
func lookInto(fd int) (node, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return node{}, fmt.Errorf("look into open file: %w", err)
	}
	return nodeOf(&st), nil
}

// identities finds the hidden things that exist now. They are looked up for
// every call, because they may be made, moved or linked at any time.
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

// openIn opens name in an open folder, and never what a link there leads to: a
// link is ELOOP, whatever this system calls it.
func openIn(dir int, name string, flags int, perm uint32) (int, error) {
	for {
		fd, err := unix.Openat(dir, name, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC, perm)
		switch {
		case err == nil:
			return fd, nil
		case errors.Is(err, unix.EINTR):
			continue // slow disks, like those on a network, may be interrupted
		case isLinkIn(dir, name):
			return -1, fmt.Errorf("%s is a link: %w", name, unix.ELOOP)
		default:
			return -1, fmt.Errorf("open %s: %w", name, err)
		}
	}
}

func isLinkIn(dir int, name string) bool {
	n, err := lookAt(dir, name)
	return err == nil && n.isLink()
}

// readLink gives the target of a link in an open folder.
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

// descend goes down from the root by way of enter, holding one folder open at a
// time. The folder it arrives at is for release to close.
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
