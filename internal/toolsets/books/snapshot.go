package books

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Snapshot lists what a store holds at one moment, while others go on writing. An object that was
// replaced or deleted since is read from the history, where that has it.
type Snapshot struct {
	Store   Store
	Objects []Object // files of books, the registry and the history

	known map[string]bool // the keys of history records
}

// TakeSnapshot lists the objects of a store. The history is listed after the files, so that it has
// a record of every change in them.
func TakeSnapshot(ctx context.Context, store Store) (*Snapshot, error) {
	s := &Snapshot{Store: store, known: map[string]bool{}}
	for object, err := range store.List(ctx, "") {
		if err != nil {
			return nil, fmt.Errorf("list the books: %w", err)
		}
		if !strings.HasPrefix(object.Key, ".") { // the history, or of this store alone
			s.Objects = append(s.Objects, object)
		}
	}
	for object, err := range store.List(ctx, historyPrefix) {
		if err != nil {
			return nil, fmt.Errorf("list the history of the books: %w", err)
		}
		s.known[object.Key] = true
		s.Objects = append(s.Objects, object)
	}
	return s, nil
}

// Open returns the content of an object as it was, or ErrNotFound if that is gone.
func (s *Snapshot) Open(ctx context.Context, o Object) (*Body, error) {
	body, err := s.Store.Open(ctx, o.Key)
	if err == nil && body.Version == o.Version || err != nil && !errors.Is(err, ErrNotFound) {
		return body, err
	}
	kept, keptErr := s.replaced(ctx, o.Key)
	if keptErr == nil {
		if body != nil {
			keptErr = body.Close()
		}
		return kept, keptErr
	}
	if !errors.Is(keptErr, ErrNotFound) && err != nil {
		return nil, keptErr
	}
	return body, err // changed by hand, so that there is no other version
}

// replaced returns what an object was before the first change since the snapshot.
func (s *Snapshot) replaced(ctx context.Context, key string) (*Body, error) {
	book, path, ok := strings.Cut(strings.TrimPrefix(key, booksPrefix), "/")
	if !ok || !strings.HasPrefix(key, booksPrefix) {
		return nil, ErrNotFound
	}
	for object, err := range s.Store.List(ctx, logPrefix(book, path)+"/") {
		if err != nil {
			return nil, err
		}
		if at, ok := parseLine(book, object.Key); !ok || at.path != path || s.known[object.Key] {
			continue
		}
		e, err := readEntry(ctx, s.Store, object.Key)
		if err != nil {
			return nil, err
		}
		return s.Store.Open(ctx, keptKey(book, e.Old))
	}
	return nil, ErrNotFound
}

// RegistryKey is the key of the registry in the main store.
const RegistryKey = registryKey

// MoveRegistry returns a registry in which the books are in the store with another name.
func MoveRegistry(text []byte, from, to string) []byte {
	backend := regexp.MustCompile(`(storage_backend["']?\s*:\s*["']?)` + regexp.QuoteMeta(from) + `\b`)
	return backend.ReplaceAll(text, []byte("${1}"+to))
}
