package app

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"remit/internal/stores/memlog"
)

// dataFolder is Remit's own folder. It is created when something is first stored in it, with a
// .gitignore that excludes it from git.
type dataFolder struct {
	path string
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
	if err := os.MkdirAll(d.path, 0o700); err != nil {
		return fmt.Errorf("create the data folder: %w", err)
	}
	if err := d.checkLinks(); err != nil {
		return err
	}
	ignore, err := os.OpenFile(filepath.Join(d.path, ".gitignore"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("exclude the data folder from git: %w", err)
	}
	_, err = ignore.WriteString("*\n")
	return errors.Join(err, ignore.Close())
}

// checkLinks rejects links in the place of the folder and its contents. A repository may contain
// links that would redirect our data to another place.
func (d *dataFolder) checkLinks() error {
	for _, folder := range []string{d.path, filepath.Join(d.path, "audit"), filepath.Join(d.path, "remit.db")} {
		if info, err := os.Lstat(folder); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return fmt.Errorf("%s is a link; remove it, or use another folder with --data", folder)
		}
	}
	return nil
}

// files opens the files of a subfolder.
func (d *dataFolder) files(folder string) memlog.Files {
	return preparedFiles{d, memlog.Dir(filepath.Join(d.path, folder))}
}

// preparedFiles opens files of the data folder, and creates that folder with the first file.
type preparedFiles struct {
	data *dataFolder
	dir  memlog.Dir
}

// OpenAppend implements memlog.Files.
func (p preparedFiles) OpenAppend(name string) (*os.File, error) {
	if err := p.data.prepare(); err != nil {
		return nil, err
	}
	return p.dir.OpenAppend(name)
}
