package app

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sync"

	"remit/internal/stores/memlog"
	"remit/internal/stores/workspace"
)

// dataFolder is Remit's own folder. It is created when something is first stored in it, with a
// .gitignore that excludes it from git.
type dataFolder struct {
	path string
	root *workspace.Root // what is within it belongs to others, so no link there is followed
	// mayCreate returns an error if the folder must exist already; nil if there is no such rule.
	mayCreate func() error

	mu   sync.Mutex
	made bool
}

// prepare creates the folder, also if it was removed before a database was in it.
func (d *dataFolder) prepare() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.made {
		if _, err := os.Lstat(d.path); err == nil {
			return nil
		}
	}
	err := d.create()
	d.made = err == nil
	return err
}

func (d *dataFolder) create() error {
	if _, err := os.Lstat(d.path); errors.Is(err, fs.ErrNotExist) && d.mayCreate != nil {
		if err := d.mayCreate(); err != nil {
			return err
		}
	}
	if err := d.checkLinks(); err != nil {
		return err
	}
	ignore, err := d.openAppend(".gitignore")
	if err != nil {
		return fmt.Errorf("create the data folder: %w", err)
	}
	if info, statErr := ignore.Stat(); statErr != nil || info.Size() == 0 {
		_, err = ignore.WriteString("*\n")
	}
	return errors.Join(err, ignore.Close())
}

// openAppend opens a file of the folder for appending. It creates the file and the folders above it
// if they are missing.
func (d *dataFolder) openAppend(name string) (*os.File, error) {
	if folder, ok := d.root.Within(d.path); ok {
		return d.root.OpenPrivate(path.Join(folder, filepath.ToSlash(name)))
	}
	return memlog.Dir(d.path).OpenAppend(name)
}

// checkLinks rejects links in the place of the folder and its contents. A repository may contain
// links that would redirect our data to another place.
func (d *dataFolder) checkLinks() error {
	for _, folder := range []string{d.path, filepath.Join(d.path, "audit"), filepath.Join(d.path, processFolder), filepath.Join(d.path, "remit.db")} {
		if info, err := os.Lstat(folder); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return fmt.Errorf("%s is a link; remove it, or use another folder with --data", folder)
		}
	}
	return nil
}

// preparedFiles opens files of a folder in the data folder, which it creates with the first file.
type preparedFiles struct {
	data   *dataFolder
	folder string
}

// OpenAppend implements memlog.Files.
func (p preparedFiles) OpenAppend(name string) (*os.File, error) {
	if err := p.data.prepare(); err != nil {
		return nil, err
	}
	return p.data.openAppend(filepath.Join(p.folder, name))
}
