package books

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"remit/internal/contract"
)

// registryKey is the key of the registry in the main store.
const registryKey = "registry.yaml"

// maxRegistry is the maximum size of a registry in bytes.
const maxRegistry = 1 << 20

// active is the status of a book that can be written to.
const active = "active"

// registryRefresh is how long reads use the cached registry without checking it. Only the store of
// a known book depends on it.
const registryRefresh = time.Second

// registry caches the list of books. It reloads the list when it has changed.
type registry struct {
	mu        sync.Mutex
	read      *list
	version   string    // of the cached list
	loaded    time.Time // taken shortly before the list was read
	checkedAt time.Time // when the list was last known to be current
}

// list is the content of a registry.yaml. It is immutable.
type list struct {
	text   []byte        // as it is stored; nil if there is no registry
	books  []Book        // the books of the previous valid text if err is set
	broken []brokenEntry // the entries that are ignored
	err    error         // why the text is not a valid registry
}

func (l *list) find(bookID string) *Book {
	if at := slices.IndexFunc(l.books, func(b Book) bool { return b.ID == bookID }); at >= 0 {
		return &l.books[at]
	}
	return nil
}

// check refuses a book whose only entry is broken: it is unknown whether the book may be written to
// and which store contains it.
func (l *list) check(bookID string) error {
	at := slices.IndexFunc(l.broken, func(b brokenEntry) bool { return b.bookID == bookID })
	if at < 0 || l.find(bookID) != nil {
		return nil
	}
	return contract.Errorf(contract.Unavailable, "%s has an invalid entry for the book %s (%s), so the book cannot be changed; correct the entry first", registryKey, bookID, l.broken[at].why).
		With("path", registryKey)
}

// find returns the entry of a book, or nil. It also returns the error of the registry's current
// content, if there is one.
func (r *registry) find(ctx context.Context, l *Library, store Store, bookID string) (*Book, error) {
	r.mu.Lock()
	known, checkedAt := r.read, r.checkedAt
	r.mu.Unlock()
	if known != nil && l.Now().Sub(checkedAt).Abs() < registryRefresh {
		if entry := known.find(bookID); entry != nil {
			return entry, nil
		}
	}
	fresh, err := r.fresh(ctx, l, store)
	if fresh = cmp.Or(fresh, known); fresh == nil {
		return nil, err
	}
	return fresh.find(bookID), err
}

// fresh returns the registry as it is stored now. If it is broken, fresh returns the last valid one
// and an error.
func (r *registry) fresh(ctx context.Context, l *Library, store Store) (*list, error) {
	now := l.Now()
	object, err := store.Stat(ctx, registryKey)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return nil, fmt.Errorf("stat registry: %w", err)
	}
	r.mu.Lock()
	known := r.read
	same := known != nil && r.version == object.Version && (object.Version == "" || !racy(object.Modified, r.loaded))
	if same {
		r.checkedAt = now
	}
	r.mu.Unlock()
	if !same {
		return r.load(ctx, l, store, known)
	}
	return known, known.err
}

// load reads the registry and logs its errors unless they were logged before. It holds no lock, so
// that a slow store delays only callers that need the result.
func (r *registry) load(ctx context.Context, l *Library, store Store, known *list) (*list, error) {
	now := l.Now()
	text, object, err := readAll(ctx, store, registryKey, maxRegistry)
	if long := (*tooLongError)(nil); errors.As(err, &long) {
		return nil, contract.Errorf(contract.Unavailable, "registry.yaml has %d bytes, so books can neither be listed nor written; at most %d bytes are read", long.size, long.limit).
			With("path", registryKey)
	}
	if err != nil && !errors.Is(err, ErrNotFound) {
		return nil, fmt.Errorf("read registry: %w", err)
	}
	books, broken, err := parseRegistry(text)
	for _, entry := range broken {
		if known == nil || !slices.Contains(known.broken, entry) {
			l.Log.Warn("ignoring an invalid entry of registry.yaml", "why", entry.why)
		}
	}
	if err != nil {
		err = brokenRegistry(err)
		if known != nil {
			books = known.books
		}
	}
	read := &list{text: text, books: books, broken: broken, err: err}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.read, r.version, r.loaded, r.checkedAt = read, object.Version, now, now
	return read, err
}

func brokenRegistry(cause error) error {
	return contract.Errorf(contract.Unavailable, "registry.yaml has an error in line %d, so books cannot be listed or written; correct it first", lineOf(cause)).
		With("path", registryKey).Because(cause)
}

// racy reports whether an object was modified so shortly before it was looked at, or after that,
// that another change could have the same version. It ignores modification times far in the future.
func racy(modified, checkedAt time.Time) bool {
	age := checkedAt.Sub(modified)
	return age < 50*time.Millisecond && age > -time.Minute
}

// register adds a book to the registry if it is not registered. Concurrent calls add it once.
func (l *Library) register(ctx context.Context, h location) (*addedBook, error) {
	if h.registered {
		return nil, nil
	}
	return l.addBook(ctx, h, titleOf(h.book.ID))
}

// addBook adds a book to the registry. It returns nil if the id is registered already.
func (l *Library) addBook(ctx context.Context, h location, title string) (added *addedBook, err error) {
	book := Book{ID: h.book.ID, Title: title, Backend: h.store.Name(), Created: l.Now().UTC().Format(time.RFC3339), Status: active}
	err = l.changeEntries(ctx, func(known *list) ([]entryChange, error) {
		if added = nil; known.find(book.ID) != nil {
			return nil, nil
		}
		added = &addedBook{book.ID, nearestID(book.ID, known.books)}
		return []entryChange{{to: &book}}, nil
	})
	return added, err
}

// hashOf returns the SHA-256 of a text, or "" if the text is nil.
func hashOf(text []byte) string {
	if text == nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// readAll returns the content of an object of at most limit bytes.
func readAll(ctx context.Context, store Store, key string, limit int64) ([]byte, Object, error) {
	body, err := store.Open(ctx, key)
	if err != nil {
		return nil, Object{}, err
	}
	defer func() { _ = body.Close() }()
	if body.Size > limit {
		return nil, body.Object, &tooLongError{key, body.Size, limit}
	}
	data := make([]byte, body.Size)
	if _, err := io.ReadFull(body, data); err != nil {
		return nil, body.Object, fmt.Errorf("read %s: %w", key, err)
	}
	return data, body.Object, nil
}

// tooLongError reports that an object exceeds the size limit of a read.
type tooLongError struct {
	key         string
	size, limit int64
}

func (e *tooLongError) Error() string {
	return fmt.Sprintf("%s is %d bytes long; at most %d are read", e.key, e.size, e.limit)
}
