package blob

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path"
	"slices"
	"strings"

	"remit/internal/toolsets/books"
)

// List gives the objects whose keys begin with prefix, in the order of their bytes.
// Files with names that no key has are passed over.
func (d *Disk) List(ctx context.Context, prefix string) iter.Seq2[books.Object, error] {
	return func(yield func(books.Object, error) bool) {
		dir, start := path.Split(prefix)
		in, err := d.folderOf(dir)
		if err == nil {
			defer in.close()
			l := listing{ctx, yield}
			_, err = l.walk(in, dir, start)
		}
		if err != nil && !errors.Is(err, books.ErrNotFound) {
			yield(books.Object{}, err)
		}
	}
}

// listing is a walk through folders that gives what it finds to yield.
type listing struct {
	ctx   context.Context
	yield func(books.Object, error) bool
}

// walk lists a folder, whose keys begin with at: what has names that begin with start.
// It tells whether to go on.
func (l *listing) walk(in folder, at, start string) (more bool, err error) {
	if err := l.ctx.Err(); err != nil {
		return false, err
	}
	found, err := in.entries(at == "", start)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil // whoever deleted its last object removed it
	}
	if err != nil {
		return false, fmt.Errorf("list folder: %w", err)
	}
	for i := range found {
		key := at + found[i].name
		if found[i].kind == aFile {
			more = l.yield(found[i].object(key), nil)
		} else {
			more, err = l.descend(in, found[i].name, key)
		}
		if err != nil || !more {
			return false, err
		}
	}
	return true, nil
}

func (l *listing) descend(in folder, name, at string) (more bool, err error) {
	next, err := in.enter(strings.TrimSuffix(name, "/"))
	switch {
	case errors.Is(err, fs.ErrNotExist), isMisplaced(err):
		return true, nil // it was there a moment ago
	case err != nil:
		return false, fmt.Errorf("list folder: %w", err)
	}
	defer next.close()
	return l.walk(next, at, "")
}

// entry is a file or folder in a folder. The names of folders end in a slash, so that
// their order is that of the keys.
type entry struct {
	name string
	node
}

// entries gives what has a name that keys may have and that begins with start.
func (f folder) entries(isRoot bool, start string) ([]entry, error) {
	names, err := f.names()
	if err != nil {
		return nil, err
	}
	found := make([]entry, 0, len(names))
	for _, name := range names {
		if !strings.HasPrefix(name, start) || !isName(name) || isRoot && name == lockFolder {
			continue
		}
		at, err := f.look(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, err
		case at.kind == aFile:
			found = append(found, entry{name, at})
		case at.kind == aFolder:
			found = append(found, entry{name + "/", at})
		}
	}
	slices.SortFunc(found, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	return found, nil
}
