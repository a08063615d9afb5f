//go:build !linux

package tree

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// place is an open root. os.Root keeps what is opened beneath it.
type place struct {
	root *os.Root
	id   identity
	tick time.Duration
}

// handle is an open file or folder.
type handle struct {
	root *os.Root
	path string
	open *os.File
}

// openPlace opens a root; a link that leads to it is followed.
func openPlace(path string) (*place, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	id, err := identify(path)
	if err != nil {
		root.Close()
		return nil, err
	}
	return &place{root: root, id: id, tick: fine}, nil
}

func (p *place) close() { _ = p.root.Close() }

// identify tells what is at a path, links followed.
func identify(path string) (identity, error) {
	info, err := os.Stat(path)
	if err != nil {
		return identity{}, err
	}
	if !info.IsDir() {
		return identity{}, &fs.PathError{Op: "open", Path: path, Err: syscall.ENOTDIR}
	}
	st := convert(info)
	return st.identity, nil
}

// folder opens a folder beneath the root, to list it. No element of the path may be a link.
func (p *place) folder(path string) (handle, error) { return p.open(path, directory) }

// file opens a file beneath the root, to read it. No element of the path may be a link. What is not regular is not opened: that
// could wait for a FIFO's writer.
func (p *place) file(path string) (handle, error) { return p.open(path, regular) }

func (p *place) open(name string, want kind) (handle, error) {
	name = cmp.Or(name, ".")
	st, err := p.lstat(name)
	if err != nil {
		return handle{}, err
	}
	if st.kind != want {
		return handle{}, syscall.ENOTDIR
	}
	file, err := p.root.Open(filepath.FromSlash(name))
	if err != nil {
		return handle{}, err
	}
	return handle{p.root, name, file}, nil
}

// lstat tells what a path beneath the root stands for, which may be a link; no other element of the path may be one.
func (p *place) lstat(name string) (status, error) {
	for end := 0; ; end++ {
		next := strings.IndexByte(name[end:], '/')
		if next < 0 {
			break
		}
		end += next
		info, err := p.root.Lstat(filepath.FromSlash(name[:end]))
		if err != nil {
			return status{}, err
		}
		if !info.IsDir() {
			return status{}, syscall.ENOTDIR
		}
	}
	info, err := p.root.Lstat(filepath.FromSlash(name))
	if err != nil {
		return status{}, err
	}
	return convert(info), nil
}

func (h handle) close() { _ = h.open.Close() }

func (h handle) stat() (status, error) {
	info, err := h.open.Stat()
	if err != nil {
		return status{}, err
	}
	return convert(info), nil
}

// lstat tells what a name in the folder stands for.
func (h handle) lstat(name string) (status, error) {
	info, err := h.root.Lstat(filepath.FromSlash(path.Join(h.path, name)))
	if err != nil {
		return status{}, err
	}
	return convert(info), nil
}

// within opens a file in the folder, to read it.
func (h handle) within(name string) (handle, error) {
	st, err := h.lstat(name)
	if err != nil || st.kind != regular {
		return handle{}, errors.Join(err, ErrIrregular)
	}
	name = path.Join(h.path, name)
	file, err := h.root.Open(filepath.FromSlash(name))
	return handle{h.root, name, file}, err
}

func (h handle) read(data []byte) (int, error) { return h.open.Read(data) }

// file makes an ordinary file of the handle, which then is its own.
func (h handle) file(string) (*os.File, error) { return h.open, nil }

// entries gives the names in the folder in the order of the disk.
func (h handle) entries(_ []byte, each func(name []byte, kind kind)) error {
	for {
		entries, err := h.open.ReadDir(1024)
		for _, e := range entries {
			each([]byte(e.Name()), kindOf(e.Type()))
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func kindOf(mode fs.FileMode) kind {
	switch {
	case mode.IsRegular():
		return regular
	case mode.IsDir():
		return directory
	case mode&fs.ModeSymlink != 0:
		return symlink
	}
	return irregular
}

// remote tells whether others may change the file system. Nothing is watched here, so it does not matter.
func (h handle) remote() bool { return false }

// exhausted tells whether an error is for want of descriptors or memory, and says nothing of the file.
func exhausted(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}
