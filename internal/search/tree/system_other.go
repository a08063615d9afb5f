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

// rootHandle is an open root folder. os.Root keeps paths below it.
type rootHandle struct {
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

// openRoot opens a root folder. It follows a link to it.
func openRoot(path string) (*rootHandle, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	id, err := identify(path)
	if err != nil {
		root.Close()
		return nil, err
	}
	return &rootHandle{root: root, id: id, tick: fineTick}, nil
}

func (p *rootHandle) close() { _ = p.root.Close() }

// identify returns the identity of the folder at a path. It follows links.
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

// folder opens a folder below the root for listing. No path element may be a link.
func (p *rootHandle) folder(path string) (handle, error) { return p.open(path, directory) }

// file opens a file below the root for reading. No path element may be a link. It opens regular
// files only, because opening a FIFO could block.
func (p *rootHandle) file(path string) (handle, error) { return p.open(path, regular) }

func (p *rootHandle) open(name string, want kind) (handle, error) {
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

// lstat returns the status of a path below the root. The last path element may be a link, the
// others may not.
func (p *rootHandle) lstat(name string) (status, error) {
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

// lstat returns the status of an entry of the folder.
func (h handle) lstat(name string) (status, error) {
	info, err := h.root.Lstat(filepath.FromSlash(path.Join(h.path, name)))
	if err != nil {
		return status{}, err
	}
	return convert(info), nil
}

// openFile opens a file in the folder for reading.
func (h handle) openFile(name string) (handle, error) {
	st, err := h.lstat(name)
	if err != nil || st.kind != regular {
		return handle{}, errors.Join(err, ErrIrregular)
	}
	name = path.Join(h.path, name)
	file, err := h.root.Open(filepath.FromSlash(name))
	return handle{h.root, name, file}, err
}

func (h handle) read(data []byte) (int, error) { return h.open.Read(data) }

// file converts the handle to an os.File, which then owns it.
func (h handle) file(string) (*os.File, error) { return h.open, nil }

// entries calls each for the names in the folder, in the order of the disk.
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

// remote reports whether other machines may change the file system. Nothing is watched on this
// system, so it does not matter.
func (h handle) remote() bool { return false }

// exhausted reports whether an error is due to a lack of descriptors, and not to the file itself.
func exhausted(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}
