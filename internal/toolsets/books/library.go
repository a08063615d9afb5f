package books

import (
	"context"
	"log/slog"
	"time"

	"remit/internal/contract"
)

// Library implements all operations on books, for tools and for people. It must not be copied.
// Every change of a book's file goes through its write and remove methods, which record the
// history.
type Library struct {
	// Returns the stores; called when they are needed.
	Stores func(ctx context.Context) (Stores, error)
	Now    func() time.Time
	Log    *slog.Logger
	// Secrets says which files of books nobody may reach; nil has the built-in rules.
	Secrets *contract.SecretPolicy

	registry registry
	index    index
	facts    facts
	ids      ids
	settling settling
	locks    keyLocks
}

// Stores holds the stores that contain the books.
type Stores struct {
	Main  Store // contains the registry and new books
	Other Store // contains the books whose registry entry names it; nil if there is only one store
}

// Book is an entry of the registry.
type Book struct {
	ID      string `json:"book_id"`
	Title   string `json:"title"`
	Backend string `json:"storage_backend"` // the name of the store that contains it
	Created string `json:"created_at"`      // RFC 3339
	Status  string `json:"status"`          // active, archived or migrating
}

// location is the location of one book.
type location struct {
	store      Store
	book       Book // only the ID is set if the book is not registered
	registered bool
}

func (h *location) key(path string) string { return Key(h.book.ID, path) }

// locate finds the store of a book for reading. A book that is not registered belongs to the main
// store, whether the store contains files of it or not.
func (l *Library) locate(ctx context.Context, bookID string) (location, error) {
	stores, err := l.stores(ctx)
	if err != nil {
		return location{}, err
	}
	entry, err := l.registry.find(ctx, l, stores.Main, bookID)
	switch {
	case err == nil || entry != nil:
	case stores.Other != nil || ctx.Err() != nil: // unknown which of the two stores contains it
		return location{}, failure(ctx, err)
	default: // there is only one store, so reads continue
		l.Log.Warn("cannot read the book registry", "error", err)
	}
	return stores.location(bookID, entry)
}

// writable finds the store of a book for writing. It refuses a book that is archived or migrating.
// A book that is not registered passes: its first write registers it.
func (l *Library) writable(ctx context.Context, bookID string) (location, error) {
	stores, err := l.stores(ctx)
	if err != nil {
		return location{}, err
	}
	list, err := l.registry.fresh(ctx, l, stores.Main)
	if err == nil {
		err = list.check(bookID)
	}
	if err != nil {
		return location{}, failure(ctx, err)
	}
	h, err := stores.location(bookID, list.find(bookID))
	if err == nil && h.registered && h.book.Status != active {
		return location{}, contract.Errorf(contract.Invalid, "The book %s is %s, so it cannot be changed; its status is in %s", bookID, h.book.Status, registryKey).
			With("field", "book_id").With("path", booksPrefix+bookID)
	}
	return h, err
}

// location returns the location of a book. entry is nil if the book is not registered.
func (s Stores) location(bookID string, entry *Book) (location, error) {
	if entry == nil {
		return location{store: s.Main, book: Book{ID: bookID}}, nil
	}
	for _, store := range []Store{s.Main, s.Other} {
		if store != nil && store.Name() == entry.Backend {
			return location{store: store, book: *entry, registered: true}, nil
		}
	}
	form := "file://folder"
	if entry.Backend == "s3" {
		form = "s3://bucket/prefix"
	}
	return location{}, contract.Errorf(contract.Unavailable, "The book %s uses %s storage, which this server has no address for; add the address to --books, after a comma (%s)",
		bookID, entry.Backend, form).With("path", booksPrefix+bookID)
}

func (l *Library) stores(ctx context.Context) (Stores, error) {
	stores, err := l.Stores(ctx)
	if err != nil {
		return stores, failure(ctx, err)
	}
	stores.Main = guarded{stores.Main, l.Secrets}
	if stores.Other != nil {
		stores.Other = guarded{stores.Other, l.Secrets}
	}
	return stores, nil
}

// Books returns the registered books in the order of the registry.
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

// files lists the stored objects of a book below a path, ordered by key.
func (l *Library) files(ctx context.Context, h location, beneath string) ([]Object, error) {
	var found []Object
	for object, err := range h.store.List(ctx, h.key(beneath)) {
		if err != nil {
			return nil, failure(ctx, err)
		}
		found = append(found, object)
	}
	return found, nil
}

// checkExists returns an error if a book is neither registered nor stored.
func (l *Library) checkExists(ctx context.Context, h location) error {
	if h.registered {
		return nil
	}
	for _, err := range h.store.List(ctx, h.key("")) {
		return failure(ctx, err)
	}
	return l.missing(ctx, h, "")
}
