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
	"time"

	"remit/internal/toolsets/books"
)

// Disk keeps each object as a file beneath one folder, by its key. Several processes
// may use the folder at once, and people may edit what is in it. Links in it are never
// followed: what is behind one is not there.
type Disk struct {
	dir       string
	stripes   [stripeCount]sync.Mutex // in front of the lock files: one goroutine waits for each of those
	sweepOnce sync.Once
}

var _ books.Store = (*Disk)(nil)

// OpenDisk gives the objects beneath dir. The folder is made by the first write; before
// that, or if it is not there, there are no objects.
func OpenDisk(dir string) (*Disk, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("find the folder of books: %w", err)
	}
	return &Disk{dir: dir}, nil
}

// Name is what registries call a disk.
func (d *Disk) Name() string { return "fs" }

// SignPut gives no address: nobody but this program takes uploads to a disk.
func (d *Disk) SignPut(context.Context, string, int64, time.Duration) (books.Signed, bool, error) {
	return books.Signed{}, false, nil
}

// Open gives the content of an object as it is now: a write puts another file in the
// place of this one.
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
		return books.Object{}, notFound(fmt.Errorf("look at object: %w", err))
	}
	return at.object(key), nil
}

// root opens the folder of all objects, which is not kept open: it may be moved away
// and another one put in its place.
func (d *Disk) root() (folder, error) {
	root, err := openFolder(d.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return folder{}, books.ErrNotFound
	}
	if err != nil {
		return folder{}, fmt.Errorf("open the folder of books: %w", err)
	}
	return root, nil
}

// folderOf opens the folder that a key begins with, up to its last slash.
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

// notFound makes books.ErrNotFound of every way in which nothing is there.
func notFound(err error) error {
	if errors.Is(err, fs.ErrNotExist) || isMisplaced(err) || isTooLong(err) {
		return books.ErrNotFound
	}
	return err
}

// Names of our own. They are never keys, and never listed.
const (
	tempPrefix = ".remit-"
	lockFolder = ".locks"
)

// maxKey is how long a key may be. It is that of S3, and less than any system takes.
const maxKey = 1024

// isKey tells whether an object may be stored under a key at all.
func isKey(key string) bool {
	if len(key) > maxKey || key == lockFolder || strings.HasPrefix(key, lockFolder+"/") {
		return false
	}
	return !slices.ContainsFunc(strings.Split(key, "/"), func(part string) bool { return !isName(part) })
}

// isName tells whether a file or folder may be part of a key. Others are foreign, or
// ours alone.
func isName(name string) bool {
	if name == "" || name == "." || name == ".." || strings.HasPrefix(name, tempPrefix) {
		return false
	}
	return !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '.' && r != '-'
	})
}
