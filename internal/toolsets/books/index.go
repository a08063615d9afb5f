package books

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Limits of the index over all books. What does not fit is read again whenever it is needed.
const (
	maxIndexed = 256 << 20
	maxText    = 64 << 20 // a longer file is not a lesson and is not searched
)

// index caches texts of books in memory. A cached text is valid while the store lists its object
// with the version that was read.
type index struct {
	mu    sync.Mutex
	texts map[string]map[string]*indexed // by book id, then by key
	used  int64
}

// indexed is the content of an object as it was read. It is immutable.
type indexed struct {
	data      []byte
	version   string
	checkedAt time.Time // taken shortly before the read
}

// filed is an object with the store that contains it.
type filed struct {
	Object
	store Store
}

// text returns the content of a listed object, or nil if the object was deleted meanwhile.
func (l *Library) text(ctx context.Context, file *filed) ([]byte, error) {
	if known := l.index.find(file); known != nil {
		return known.data, nil
	}
	checkedAt := l.Now()
	data, object, err := readAll(ctx, file.store, file.Key, maxText)
	var long *tooLongError
	switch {
	case errors.Is(err, ErrNotFound):
		return nil, nil
	case errors.As(err, &long):
		l.Log.Warn("a file is too large to search", "key", file.Key, "bytes", long.size)
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read file for the index: %w", err)
	}
	data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")) // so that $ matches there
	l.index.put(file.Key, &indexed{data, object.Version, checkedAt})
	return data, nil
}

// find returns the cached text of a listed object if it is still current.
func (x *index) find(file *filed) *indexed {
	book, _, _ := splitKey(file.Key)
	x.mu.Lock()
	known := x.texts[book][file.Key]
	x.mu.Unlock()
	if known == nil || known.version != file.Version || racy(file.Modified, known.checkedAt) {
		return nil
	}
	return known
}

// put caches a text if there is room.
func (x *index) put(key string, t *indexed) {
	x.mu.Lock()
	defer x.mu.Unlock()
	book, _, _ := splitKey(key)
	if old := x.texts[book][key]; old != nil {
		x.used -= int64(len(old.data))
		delete(x.texts[book], key)
	}
	if x.used+int64(len(t.data)) > maxIndexed {
		return
	}
	if x.texts == nil {
		x.texts = map[string]map[string]*indexed{}
	}
	if x.texts[book] == nil {
		x.texts[book] = map[string]*indexed{}
	}
	x.texts[book][key] = t
	x.used += int64(len(t.data))
}

// sweep removes cached texts of a book, or of all books, that are not among the files that the
// stores list.
func (x *index) sweep(bookID string, all bool, listed []filed) {
	x.mu.Lock()
	defer x.mu.Unlock()
	known := 0
	for book, texts := range x.texts {
		if all || book == bookID {
			known += len(texts)
		}
	}
	if known <= len(listed) {
		return // few cached texts can be stale: there are no more of them than listed files
	}
	there := make(map[string]bool, len(listed))
	for i := range listed {
		there[listed[i].Key] = true
	}
	for book, texts := range x.texts {
		for key, t := range texts {
			if (all || book == bookID) && !there[key] {
				x.used -= int64(len(t.data))
				delete(texts, key)
			}
		}
	}
}

// maxFacts limits the number of objects about which facts are cached.
const maxFacts = 100_000

// facts caches what was found out about objects by reading them, while they have the version that
// was read.
type facts struct {
	mu    sync.Mutex
	known map[string]fact // by key
}

type fact struct {
	version string
	mime    string // "" if unknown
	hash    string // "" if unknown
}

// find returns what is known about an object: the zero fact if nothing is.
func (f *facts) find(o *Object) fact {
	f.mu.Lock()
	defer f.mu.Unlock()
	if known := f.known[o.Key]; known.version == o.Version {
		return known
	}
	return fact{version: o.Version}
}

// put caches a fact. checkedAt is a time shortly before the object was read.
func (f *facts) put(o *Object, found fact, checkedAt time.Time) {
	if racy(o.Modified, checkedAt) {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.known == nil || len(f.known) == maxFacts {
		f.known = map[string]fact{}
	}
	f.known[o.Key] = found
}

// hashed returns the hash of an object's data and caches it.
func (l *Library) hashed(o *Object, data []byte, checkedAt time.Time) string {
	known := l.facts.find(o)
	if known.hash == "" {
		known.hash = hashOf(data)
		l.facts.put(o, known, checkedAt)
	}
	return known.hash
}
