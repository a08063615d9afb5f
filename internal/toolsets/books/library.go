package books

import (
	"context"
	"log/slog"
	"time"

	"remit/internal/contract"
)

// Library is what tools and people do with books. It is used by its address; whatever
// changes a file of a book goes through its write and remove, which keep the history.
type Library struct {
	Stores func(ctx context.Context) (Stores, error) // gives the stores; called when they are needed
	Now    func() time.Time
	Log    *slog.Logger

	registry registry
	index    index
	facts    facts
	ids      ids
}

// Stores are where books are kept.
type Stores struct {
	Main  Store // holds the registry and new books
	Other Store // holds the books whose entry names it; nil if there is only one
}

// Book is an entry of the registry.
type Book struct {
	ID      string `json:"book_id"`
	Title   string `json:"title"`
	Backend string `json:"storage_backend"` // the name of the store that it is kept in
	Created string `json:"created_at"`      // RFC 3339
	Status  string `json:"status"`          // active, archived or migrating
}

// home is where one book is kept.
type home struct {
	store      Store
	book       Book // its ID alone if it is not registered
	registered bool
}

func (h *home) key(path string) string { return Key(h.book.ID, path) }

// place finds where a book is kept, to read it. A book that is not registered has its
// place in the main store, whether there is anything of it or not.
func (l *Library) place(ctx context.Context, bookID string) (home, error) {
	stores, err := l.stores(ctx)
	if err != nil {
		return home{}, err
	}
	entry, err := l.registry.find(ctx, l, stores.Main, bookID)
	switch {
	case err == nil || entry != nil:
	case stores.Other != nil || ctx.Err() != nil: // nobody knows which of the two has it
		return home{}, failure(ctx, err)
	default: // there is but one place, so reads go on
		l.Log.Warn("the registry cannot be read", "error", err)
	}
	return stores.home(bookID, entry)
}

// writable finds where a book is kept, to write to it. A book that is archived or
// migrating is not to be written to; one that is not registered will be, with its first
// write.
func (l *Library) writable(ctx context.Context, bookID string) (home, error) {
	stores, err := l.stores(ctx)
	if err != nil {
		return home{}, err
	}
	list, err := l.registry.fresh(ctx, l, stores.Main)
	if err == nil {
		err = list.check(bookID)
	}
	if err != nil {
		return home{}, failure(ctx, err)
	}
	h, err := stores.home(bookID, list.find(bookID))
	if err == nil && h.registered && h.book.Status != active {
		return home{}, contract.Errorf(contract.Invalid, "The book %s is %s, so it cannot be changed; its status is in %s", bookID, h.book.Status, registryKey).
			With("field", "book_id").With("path", booksPrefix+bookID)
	}
	return h, err
}

// home is the place of a book, whose entry is nil if it is not registered.
func (s Stores) home(bookID string, entry *Book) (home, error) {
	if entry == nil {
		return home{store: s.Main, book: Book{ID: bookID}}, nil
	}
	for _, store := range []Store{s.Main, s.Other} {
		if store != nil && store.Name() == entry.Backend {
			return home{store: store, book: *entry, registered: true}, nil
		}
	}
	form := "file://folder"
	if entry.Backend == "s3" {
		form = "s3://bucket/prefix"
	}
	return home{}, contract.Errorf(contract.Unavailable, "The book %s is kept in a store of the kind %s, which this server does not have; add its address to --books, after a comma (%s)",
		bookID, entry.Backend, form).With("path", booksPrefix+bookID)
}

func (l *Library) stores(ctx context.Context) (Stores, error) {
	stores, err := l.Stores(ctx)
	return stores, failure(ctx, err)
}

// Books gives the registered books, in the order of the registry.
func (l *Library) Books(ctx context.Context) ([]Book, error) {
	stores, err := l.stores(ctx)
	if err != nil {
		return nil, err
	}
	list, err := l.registry.fresh(ctx, l, stores.Main)
	if err != nil {
		return nil, failure(ctx, err)
	}
	return list.books, nil
}

// files lists what is stored of a book beneath a path of it, in the order of keys.
func (l *Library) files(ctx context.Context, h home, beneath string) ([]Object, error) {
	var found []Object
	for object, err := range h.store.List(ctx, h.key(beneath)) {
		if err != nil {
			return nil, failure(ctx, err)
		}
		found = append(found, object)
	}
	return found, nil
}

// known refuses a book that is neither registered nor there.
func (l *Library) known(ctx context.Context, h home) error {
	if h.registered {
		return nil
	}
	for _, err := range h.store.List(ctx, h.key("")) {
		return failure(ctx, err)
	}
	return l.missing(ctx, h, "")
}
