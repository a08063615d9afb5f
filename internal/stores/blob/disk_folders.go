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

// makeFolders opens the folder that a key begins with, and makes whatever is missing on
// the way, to stay.
func (d *Disk) makeFolders(dir string) (folder, error) {
	at, err := openFolder(d.dir)
	if errors.Is(err, fs.ErrNotExist) {
		if err := makeRoot(d.dir); err != nil {
			return folder{}, fmt.Errorf("make the folder of books: %w", err)
		}
		at, err = openFolder(d.dir)
	}
	if err != nil || dir == "" {
		return at, err
	}
	for step := range strings.SplitSeq(strings.TrimSuffix(dir, "/"), "/") {
		next, err := at.enterOrMake(step)
		at.close()
		if isMisplaced(err) {
			return folder{}, books.ErrNoPlace
		}
		if err != nil {
			return folder{}, err
		}
		at = next
	}
	return at, nil
}

// enterOrMake opens a folder in this one, which it makes if need be, to stay.
func (f folder) enterOrMake(name string) (folder, error) {
	next, err := f.enter(name)
	if !errors.Is(err, fs.ErrNotExist) {
		return next, err
	}
	// Another process may make it first, which is as good.
	if err := f.makeFolder(name); err != nil && !errors.Is(err, fs.ErrExist) {
		return folder{}, err
	}
	if err := f.sync(); err != nil {
		return folder{}, err
	}
	return f.enter(name)
}

// makeRoot makes a folder of the host, and those it lies in, to stay.
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

// prune removes a folder and those it is in, as far as they are there and empty.
func (d *Disk) prune(dir string) {
	for dir != "" {
		parent, name := path.Split(strings.TrimSuffix(dir, "/"))
		in, err := d.folderOf(parent)
		if err == nil {
			err = in.removeFolder(name)
			in.close()
		}
		if err != nil && !errors.Is(notFound(err), books.ErrNotFound) {
			return // there is something in it
		}
		dir = parent
	}
}

// staleAfter is when a draft was left behind by a process that is no more.
const staleAfter = time.Hour

// sweep removes the drafts that were left behind, unless somebody did so within the
// hour. It is no part of what is asked for, so nobody is told when it fails.
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

// sweep removes drafts that were last written before a time, here and beneath.
func (f folder) sweep(before int64) {
	names, _ := f.names()
	for _, name := range names {
		at, err := f.look(name)
		if err == nil && at.kind == aFile && strings.HasPrefix(name, tempPrefix) && at.modified < before {
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
