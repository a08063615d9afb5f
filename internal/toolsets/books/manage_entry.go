package books

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"remit/internal/contract"
)

// The statuses of a book that cannot be written to.
const (
	archived  = "archived"
	migrating = "migrating"
)

// Details describes a book and what it contains.
type Details struct {
	Overview
	Summaries int    `json:"summaries"`
	Assets    int    `json:"assets"`
	Files     int    `json:"files"`
	Bytes     int64  `json:"bytes"`
	Changed   string `json:"changed_at,omitempty"` // of the newest file; RFC 3339, in UTC
}

// Describe returns the details of a book, and the paths of its lessons.
func (l *Library) Describe(ctx context.Context, bookID string) (d Details, lessons []string, err error) {
	if err := checkID(bookID); err != nil {
		return d, nil, err
	}
	h, files, err := l.contents(ctx, bookID)
	if err != nil {
		return d, nil, err
	}
	d.Book, d.Files = h.book, len(files)
	var newest time.Time
	for i := range files {
		at := strings.TrimPrefix(files[i].Key, h.key(""))
		switch {
		case strings.HasPrefix(at, "lessons/") && path.Ext(at) == ".md":
			lessons = append(lessons, at)
		case path.Base(at) == summaryFile:
			d.Summaries++
		case strings.HasPrefix(at, assetsPrefix):
			d.Assets++
		}
		d.Bytes += files[i].Size
		if files[i].Modified.After(newest) {
			newest = files[i].Modified
		}
	}
	if d.Lessons = len(lessons); d.Files > 0 {
		d.Changed = newest.UTC().Format(time.RFC3339)
	}
	return d, lessons, nil
}

// Text returns the text of a file of a book.
func (l *Library) Text(ctx context.Context, bookID, path string) (string, error) {
	if err := checkNames(bookID, path); err != nil {
		return "", err
	}
	d, err := l.read(ctx, bookID, path)
	return d.text, err
}

// SetTitle changes the title of a book.
func (l *Library) SetTitle(ctx context.Context, bookID, title string) (Book, error) {
	if title = cleanTitle(title); title == "" {
		return Book{}, contract.Errorf(contract.Invalid, "The title is empty; give one with letters or digits").With("field", "title")
	}
	return l.changeBook(ctx, bookID, func(b *Book) error {
		b.Title = title
		return b.requireActive("changed")
	})
}

// SetArchived archives a book, so that nobody can change its files, or makes it active again.
func (l *Library) SetArchived(ctx context.Context, bookID string, isArchived bool) (Book, error) {
	return l.changeBook(ctx, bookID, func(b *Book) error {
		if b.Status = active; isArchived {
			b.Status = archived
		}
		return nil
	})
}

// changeBook changes the entry of a book in the registry.
func (l *Library) changeBook(ctx context.Context, bookID string, change func(b *Book) error) (book Book, err error) {
	if err := checkID(bookID); err != nil {
		return book, err
	}
	err = l.changeEntries(ctx, func(known *list) ([]entryChange, error) {
		old, err := l.changeable(ctx, known, bookID)
		if err != nil {
			return nil, err
		}
		book = *old
		if err := change(&book); err != nil || book == *old {
			return nil, err
		}
		return []entryChange{{old, &book}}, nil
	})
	return book, err
}

// requireActive returns an error if the book is archived, so that it cannot be changed, renamed or
// removed.
func (b *Book) requireActive(done string) error {
	if b.Status == active {
		return nil
	}
	return contract.Errorf(contract.Invalid, "The book %s is %s, so it cannot be %s; "+
		"make it active first: remit books archive %s --undo", b.ID, b.Status, done, b.ID).With("path", booksPrefix+b.ID)
}

// changeable returns the entry of a book that is not being renamed or moved.
func (l *Library) changeable(ctx context.Context, known *list, bookID string) (*Book, error) {
	if err := known.check(bookID); err != nil {
		return nil, err
	}
	old := known.find(bookID)
	if old == nil {
		return nil, l.unregistered(ctx, bookID)
	}
	if old.Status == migrating {
		return nil, contract.Errorf(contract.Invalid, "The book %s is migrating; if a rename of it was interrupted, repeat the rename first",
			bookID).With("path", booksPrefix+bookID)
	}
	return old, nil
}

// unregistered returns the error for a book that the registry does not have.
func (l *Library) unregistered(ctx context.Context, bookID string) error {
	h, err := l.locate(ctx, bookID)
	if err == nil {
		err = l.checkExists(ctx, h)
	}
	if err != nil {
		return err
	}
	return contract.Errorf(contract.NotFound, "The book %s has files, but is not in %s; the next write to it adds it there",
		bookID, registryKey).With("path", booksPrefix+bookID)
}

// BookFiles says which book was changed, and how much of it.
type BookFiles struct {
	Book
	Files int   `json:"files"`
	Bytes int64 `json:"bytes"`
}

// maxPasses limits how often the files of a book are listed again, because others go on writing
// while it is removed or renamed.
const maxPasses = 5

// eachFile calls do for every file of a book, until the book has none.
func (l *Library) eachFile(
	ctx context.Context, h location, report func(Progress), do func(ctx context.Context, path string) error,
) (n BookFiles, err error) {
	n.Book = h.book
	for range maxPasses {
		files, err := l.files(ctx, h, "")
		if err != nil || len(files) == 0 {
			return n, err
		}
		total := int64(0)
		for i := range files {
			total += files[i].Size
		}
		n.Files, n.Bytes = n.Files+len(files), n.Bytes+total
		count := newCounter(total, report)
		err = inParallel(ctx, maxParallel, len(files), func(ctx context.Context, i int) error {
			path := strings.TrimPrefix(files[i].Key, h.key(""))
			defer count.add(path, files[i].Size)
			return do(ctx, path)
		})
		if err != nil {
			return n, failure(ctx, err)
		}
	}
	return n, contract.Errorf(contract.Unavailable, "Others keep writing to the book %s; repeat the command when they have stopped",
		h.book.ID).With("path", booksPrefix+h.book.ID)
}

// Remove removes a book that is not archived. The history keeps its files and its entry, so that
// RestoreBook can bring it back. An interrupted Remove can be repeated.
func (l *Library) Remove(ctx context.Context, bookID, by string, report func(Progress)) (BookFiles, error) {
	if err := checkID(bookID); err != nil {
		return BookFiles{}, err
	}
	h, err := l.locate(ctx, bookID)
	if err == nil {
		err = l.checkExists(ctx, h)
	}
	if err == nil && h.registered {
		// Refuses one that is migrating or archived.
		h.book, err = l.changeBook(ctx, bookID, func(b *Book) error { return b.requireActive("removed") })
	}
	if err != nil {
		return BookFiles{}, err
	}
	entry := h.book
	removed, err := l.eachFile(ctx, h, report, func(ctx context.Context, path string) error {
		_, err := l.remove(ctx, h, path, edit{by: by, op: opRemove, book: &entry})
		return err
	})
	if err != nil {
		return removed, err
	}
	return removed, l.changeEntries(ctx, func(known *list) ([]entryChange, error) {
		if known.find(bookID) == nil {
			return nil, known.check(bookID)
		}
		old, err := l.changeable(ctx, known, bookID)
		return []entryChange{{from: old}}, err
	})
}

// RestoreBook brings back the files of a book that were removed with it and do not exist now, and
// registers the book again. An interrupted RestoreBook can be repeated.
func (l *Library) RestoreBook(ctx context.Context, bookID, by string, report func(Progress)) (done BookFiles, err error) {
	if err := checkID(bookID); err != nil {
		return done, err
	}
	h, err := l.writable(ctx, bookID)
	if err != nil {
		return done, err
	}
	removed, err := l.removedFiles(ctx, h)
	if err != nil {
		return done, err
	}
	if len(removed) == 0 {
		if err := l.checkExists(ctx, h); err != nil {
			return done, err
		}
		return done, contract.Errorf(contract.NotFound, "The book %s was not removed; name a file of it to restore that",
			bookID).With("path", booksPrefix+bookID)
	}
	if h, err = l.registerAgain(ctx, h, removed); err != nil {
		return done, err
	}
	var size atomic.Int64
	count := newCounter(0, report)
	err = inParallel(ctx, maxParallel, len(removed), func(ctx context.Context, i int) error {
		c, err := l.kept(ctx, h, removed[i].Old)
		if err == nil {
			_, err = l.write(ctx, h, removed[i].Path, c, edit{by: by, op: opRestore, seen: Absent})
		}
		size.Add(c.size)
		count.add(removed[i].Path, c.size)
		return err
	})
	return BookFiles{h.book, len(removed), size.Load()}, failure(ctx, err)
}

// registerAgain registers a book that was removed, unless it is registered.
func (l *Library) registerAgain(ctx context.Context, h location, removed []entry) (location, error) {
	if h.registered {
		return h, nil
	}
	newest := slices.MaxFunc(removed, func(a, b entry) int { return a.At.Compare(b.At) })
	book := *newest.Book
	book.ID, book.Backend, book.Status = h.book.ID, h.store.Name(), active
	book.Title, book.Created = cmp.Or(book.Title, titleOf(book.ID)), cmp.Or(book.Created, l.Now().UTC().Format(time.RFC3339))
	err := l.changeEntries(ctx, func(known *list) ([]entryChange, error) {
		if known.find(book.ID) != nil {
			return nil, nil
		}
		return []entryChange{{to: &book}}, nil
	})
	if err != nil {
		return h, err
	}
	return l.writable(ctx, book.ID)
}

// removedFiles returns the last changes of the files of a book that were removed with it, and that
// do not exist now.
func (l *Library) removedFiles(ctx context.Context, h location) ([]entry, error) {
	lines, err := l.lines(ctx, h, "")
	if err != nil {
		return nil, err
	}
	files, err := l.files(ctx, h, "")
	if err != nil {
		return nil, err
	}
	last := map[string]line{}
	for _, at := range lines {
		if at.id > last[at.path].id {
			last[at.path] = at
		}
	}
	for i := range files {
		delete(last, strings.TrimPrefix(files[i].Key, h.key("")))
	}
	gone := make([]line, 0, len(last))
	for _, at := range last {
		gone = append(gone, at)
	}
	slices.SortFunc(gone, func(a, b line) int { return strings.Compare(a.path, b.path) })
	entries := make([]entry, len(gone))
	err = inParallel(ctx, maxParallel, len(gone), func(ctx context.Context, i int) (err error) {
		entries[i], err = l.entryAt(ctx, h, gone[i])
		return err
	})
	return slices.DeleteFunc(entries, func(e entry) bool { return e.Op != opRemove || e.Old == "" || e.Book == nil }), err
}
