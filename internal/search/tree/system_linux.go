package tree

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// rootHandle is an open root folder.
type rootHandle struct {
	root handle
	id   identity
	// The kernel has no openat2, so every path element is opened separately to refuse links.
	noOpenat2 bool
	tick      time.Duration
}

// handle is an open file or folder.
type handle int

// openRoot opens a root folder. It follows a link to it.
func openRoot(path string) (*rootHandle, error) {
	fd, err := openat(unix.AT_FDCWD, path, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	p := &rootHandle{root: handle(fd), tick: fineTick}
	st, err := p.root.stat()
	if err != nil {
		p.close()
		return nil, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	p.id = st.identity
	if p.root.remote() {
		p.tick = coarseTick
	}
	probe, err := openat2(fd, ".", unix.O_PATH|unix.O_DIRECTORY)
	if p.noOpenat2 = err != nil; !p.noOpenat2 {
		handle(probe).close()
	}
	return p, nil
}

func (p *rootHandle) close() { p.root.close() }

// identify returns the identity of the folder at a path. It follows links.
func identify(path string) (identity, error) {
	var st unix.Stat_t
	if err := unix.Fstatat(unix.AT_FDCWD, path, &st, 0); err != nil {
		return identity{}, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	s := convert(&st)
	if s.kind != directory {
		return identity{}, &fs.PathError{Op: "open", Path: path, Err: unix.ENOTDIR}
	}
	return s.identity, nil
}

// folder opens a folder below the root for listing. No path element may be a link.
func (p *rootHandle) folder(path string) (handle, error) {
	return p.open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW)
}

// file opens a file below the root for reading. No path element may be a link. It does not block on
// a FIFO.
func (p *rootHandle) file(path string) (handle, error) {
	return p.open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_NOCTTY)
}

// lstat returns the status of a path below the root. The last path element may be a link, the
// others may not.
func (p *rootHandle) lstat(path string) (status, error) {
	h, err := p.open(path, unix.O_PATH|unix.O_NOFOLLOW)
	if err != nil {
		return status{}, err
	}
	defer h.close()
	return h.stat()
}

// open opens a path with as many of its elements per system call as the kernel accepts.
func (p *rootHandle) open(path string, flags int) (handle, error) {
	path, at := cmp.Or(path, "."), int(p.root)
	for {
		head, rest := p.cut(path)
		step := flags
		if rest != "" {
			step = unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW
		}
		fd, err := p.step(at, head, step)
		if at != int(p.root) {
			handle(at).close()
		}
		if err != nil || rest == "" {
			return handle(fd), err
		}
		at, path = fd, rest
	}
}

// cut splits a path after the part that one system call accepts.
func (p *rootHandle) cut(path string) (head, rest string) {
	end := len(path)
	switch {
	case p.noOpenat2:
		end = strings.IndexByte(path, '/')
	case end >= unix.PathMax:
		end = strings.LastIndexByte(path[:unix.PathMax-1], '/')
	default:
		return path, ""
	}
	if end < 0 {
		return path, ""
	}
	return path[:end], path[end+1:]
}

func (p *rootHandle) step(at int, path string, flags int) (int, error) {
	if p.noOpenat2 {
		return openat(at, path, flags)
	}
	return openat2(at, path, flags)
}

func openat(at int, path string, flags int) (int, error) {
	for {
		fd, err := unix.Openat(at, path, flags|unix.O_CLOEXEC, 0)
		if !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}

// openat2 opens a path without following links. It repeats the call on EAGAIN, which the kernel
// returns if something is renamed meanwhile.
func openat2(at int, path string, flags int) (int, error) {
	how := unix.OpenHow{
		Flags:   uint64(flags | unix.O_CLOEXEC),
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	}
	for tries := 0; ; tries++ {
		fd, err := unix.Openat2(at, path, &how)
		if errors.Is(err, unix.EINTR) || errors.Is(err, unix.EAGAIN) && tries < 100 {
			continue
		}
		return fd, err
	}
}

func (h handle) close() { _ = unix.Close(int(h)) }

func (h handle) stat() (status, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(h), &st); err != nil {
		return status{}, err
	}
	return convert(&st), nil
}

// lstat returns the status of an entry of the folder.
func (h handle) lstat(name string) (status, error) {
	var st unix.Stat_t
	if err := unix.Fstatat(int(h), name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return status{}, err
	}
	return convert(&st), nil
}

// openFile opens a file in the folder for reading.
func (h handle) openFile(name string) (handle, error) {
	fd, err := openat(int(h), name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_NOCTTY)
	return handle(fd), err
}

func (h handle) read(data []byte) (int, error) {
	for {
		n, err := unix.Read(int(h), data)
		if !errors.Is(err, unix.EINTR) {
			return max(n, 0), err
		}
	}
}

// file converts the handle to an os.File, which then owns it.
func (h handle) file(name string) (*os.File, error) {
	if err := unix.SetNonblock(int(h), false); err != nil {
		h.close()
		return nil, err
	}
	return os.NewFile(uintptr(h), name), nil
}

// entries calls each for the names in the folder, in the order of the disk. A name is valid until
// each returns.
func (h handle) entries(buffer []byte, each func(name []byte, kind kind)) error {
	for {
		n, err := unix.Getdents(int(h), buffer)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n <= 0 {
			return err
		}
		for rest := buffer[:n]; len(rest) > direntName; {
			size := int(binary.NativeEndian.Uint16(rest[16:]))
			if size <= direntName || size > len(rest) {
				break
			}
			name := rest[direntName:size]
			if end := bytes.IndexByte(name, 0); end >= 0 {
				name = name[:end]
			}
			if inode := binary.NativeEndian.Uint64(rest); inode != 0 && string(name) != "." && string(name) != ".." {
				each(name, direntKind(rest[18]))
			}
			rest = rest[size:]
		}
	}
}

// direntName is the offset of the name in a directory entry, after its inode, offset, size and
// type.
const direntName = 19

func direntKind(of byte) kind {
	switch of {
	case unix.DT_REG:
		return regular
	case unix.DT_DIR:
		return directory
	case unix.DT_LNK:
		return symlink
	case unix.DT_UNKNOWN:
		return unknown
	}
	return irregular
}

func convert(st *unix.Stat_t) status {
	s := status{
		identity: identity{uint64(st.Dev), st.Ino}, //nolint:unconvert // the width differs by processor
		kind:     irregular,
		size:     st.Size,
		modified: st.Mtim.Nano(),
		changed:  st.Ctim.Nano(),
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		s.kind = regular
	case unix.S_IFDIR:
		s.kind = directory
	case unix.S_IFLNK:
		s.kind = symlink
	}
	return s
}

// remote reports whether other machines may change the file system. The kernel sends no events for
// that, and their clocks may differ.
func (h handle) remote() bool {
	var st unix.Statfs_t
	if unix.Fstatfs(int(h), &st) != nil {
		return false
	}
	switch uint32(st.Type) {
	case unix.NFS_SUPER_MAGIC, unix.SMB_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC, unix.FUSE_SUPER_MAGIC,
		unix.V9FS_MAGIC, unix.AFS_SUPER_MAGIC, unix.AFS_FS_MAGIC, unix.CEPH_SUPER_MAGIC, unix.CODA_SUPER_MAGIC,
		unix.OCFS2_SUPER_MAGIC, gfs2, vboxsf, vmhgfs:
		return true
	}
	return false
}

// File systems for which package unix has no constants.
const (
	gfs2   = 0x01161970
	vboxsf = 0x786f4256
	vmhgfs = 0xbacbacbc
)

// exhausted reports whether an error is due to a lack of descriptors or memory, and not to the file
// itself.
func exhausted(err error) bool {
	return errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) || errors.Is(err, unix.ENOMEM)
}
