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

// List returns the objects whose keys begin with prefix, in byte order of the keys. It skips files
// whose names cannot be part of a key.
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

// listing walks through folders and passes the objects to yield.
type listing struct {
	ctx   context.Context
	yield func(books.Object, error) bool
}

// walk lists a folder whose keys begin with at, limited to names that begin with start. more
// reports whether to continue.
func (l *listing) walk(in folder, at, start string) (more bool, err error) {
	if err := l.ctx.Err(); err != nil {
		return false, err
	}
	found, err := in.entries(at == "", start)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil // the folder was removed together with its last object
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
		return true, nil // it existed a moment ago
	case err != nil:
		return false, fmt.Errorf("list folder: %w", err)
	}
	defer next.close()
	return l.walk(next, at, "")
}

// entry is a file or folder in a folder. The name of a folder ends in a slash, so that entries sort
// in the order of the keys.
type entry struct {
	name string
	node
}

// entries returns the entries whose names may be part of a key and begin with start.
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
