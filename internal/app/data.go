package app

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sync"
	"sync/atomic"

	"remit/internal/storageid"
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
	onCreate  func()            // called before the folder is created; may be nil
	id        *storageid.Folder // nil: any folder at the path is the right one

	mu   sync.Mutex
	made bool
}

// identify makes the folder one that must stay the same once something was acknowledged as stored
// in it.
func (d *dataFolder) identify(known storageid.Memory) {
	id := storageid.IDFile{Folder: d.path, Open: d.openID}
	d.id = &storageid.Folder{Path: d.path, ID: id, Memory: known, Refuse: refuseStorage("The data folder of this workspace")}
}

func (d *dataFolder) openID(create bool) (*os.File, error) {
	if create {
		return d.openAppend("id")
	}
	return openRegular(filepath.Join(d.path, "id"))
}

// check returns an error if the folder is not the one that was used before.
func (d *dataFolder) check() error {
	if d.id == nil {
		return nil
	}
	return d.id.Check()
}

// comesBack returns a function that reports, once, whether the folder is there again, if it is
// missing now because the volume of the workspace is not mounted yet. Nothing is written before.
func (d *dataFolder) comesBack() func() bool {
	if _, within := d.root.Within(d.path); !within || d.check() == nil {
		return nil
	}
	var cameBack atomic.Bool
	return func() bool { return d.check() == nil && !cameBack.Swap(true) }
}

// claim prepares the folder before something is acknowledged as stored in it.
func (d *dataFolder) claim() error {
	if err := d.prepare(); err != nil || d.id == nil {
		return err
	}
	return d.id.Claim()
}

// close stops holding the folder open.
func (d *dataFolder) close() {
	if d.id != nil {
		d.id.Close()
	}
}

// prepare creates the folder, unless something that was acknowledged as stored in it is missing.
func (d *dataFolder) prepare() error {
	if err := d.check(); err != nil {
		return err
	}
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
	_, err := os.Lstat(d.path)
	isNew := errors.Is(err, fs.ErrNotExist)
	if isNew && d.mayCreate != nil {
		if err := d.mayCreate(); err != nil {
			return err
		}
	}
	if err := d.checkLinks(); err != nil {
		return err
	}
	if isNew && d.onCreate != nil {
		d.onCreate()
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
	for _, name := range []string{"", "audit", processFolder, announcedFolder, "remit.db", indexFolder} {
		folder := filepath.Join(d.path, name)
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

// reason removes a path from an error whose message already names the path.
func reason(err error) error {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return pathErr.Err
	}
	return err
}
