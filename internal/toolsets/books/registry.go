package books

import (
	"bytes"
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

// registryKey is where the main store has the registry.
const registryKey = "registry.yaml"

// mostRegistry is how long a registry may be.
const mostRegistry = 16 << 20

// active is the status of a book that can be written to.
const active = "active"

// restFor is how long a read trusts what was read of the registry. Nothing but the
// place of a known book depends on it.
const restFor = time.Second

// registry is the list of books as it was read last. It is read again when it changed.
type registry struct {
	mu      sync.Mutex
	read    *list
	version string    // of what was read
	loaded  time.Time // shortly before it was read
	looked  time.Time // when it was known to be the latest
}

// list is a registry.yaml. It is never changed.
type list struct {
	text   []byte        // as it is stored; nil if there is none
	books  []Book        // those of the text before, if there is an error
	broken []brokenEntry // what is left out
	err    error         // why it is no registry at all
}

func (l *list) find(bookID string) *Book {
	if at := slices.IndexFunc(l.books, func(b Book) bool { return b.ID == bookID }); at >= 0 {
		return &l.books[at]
	}
	return nil
}

// check refuses a book whose only entry is broken. Nobody can know whether it is to be
// written to, or where it is kept.
func (l *list) check(bookID string) error {
	at := slices.IndexFunc(l.broken, func(b brokenEntry) bool { return b.bookID == bookID })
	if at < 0 || l.find(bookID) != nil {
		return nil
	}
	return contract.Errorf(contract.Unavailable, "%s is wrong where it names the book %s (%s), so it cannot be changed; put that right first", registryKey, bookID, l.broken[at].why).
		With("path", registryKey)
}

// find gives the entry of a book, or nil. Besides there is what is wrong with the
// registry as it is now.
func (r *registry) find(ctx context.Context, l *Library, store Store, bookID string) (*Book, error) {
	r.mu.Lock()
	known, looked := r.read, r.looked
	r.mu.Unlock()
	if known != nil && l.Now().Sub(looked).Abs() < restFor {
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

// fresh gives the registry as it is stored now. If it is broken, there is an error
// besides.
func (r *registry) fresh(ctx context.Context, l *Library, store Store) (*list, error) {
	now := l.Now()
	object, err := store.Stat(ctx, registryKey)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return nil, fmt.Errorf("look at the registry: %w", err)
	}
	r.mu.Lock()
	known := r.read
	same := known != nil && r.version == object.Version && (object.Version == "" || !racy(object.Modified, r.loaded))
	if same {
		r.looked = now
	}
	r.mu.Unlock()
	if !same {
		return r.load(ctx, l, store, known)
	}
	return known, known.err
}

// load reads the registry, and logs what is wrong with it unless that is known. Nobody
// waits for it but who needs it: the store may take its time.
func (r *registry) load(ctx context.Context, l *Library, store Store, known *list) (*list, error) {
	now := l.Now()
	text, object, err := readAll(ctx, store, registryKey, mostRegistry)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return nil, fmt.Errorf("read the registry: %w", err)
	}
	books, broken, err := parseRegistry(text)
	for _, entry := range broken {
		if known == nil || !slices.Contains(known.broken, entry) {
			l.Log.Warn("an entry of registry.yaml is left out", "why", entry.why)
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
	r.read, r.version, r.loaded, r.looked = read, object.Version, now, now
	return read, err
}

func brokenRegistry(cause error) error {
	return contract.Errorf(contract.Unavailable, "registry.yaml is broken in line %d, so books can neither be listed nor written; put it right first", lineOf(cause)).
		With("path", registryKey).Because(cause)
}

// racy tells whether something changed so shortly before it was looked at, or since
// then, that another change could have the same version. A time far ahead is none at
// which somebody wrote.
func racy(modified, looked time.Time) bool {
	age := looked.Sub(modified)
	return age < 50*time.Millisecond && age > -time.Minute
}

// register puts a book into the registry that is not there yet. Of many who do so at
// the same time, one does.
func (l *Library) register(ctx context.Context, h home) error {
	if h.registered {
		return nil
	}
	return l.addBook(ctx, h, titleOf(h.book.ID))
}

// addBook puts a book into the registry, unless one of its id is there.
func (l *Library) addBook(ctx context.Context, h home, title string) error {
	book := Book{ID: h.book.ID, Title: title, Backend: h.store.Name(), Created: l.Now().UTC().Format(time.RFC3339), Status: active}
	stores, err := l.stores(ctx)
	if err != nil {
		return err
	}
	return l.retry(ctx, registryKey, func() error {
		known, err := l.registry.fresh(ctx, l, stores.Main)
		if err != nil || known.find(book.ID) != nil {
			return err
		}
		text, err := appendBook(known.text, &book)
		if err != nil {
			return err
		}
		_, _, err = stores.Main.Put(ctx, registryKey, bytes.NewReader(text), int64(len(text)), condOf(hashOf(known.text)))
		if errors.Is(err, ErrNoPlace) {
			return contract.Errorf(contract.Unavailable, "%s is a folder or a link, so books can neither be listed nor added; put a file in its place first", registryKey).
				With("path", registryKey)
		}
		return err
	})
}

// hashOf is the hash of a text, or "" of none.
func hashOf(text []byte) string {
	if text == nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// readAll gives the content of an object that is at most so long.
func readAll(ctx context.Context, store Store, key string, most int64) ([]byte, Object, error) {
	body, err := store.Open(ctx, key)
	if err != nil {
		return nil, Object{}, err
	}
	defer func() { _ = body.Close() }()
	if body.Size > most {
		return nil, body.Object, &tooLongError{key, body.Size, most}
	}
	data := make([]byte, body.Size)
	if _, err := io.ReadFull(body, data); err != nil {
		return nil, body.Object, fmt.Errorf("read %s: %w", key, err)
	}
	return data, body.Object, nil
}

// tooLongError says that an object is longer than what is read at once.
type tooLongError struct {
	key        string
	size, most int64
}

func (e *tooLongError) Error() string {
	return fmt.Sprintf("%s is %d bytes long; at most %d are read", e.key, e.size, e.most)
}
