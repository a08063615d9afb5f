package books

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	chance "math/rand/v2"
	"sync"
	"time"

	"remit/internal/contract"
)

// What can be done to a file of a book.
const (
	opWrite     = "write"
	opDelete    = "delete"
	opUpload    = "upload"
	opUploadURL = "upload-url" // an address was given to upload it to
	opImport    = "import"
	opRestore   = "restore"
)

// mostTries is how often a change is tried again because others were faster.
const mostTries = 50

// edit says who changes something, and what must be so for it to happen.
type edit struct {
	by       string
	op       string
	expected string // the hash of what must be there; "" if anything may be, or nothing
}

// content is what is to be stored.
type content struct {
	size int64
	hash string                        // "" if only reading it would tell
	open func() (io.ReadCloser, error) // called for each try
}

func contentOf(data []byte) content {
	return content{
		size: int64(len(data)), hash: hashOf(data),
		open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil },
	}
}

// written is what came of a write.
type written struct {
	Object       // with its hash
	created bool // there was nothing before
	same    bool // the bytes were there already, so nothing was written
}

// write stores content at a path of a book and keeps what was there. The same bytes
// are not stored twice, whatever the edit expects. When it returns without an error,
// the book is registered.
func (l *Library) write(ctx context.Context, h home, path string, c content, e edit) (written, error) {
	key := h.key(path)
	var done written
	err := l.retry(ctx, key, func() error {
		old, err := current(ctx, h.store, key)
		if err != nil {
			return err
		}
		if old.Hash != "" && old.Hash == c.hash {
			done = written{Object: old, same: true}
			return nil
		}
		if e.expected != "" && e.expected != old.Hash {
			return conflictAt(key, e.expected, old.Hash)
		}
		return l.journaled(ctx, h, path, entry{By: e.by, Op: e.op, Old: old.Hash, New: c.hash, Size: c.size}, func() (hash string, err error) {
			reader, err := c.open()
			if err != nil {
				return "", err
			}
			defer func() { _ = reader.Close() }()
			done.Object, done.created, err = h.store.Put(ctx, key, reader, c.size, condOf(old.Hash))
			return done.Hash, err
		})
	})
	if err == nil {
		err = l.register(ctx, h)
	}
	return done, err
}

// remove deletes what is at a path of a book and keeps it in the history.
func (l *Library) remove(ctx context.Context, h home, path string, e edit) (existed bool, err error) {
	key := h.key(path)
	err = l.retry(ctx, key, func() error {
		old, err := current(ctx, h.store, key)
		if err != nil || old.Hash == "" {
			existed = false
			return err
		}
		if e.expected != "" && e.expected != old.Hash {
			return conflictAt(key, e.expected, old.Hash)
		}
		return l.journaled(ctx, h, path, entry{By: e.by, Op: e.op, Old: old.Hash}, func() (hash string, err error) {
			existed, err = h.store.Delete(ctx, key, Cond{Hash: old.Hash})
			return "", err
		})
	})
	return existed, err
}

// retry repeats a change that others came in between of. Those who wait longer than a
// change takes leave room for others, so that all get through.
func (l *Library) retry(ctx context.Context, key string, change func() error) error {
	for try := 1; ; try++ {
		begun := time.Now()
		err := change()
		if !errors.Is(err, ErrConflict) {
			return failureAt(ctx, key, err)
		}
		if try == mostTries {
			return contract.Errorf(contract.Unavailable, "Others keep changing %s; try again", key).With("path", key).Because(err)
		}
		most := min(time.Since(begun)*time.Duration(min(try, 16)), time.Second)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(chance.N(most + 1)): //nolint:gosec // it guards nothing
		}
	}
}

// current describes what is at a key, with its hash; the zero Object if nothing is.
func current(ctx context.Context, store Store, key string) (Object, error) {
	object, err := store.Stat(ctx, key)
	if errors.Is(err, ErrNotFound) {
		return Object{}, nil
	}
	if err != nil || object.Hash != "" {
		return object, err
	}
	body, err := store.Open(ctx, key)
	if errors.Is(err, ErrNotFound) {
		return Object{}, nil
	}
	if err != nil {
		return Object{}, err
	}
	defer func() { _ = body.Close() }()
	sum := sha256.New()
	if _, err := io.Copy(sum, body); err != nil {
		return Object{}, fmt.Errorf("read %s: %w", key, err)
	}
	object = body.Object
	object.Hash = hex.EncodeToString(sum.Sum(nil))
	return object, nil
}

func condOf(hash string) Cond { return Cond{Absent: hash == "", Hash: hash} }

// entry is a line of the history of a file.
type entry struct {
	ID   string    `json:"-"`
	Path string    `json:"-"`
	At   time.Time `json:"at"`
	By   string    `json:"by"`
	Op   string    `json:"op"`
	Old  string    `json:"old,omitempty"` // the hash of what was there; "" if nothing was
	New  string    `json:"new,omitempty"` // the hash of what is there since; "" after a delete, or if it was not known
	Size int64     `json:"size"`
}

// journaled keeps what was there, writes down what is going to happen, and lets it
// happen. So whatever happened is written down; what did not, is taken back. change
// gives the hash of what is there then.
func (l *Library) journaled(ctx context.Context, h home, path string, e entry, change func() (hash string, err error)) error {
	e.At = l.Now().UTC()
	key := logKey(h.book.ID, path, l.ids.next(e.At), e.By)
	if err := l.note(ctx, h, path, key, &e); err != nil {
		return err
	}
	hash, err := change()
	switch {
	case err == nil && hash != e.New: // nobody knew before all of it was read
		e.New = hash
		l.complete(ctx, h, key, &e)
	case err != nil && unchanged(ctx, h, path, &e, err):
		l.takeBack(ctx, h, key)
	}
	return err
}

// note keeps what was there and writes down what is going to happen.
func (l *Library) note(ctx context.Context, h home, path, key string, e *entry) error {
	if e.Old != "" {
		err := h.store.Copy(ctx, h.key(path), keptKey(h.book.ID, e.Old), e.Old)
		if errors.Is(err, ErrNotFound) {
			return &ConflictError{}
		}
		if err != nil {
			return err
		}
	}
	err := putLine(ctx, h.store, key, e, Cond{Absent: true})
	if err != nil {
		l.takeBack(ctx, h, key)
	}
	return err
}

// complete writes a line of the history again, with what is known by now.
func (l *Library) complete(ctx context.Context, h home, key string, e *entry) {
	ctx, cancel := late(ctx)
	defer cancel()
	if err := putLine(ctx, h.store, key, e, Cond{}); err != nil {
		l.Log.Warn("the history has a line that does not tell the hash", "key", key, "error", err)
	}
}

// takeBack removes a line of the history of what did not happen.
func (l *Library) takeBack(ctx context.Context, h home, key string) {
	ctx, cancel := late(ctx)
	defer cancel()
	if _, err := h.store.Delete(ctx, key, Cond{}); err != nil {
		l.Log.Warn("the history has a line of what did not happen", "key", key, "error", err)
	}
}

// late is for what puts the history right, also if whoever asked for the change has gone.
func late(ctx context.Context) (context.Context, context.CancelFunc) {
	const most = 10 * time.Second
	return context.WithTimeout(context.WithoutCancel(ctx), most)
}

func putLine(ctx context.Context, store Store, key string, e *entry, c Cond) error {
	data, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("encode a line of the history: %w", err)
	}
	_, _, err = store.Put(ctx, key, bytes.NewReader(data), int64(len(data)), c)
	return err
}

// unchanged tells whether a change that failed has left everything as it was.
func unchanged(ctx context.Context, h home, path string, e *entry, err error) bool {
	if errors.Is(err, ErrConflict) {
		return true
	}
	ctx, cancel := late(ctx)
	defer cancel()
	now, err := current(ctx, h.store, h.key(path))
	return err == nil && now.Hash == e.Old
}

// ids makes names that sort by time, for the lines of the history.
type ids struct {
	mu   sync.Mutex
	last int64
}

// idForm is a time to the nanosecond, without the dot that parts the name.
const idForm = "20060102T150405"

// next is greater than any before it in this process, whatever the clock says.
func (i *ids) next(now time.Time) string {
	i.mu.Lock()
	i.last = max(i.last+1, now.UnixNano())
	at := time.Unix(0, i.last).UTC()
	i.mu.Unlock()
	var tail [4]byte
	_, _ = rand.Read(tail[:]) // never fails
	return fmt.Sprintf("%s%09d-%x", at.Format(idForm), at.Nanosecond(), tail)
}
