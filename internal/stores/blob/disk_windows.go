package blob

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/windows"
)

// folder is an open folder. os.Root keeps paths inside of it, and the check before each step
// rejects links to other places inside.
type folder struct{ root *os.Root }

// openFolder opens a folder of the host. Its path may contain links.
func openFolder(host string) (folder, error) {
	root, err := os.OpenRoot(host)
	return folder{root}, err
}

func (f folder) close() { _ = f.root.Close() } // nothing was written through it

// enter opens a folder below this one.
func (f folder) enter(path string) (folder, error) {
	if err := f.passable(path, aFolder); err != nil {
		return folder{}, err
	}
	root, err := f.root.OpenRoot(path)
	return folder{root}, err
}

// openFile opens a file below this folder for reading.
func (f folder) openFile(path string) (*os.File, node, error) {
	if err := f.passable(path, aFile); err != nil {
		return nil, node{}, err
	}
	file, err := f.root.Open(path)
	if err != nil {
		return nil, node{}, err
	}
	info, err := file.Stat()
	if err == nil && nodeOf(info).kind != aFile {
		err = errMisplaced
	}
	if err != nil {
		return nil, node{}, errors.Join(err, file.Close())
	}
	return file, nodeOf(info), nil
}

// passable returns an error unless a path leads through folders only, to an entry of kind end.
func (f folder) passable(name string, end kind) error {
	steps := strings.Split(name, "/")
	for i := range steps {
		at, err := f.look(path.Join(steps[:i+1]...))
		if err != nil {
			return err
		}
		if i < len(steps)-1 && at.kind != aFolder || i == len(steps)-1 && at.kind != end {
			return errMisplaced
		}
	}
	return nil
}

// openOwn opens one of the package's own files in this folder.
func (f folder) openOwn(name string, flags int) (*os.File, error) {
	return f.root.OpenFile(name, flags, 0o644)
}

// look returns the metadata of an entry of this folder, without following a link.
func (f folder) look(name string) (node, error) {
	info, err := f.root.Lstat(name)
	if err != nil {
		return node{}, err
	}
	return nodeOf(info), nil
}

// names returns the names in this folder.
func (f folder) names() ([]string, error) {
	file, err := f.root.Open(".")
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return file.Readdirnames(-1)
}

// stamp sets the modification time of a file in this folder.
func (f folder) stamp(name string, at time.Time) error { return f.root.Chtimes(name, at, at) }

func (f folder) makeFolder(name string) error { return f.root.Mkdir(name, 0o755) }

// rename renames a file in this folder and replaces the target.
func (f folder) rename(from, to string) error { return f.root.Rename(from, to) }

func (f folder) remove(name string) error { return f.root.Remove(name) }

// removeFolder removes a folder in this one if it is empty. It removes nothing else.
func (f folder) removeFolder(name string) error {
	host, err := windows.UTF16PtrFromString(filepath.Join(f.root.Name(), name))
	if err != nil {
		return err
	}
	return windows.RemoveDirectory(host)
}

// sync does nothing: Windows has no call to sync a folder.
func (f folder) sync() error { return nil }

func nodeOf(info fs.FileInfo) node {
	n := node{kind: another, size: info.Size(), modified: info.ModTime().UnixNano()}
	if data, ok := info.Sys().(*syscall.Win32FileAttributeData); ok {
		n.changed = data.CreationTime.Nanoseconds()
	}
	switch {
	case info.Mode().IsRegular():
		n.kind = aFile
	case info.IsDir():
		n.kind = aFolder
	}
	return n
}

// isMisplaced reports whether a part of a path is a link, a file instead of a folder, or the
// reverse.
func isMisplaced(err error) bool {
	return errors.Is(err, errMisplaced) || errors.Is(err, windows.ERROR_DIRECTORY) || errors.Is(err, syscall.ENOTDIR)
}

func isTooLong(err error) bool {
	return errors.Is(err, windows.ERROR_FILENAME_EXCED_RANGE) || errors.Is(err, windows.ERROR_INVALID_NAME)
}
