package blob

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"remit/internal/storageid"
	"remit/internal/toolsets/books"
)

// Identify gives the folder an id with the first write. From then on no other folder counts in its
// place: not the empty mount point of a volume, and none that was made anew.
func (d *Disk) Identify(known storageid.Memory, refuse func(why string) error) {
	folder := filepath.Join(d.dir, filepath.FromSlash(d.below))
	d.id = &storageid.Folder{Path: folder, ID: storageid.IDFile{Folder: folder, Open: d.openID}, Memory: known, Refuse: refuse}
}

// Close stops holding the folder open.
func (d *Disk) Close() {
	if d.id != nil {
		d.id.Close()
	}
}

func (d *Disk) checkID() error {
	if d.id == nil {
		return nil
	}
	return d.id.Check()
}

func (d *Disk) claimID() error {
	if d.id == nil {
		return nil
	}
	return d.id.Claim()
}

func (d *Disk) openID(create bool) (*os.File, error) {
	if create {
		root, err := d.makeFolders("")
		if err != nil {
			return nil, err
		}
		defer root.close()
		return root.openOwn(idName, os.O_RDWR|os.O_APPEND|os.O_CREATE)
	}
	root, err := d.openRoot()
	if errors.Is(err, books.ErrNotFound) {
		return nil, fs.ErrNotExist
	}
	if err != nil {
		return nil, err
	}
	defer root.close()
	file, _, err := root.openFile(idName)
	return file, err
}
