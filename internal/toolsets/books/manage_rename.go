package books

import (
	"context"
	"crypto/sha256"
	"io"

	"remit/internal/contract"
)

// Rename gives a book another id. It moves the files one by one, so it takes several writes: while
// it runs, the registry has both ids with the status migrating, and nobody else can write to them.
// An interrupted Rename can be repeated, and goes on where it was.
func (l *Library) Rename(ctx context.Context, bookID, newID, by string, report func(Progress)) (BookFiles, error) {
	for _, id := range []string{bookID, newID} {
		if err := checkID(id); err != nil {
			return BookFiles{}, err
		}
	}
	old, err := l.beginRename(ctx, bookID, newID)
	if err != nil {
		return BookFiles{}, err
	}
	from, err := l.locate(ctx, bookID)
	if err != nil {
		return BookFiles{}, err
	}
	to := from
	to.book.ID = newID
	entry := old
	entry.Status = active
	moved, err := l.eachFile(ctx, from, report, func(ctx context.Context, path string) error {
		err := l.move(ctx, from, to, path, edit{by: by, op: opRename, book: &entry})
		if err != nil && contract.AsError(err).Kind == contract.Conflict {
			return nil // it has changed meanwhile, so it is moved in the next pass
		}
		return err
	})
	if err != nil {
		return moved, err
	}
	moved.Book = entry
	moved.ID = newID
	return moved, l.changeEntries(ctx, func(known *list) ([]entryChange, error) {
		was, is := known.find(bookID), known.find(newID)
		if !isRename(was, is) {
			return nil, contract.Errorf(contract.Conflict, "The entries of %s and %s in %s were changed during the rename; correct them there",
				bookID, newID, registryKey).With("path", registryKey)
		}
		return []entryChange{{from: was}, {is, &moved.Book}}, nil
	})
}

// isRename reports whether two entries are those of a book that is being renamed.
func isRename(was, is *Book) bool {
	return was != nil && is != nil && was.Status == migrating && is.Status == migrating &&
		was.Title == is.Title && was.Created == is.Created && was.Backend == is.Backend
}

// beginRename adds the new id to the registry and marks both ids as migrating, unless an
// interrupted rename has done so. It returns the entry of the book.
func (l *Library) beginRename(ctx context.Context, bookID, newID string) (old Book, err error) {
	err = l.changeEntries(ctx, func(known *list) ([]entryChange, error) {
		if was := known.find(bookID); isRename(was, known.find(newID)) {
			old = *was
			return nil, nil
		}
		was, err := l.changeable(ctx, known, bookID)
		if err != nil {
			return nil, err
		}
		old = *was
		if err := was.requireActive("renamed"); err != nil {
			return nil, err
		}
		h, err := l.locate(ctx, bookID)
		if err != nil {
			return nil, err
		}
		h.book.ID = newID
		files, err := l.files(ctx, h, "")
		if err != nil {
			return nil, err
		}
		if known.find(newID) != nil || known.check(newID) != nil || len(files) > 0 {
			return nil, alreadyExists(newID)
		}
		marked, added := *was, *was
		marked.Status, added.Status, added.ID = migrating, migrating, newID
		return []entryChange{{was, &marked}, {to: &added}}, nil
	})
	return old, err
}

// move moves a file of a book to another book in the same store.
func (l *Library) move(ctx context.Context, from, to location, path string, e edit) error {
	now, err := current(ctx, from.store, from.key(path))
	if err != nil || now.Hash == "" {
		return failureAt(ctx, from.key(path), err)
	}
	changed := &ConflictError{Actual: now.Hash}
	open := func() (io.ReadCloser, error) {
		body, err := from.store.Open(ctx, from.key(path))
		if err != nil {
			return nil, err
		}
		return &verified{body, sha256.New(), now.Hash, failureAt(ctx, from.key(path), changed)}, nil
	}
	if _, err := l.write(ctx, to, path, content{size: now.Size, hash: now.Hash, open: open}, e); err != nil {
		return err
	}
	e.expected = now.Hash
	_, err = l.remove(ctx, from, path, e)
	return err
}
