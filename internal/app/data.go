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

// dataFolder is Remit's own folder. It is made when something is first kept
// there, and keeps itself out of git.
type dataFolder struct {
	path string
	mu   sync.Mutex
	made bool
}

// prepare makes the folder, again if somebody has taken it away.
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
	if err := os.MkdirAll(d.path, 0o700); err != nil {
		return fmt.Errorf("make the data folder: %w", err)
	}
	// A repository may bring links along that would lead our data elsewhere.
	for _, folder := range []string{d.path, filepath.Join(d.path, "audit"), filepath.Join(d.path, "remit.db")} {
		if info, err := os.Lstat(folder); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return fmt.Errorf("%s is a link; remove it, or name another folder with --data", folder)
		}
	}
	ignore, err := os.OpenFile(filepath.Join(d.path, ".gitignore"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("keep the data folder out of git: %w", err)
	}
	_, err = ignore.WriteString("*\n")
	return errors.Join(err, ignore.Close())
}

// files opens the files of a folder in it.
func (d *dataFolder) files(folder string) memlog.Files {
	return preparedFiles{d, memlog.Dir(filepath.Join(d.path, folder))}
}

// preparedFiles are files of the data folder; the folder is made with the first.
type preparedFiles struct {
	data *dataFolder
	dir  memlog.Dir
}

// OpenAppend keeps the promise of memlog.Files.
func (p preparedFiles) OpenAppend(name string) (*os.File, error) {
	if err := p.data.prepare(); err != nil {
		return nil, err
	}
	return p.dir.OpenAppend(name)
}

// each converts a slice of one type to a slice of another.
func each[From, To any](list []From, as func(From) To) []To {
	made := make([]To, len(list))
	for i := range list {
		made[i] = as(list[i])
	}
	return made
}
