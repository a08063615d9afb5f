package blob

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"remit/internal/toolsets/books"
)

// makeFolders opens the folder of a key. It creates missing folders on the way and syncs them.
func (d *Disk) makeFolders(dir string) (folder, error) {
	at, err := openFolder(d.dir)
	if errors.Is(err, fs.ErrNotExist) {
		if err := makeRoot(d.dir); err != nil {
			return folder{}, fmt.Errorf("make the folder of books: %w", err)
		}
		at, err = openFolder(d.dir)
	}
	dir = strings.Trim(d.below+"/"+dir, "/")
	if err != nil || dir == "" {
		return at, err
	}
	for step := range strings.SplitSeq(dir, "/") {
		next, err := at.enterOrMake(step)
		at.close()
		if isMisplaced(err) {
			return folder{}, books.ErrPathConflict
		}
		if err != nil {
			return folder{}, err
		}
		at = next
	}
	return at, nil
}

// enterOrMake opens a folder in this one. If the folder is missing, it creates and syncs it.
func (f folder) enterOrMake(name string) (folder, error) {
	next, err := f.enter(name)
	if !errors.Is(err, fs.ErrNotExist) {
		return next, err
	}
	// It does not matter if another process creates the folder first.
	if err := f.makeFolder(name); err != nil && !errors.Is(err, fs.ErrExist) {
		return folder{}, err
	}
	if err := f.sync(); err != nil {
		return folder{}, err
	}
	return f.enter(name)
}

// makeRoot creates a folder of the host and its parents, and syncs them.
func makeRoot(host string) error {
	err := os.Mkdir(host, 0o755)
	parent := filepath.Dir(host)
	if errors.Is(err, fs.ErrNotExist) && parent != host {
		if err := makeRoot(parent); err != nil {
			return err
		}
		err = os.Mkdir(host, 0o755)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	in, err := openFolder(parent)
	if err != nil {
		return err
	}
	defer in.close()
	return in.sync()
}

// prune removes a folder and its parents, as long as they exist and are empty.
func (d *Disk) prune(dir string) {
	for dir != "" {
		parent, name := path.Split(strings.TrimSuffix(dir, "/"))
		in, err := d.folderOf(parent)
		if err == nil {
			err = in.removeFolder(name)
			in.close()
		}
		if err != nil && !errors.Is(notFound(err), books.ErrNotFound) {
			return // it is not empty
		}
		dir = parent
	}
}

// staleAfter is the age after which a draft belongs to a process that has ended.
const staleAfter = time.Hour

// sweepHourly calls sweep with the first write, and with the first one an hour after the last time.
func (d *Disk) sweepHourly() {
	at, now := d.sweptAt.Load(), time.Now()
	if now.Sub(time.Unix(0, at)) >= staleAfter && d.sweptAt.CompareAndSwap(at, now.UnixNano()) {
		d.sweep()
	}
}

// sweep removes stale drafts, unless another process did so within the last hour. It reports no
// errors, because it is not part of the caller's request.
func (d *Disk) sweep() {
	root, err := d.root()
	if err != nil {
		return
	}
	defer root.close()
	locks, err := root.enterOrMake(lockFolder)
	if err != nil {
		return
	}
	defer locks.close()
	const mark = "swept"
	now := time.Now()
	if at, err := locks.look(mark); err == nil && at.modified > now.Add(-staleAfter).UnixNano() {
		return
	}
	file, err := locks.openOwn(mark, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return
	}
	_ = file.Close() // nothing was written
	if locks.stamp(mark, now) == nil {
		root.sweep(now.Add(-staleAfter).UnixNano())
	}
}

// sweep removes the drafts in this folder and below that were last written before a time.
func (f folder) sweep(before int64) {
	names, _ := f.names()
	for _, name := range names {
		at, err := f.look(name)
		if err == nil && at.kind == aFile && strings.HasPrefix(name, tempPrefix) && name != idName && at.modified < before {
			_ = f.remove(name)
		}
		if err != nil || at.kind != aFolder {
			continue
		}
		if next, err := f.enter(name); err == nil {
			next.sweep(before)
			next.close()
		}
	}
}
