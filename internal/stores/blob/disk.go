package blob

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"remit/internal/storageid"
	"remit/internal/toolsets/books"
)

// Disk stores each object as a file under one folder, named by its key. Several processes may use
// the folder at once, and people may edit the files. Symbolic links in the folder are never
// followed: to Disk, a link does not exist.
type Disk struct {
	dir   string
	below string // the path of the folder within dir, free of links; "" for dir itself
	// Locked before the lock files, so that only one goroutine waits for each lock file.
	stripes [stripeCount]sync.Mutex
	sweptAt atomic.Int64      // when this process last looked for stale drafts, in Unix nanoseconds
	id      *storageid.Folder // nil: any folder at the path is the right one
}

var _ books.Store = (*Disk)(nil)

// OpenDisk returns the objects in dir. The first write creates the folder; while the folder does
// not exist, there are no objects.
func OpenDisk(dir string) (*Disk, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("resolve the folder of books: %w", err)
	}
	return &Disk{dir: dir}, nil
}

// OpenDiskIn returns the objects in a folder below dir. No link below dir is followed.
func OpenDiskIn(dir, below string) (*Disk, error) {
	d, err := OpenDisk(dir)
	if err == nil {
		d.below = below
	}
	return d, err
}

// Name returns the name of this store in registries.
func (d *Disk) Name() string { return "fs" }

// Open returns the current content of an object. A later write replaces the file, and does not
// change the content that is being read.
func (d *Disk) Open(ctx context.Context, key string) (*books.Body, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if !isKey(key) {
		return nil, books.ErrNotFound
	}
	root, err := d.root()
	if err != nil {
		return nil, err
	}
	defer root.close()
	file, at, err := root.openFile(key)
	if err != nil {
		return nil, notFound(fmt.Errorf("open object: %w", err))
	}
	return &books.Body{ReadSeekCloser: file, Object: at.object(key)}, nil
}

// Stat describes an object without its hash.
func (d *Disk) Stat(ctx context.Context, key string) (books.Object, error) {
	if err := ctx.Err(); err != nil {
		return books.Object{}, err
	}
	if !isKey(key) {
		return books.Object{}, books.ErrNotFound
	}
	dir, name := path.Split(key)
	in, err := d.folderOf(dir)
	if err != nil {
		return books.Object{}, err
	}
	defer in.close()
	at, err := in.look(name)
	if err == nil && at.kind != aFile {
		err = errMisplaced
	}
	if err != nil {
		return books.Object{}, notFound(fmt.Errorf("stat object: %w", err))
	}
	return at.object(key), nil
}

// root opens the folder of all objects. It is opened each time, because it may be moved away and
// come back. If it is known, another folder in its place is an error.
func (d *Disk) root() (folder, error) {
	if err := d.checkID(); err != nil {
		return folder{}, err
	}
	return d.openRoot()
}

func (d *Disk) openRoot() (folder, error) {
	root, err := openFolder(d.dir)
	if err == nil && d.below != "" {
		defer root.close()
		root, err = root.enter(d.below)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return folder{}, books.ErrNotFound
	}
	if err != nil {
		return folder{}, fmt.Errorf("open the folder of books: %w", err)
	}
	return root, nil
}

// folderOf opens the folder of a key, given as the part of the key up to its last slash.
func (d *Disk) folderOf(dir string) (folder, error) {
	if dir != "" && !isKey(strings.TrimSuffix(dir, "/")) {
		return folder{}, books.ErrNotFound
	}
	root, err := d.root()
	if err != nil || dir == "" {
		return root, err
	}
	defer root.close()
	in, err := root.enter(strings.TrimSuffix(dir, "/"))
	if err != nil {
		return folder{}, notFound(fmt.Errorf("open folder: %w", err))
	}
	return in, nil
}

// notFound converts every error that means that there is no object to books.ErrNotFound.
func notFound(err error) error {
	if errors.Is(err, fs.ErrNotExist) || isMisplaced(err) || isTooLong(err) {
		return books.ErrNotFound
	}
	return err
}

// Names reserved for this package. They are never keys, and never listed.
const (
	tempPrefix = ".remit-"
	idName     = ".remit-id"
	lockFolder = ".locks"
)

// maxKey is the maximum length of a key. It is the limit of S3, and less than the limit of any
// operating system.
const maxKey = 1024

// isKey reports whether an object may be stored under a key.
func isKey(key string) bool {
	if len(key) > maxKey || key == lockFolder || strings.HasPrefix(key, lockFolder+"/") {
		return false
	}
	return !slices.ContainsFunc(strings.Split(key, "/"), func(part string) bool { return !isName(part) })
}

// isName reports whether the name of a file or folder may be part of a key. Other names are
// reserved, or belong to files that no Store has written.
func isName(name string) bool {
	if name == "" || name == "." || name == ".." || strings.HasPrefix(name, tempPrefix) {
		return false
	}
	return !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '.' && r != '-'
	})
}
