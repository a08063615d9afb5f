package books

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// What an index holds at most, over all books. What does not fit is read whenever it
// is needed.
const (
	mostIndexed = 256 << 20
	mostText    = 64 << 20 // a longer file is no lesson: it is not searched
)

// index keeps texts of books in memory. A text is used as long as the store lists its
// object with the version that was read.
type index struct {
	mu    sync.Mutex
	texts map[string]map[string]*indexed // by the id of a book, then by key
	used  int64
}

// indexed is what was read of an object. It is never changed.
type indexed struct {
	data    []byte
	version string
	looked  time.Time // shortly before it was read
}

// filed is an object with the store that has it.
type filed struct {
	Object
	store Store
}

// text gives the content of a listed object; nil if it is gone by now.
func (l *Library) text(ctx context.Context, file *filed) ([]byte, error) {
	if known := l.index.find(file); known != nil {
		return known.data, nil
	}
	looked := l.Now()
	data, object, err := readAll(ctx, file.store, file.Key, mostText)
	var long *tooLongError
	switch {
	case errors.Is(err, ErrNotFound):
		return nil, nil
	case errors.As(err, &long):
		l.Log.Warn("a file is too long to be searched", "key", file.Key, "bytes", long.size)
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read for the index: %w", err)
	}
	l.index.put(file.Key, &indexed{data, object.Version, looked})
	return data, nil
}

// find gives what was read of a listed object, if that is still its content.
func (x *index) find(file *filed) *indexed {
	book, _, _ := splitKey(file.Key)
	x.mu.Lock()
	known := x.texts[book][file.Key]
	x.mu.Unlock()
	if known == nil || known.version != file.Version || racy(file.Modified, known.looked) {
		return nil
	}
	return known
}

// put keeps a text, if there is room.
func (x *index) put(key string, t *indexed) {
	x.mu.Lock()
	defer x.mu.Unlock()
	book, _, _ := splitKey(key)
	if old := x.texts[book][key]; old != nil {
		x.used -= int64(len(old.data))
		delete(x.texts[book], key)
	}
	if x.used+int64(len(t.data)) > mostIndexed {
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

// sweep forgets the texts of a book, or of all books, that are not among the files
// that the stores list.
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
		return // at worst as many are gone as were not read yet
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

// mostFacts is how many objects something is remembered of.
const mostFacts = 100_000

// facts remembers what was found out of objects by reading them, as long as they have
// the version that was read.
type facts struct {
	mu    sync.Mutex
	known map[string]fact // by key
}

type fact struct {
	version string
	mime    string // "" if nobody looked
	hash    string // likewise
}

// find gives what is known of an object, which may be nothing.
func (f *facts) find(o *Object) fact {
	f.mu.Lock()
	defer f.mu.Unlock()
	if known := f.known[o.Key]; known.version == o.Version {
		return known
	}
	return fact{version: o.Version}
}

// put remembers what was found out shortly after looked.
func (f *facts) put(o *Object, found fact, looked time.Time) {
	if racy(o.Modified, looked) {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.known == nil || len(f.known) == mostFacts {
		f.known = map[string]fact{}
	}
	f.known[o.Key] = found
}

// hashed is the hash of what was read of an object.
func (l *Library) hashed(o *Object, data []byte, looked time.Time) string {
	known := l.facts.find(o)
	if known.hash == "" {
		known.hash = hashOf(data)
		l.facts.put(o, known, looked)
	}
	return known.hash
}
