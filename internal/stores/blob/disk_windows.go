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

// folder is an open folder. os.Root does not let go what is beneath it, and looking
// before each step keeps it from links that lead to another place beneath.
type folder struct{ root *os.Root }

// openFolder opens a folder of the host, to which links may lead.
func openFolder(host string) (folder, error) {
	root, err := os.OpenRoot(host)
	return folder{root}, err
}

func (f folder) close() { _ = f.root.Close() } // nothing was written through it

// enter opens a folder beneath this one.
func (f folder) enter(path string) (folder, error) {
	if err := f.passable(path, aFolder); err != nil {
		return folder{}, err
	}
	root, err := f.root.OpenRoot(path)
	return folder{root}, err
}

// openFile opens a file beneath this folder to read it.
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

// passable makes sure that a path leads through folders alone, to what it should.
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

// openOwn opens a file of ours in this folder.
func (f folder) openOwn(name string, flags int) (*os.File, error) {
	return f.root.OpenFile(name, flags, 0o644)
}

// look tells what stands in this folder under a name, be it a link.
func (f folder) look(name string) (node, error) {
	info, err := f.root.Lstat(name)
	if err != nil {
		return node{}, err
	}
	return nodeOf(info), nil
}

// names reads the names in this folder.
func (f folder) names() ([]string, error) {
	file, err := f.root.Open(".")
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return file.Readdirnames(-1)
}

// stamp says when a file in this folder was written.
func (f folder) stamp(name string, at time.Time) error { return f.root.Chtimes(name, at, at) }

func (f folder) makeFolder(name string) error { return f.root.Mkdir(name, 0o755) }

// rename puts one file of this folder in the place of another.
func (f folder) rename(from, to string) error { return f.root.Rename(from, to) }

func (f folder) remove(name string) error { return f.root.Remove(name) }

// removeFolder removes a folder in this one if it is empty, and nothing else.
func (f folder) removeFolder(name string) error {
	host, err := windows.UTF16PtrFromString(filepath.Join(f.root.Name(), name))
	if err != nil {
		return err
	}
	return windows.RemoveDirectory(host)
}

// sync does nothing: Windows has no such call.
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

// isMisplaced tells whether a part of a path is a link, or a file where a folder should
// be, or the reverse.
func isMisplaced(err error) bool {
	return errors.Is(err, errMisplaced) || errors.Is(err, windows.ERROR_DIRECTORY) || errors.Is(err, syscall.ENOTDIR)
}

func isTooLong(err error) bool {
	return errors.Is(err, windows.ERROR_FILENAME_EXCED_RANGE) || errors.Is(err, windows.ERROR_INVALID_NAME)
}
