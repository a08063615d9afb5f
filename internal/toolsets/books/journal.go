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
	mathrand "math/rand/v2"
	"sync"
	"time"

	"remit/internal/contract"
	"remit/internal/engine"
	"remit/internal/engine/audit"
)

// The operations that the history records.
const (
	opWrite   = "write"
	opDelete  = "delete"
	opUpload  = "upload"
	opImport  = "import"
	opRestore = "restore"
	opRemove  = "remove" // with its book
	opRename  = "rename" // the id of its book
)

// deletes reports whether an operation without new content means that there is none.
func deletes(op string) bool { return op == opDelete || op == opRemove || op == opRename }

// The operations that change the entry of a book in the registry. Audit records have them, the
// history does not.
const (
	opRegister   = "register"
	opUnregister = "unregister"
	opEdit       = "edit"
)

// maxTries limits how often a change is tried again because others changed the file meanwhile.
const maxTries = 50

// edit says who makes a change and what it expects of the current content.
type edit struct {
	by       string
	op       string
	expected string // the expected hash of the current content; "" accepts any content, or none
	seen     string // the state of the content that a person saw; "" if nobody was asked
	book     *Book  // the entry of the book that is removed or renamed; otherwise nil
}

// check returns an error if the current content, with its hash, is not what the edit expects.
func (e *edit) check(key, hash string) error {
	switch {
	case e.seen != "" && e.seen != stateOf(hash):
		return engine.StaleError(key).With("path", key)
	case e.expected != "" && e.expected != hash:
		return conflictAt(key, e.expected, hash)
	}
	return nil
}

// content is what a write stores.
type content struct {
	size   int64
	hash   string
	open   func() (io.ReadCloser, error) // called for each attempt
	staged Staged                        // set instead of open if the store has the content already
}

// put stores the content.
func (c content) put(ctx context.Context, store Store, key string, cond Cond) (Object, bool, error) {
	if c.staged != nil {
		return c.staged.Put(ctx, cond)
	}
	reader, err := c.open()
	if err != nil {
		return Object{}, false, err
	}
	defer func() { _ = reader.Close() }()
	return store.Put(ctx, key, reader, c.size, cond)
}

func contentOf(data []byte) content {
	return content{
		size: int64(len(data)), hash: hashOf(data),
		open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil },
	}
}

// written is the result of a write.
type written struct {
	Object       // including its hash
	created bool // nothing was stored there before
	same    bool // the same bytes were stored already, so nothing was written
	added   *addedBook
}

// write stores content at a path of a book and keeps the previous content in the history. It does
// not store the same bytes again, whatever the edit expects. When it returns without an error, the
// book is registered.
func (l *Library) write(ctx context.Context, h location, path string, c content, e edit) (written, error) {
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
		if err := e.check(key, old.Hash); err != nil {
			return err
		}
		// So it is also if the answer of the store is lost, but the write was made.
		done = written{Object: Object{Key: key, Size: c.size, Hash: c.hash, Modified: l.Now().UTC()}, created: old.Hash == ""}
		return l.recorded(ctx, h, path, entry{By: e.by, Op: e.op, Old: old.Hash, New: c.hash, Size: c.size, Book: e.book}, func() error {
			stored, created, err := c.put(ctx, h.store, key, condOf(old.Hash))
			if err == nil {
				done.Object, done.created = stored, created
			}
			return err
		})
	})
	if err != nil {
		return done, err
	}
	done.added, err = l.register(ctx, h)
	return done, storedAnyway(key, err)
}

// remove deletes the file at a path of a book and keeps its content in the history.
func (l *Library) remove(ctx context.Context, h location, path string, e edit) (existed bool, err error) {
	key := h.key(path)
	err = l.retry(ctx, key, func() error {
		old, err := current(ctx, h.store, key)
		if err == nil {
			err = e.check(key, old.Hash)
		}
		if err != nil || old.Hash == "" {
			existed = false
			return err
		}
		existed = true
		return l.recorded(ctx, h, path, entry{By: e.by, Op: e.op, Old: old.Hash, Book: e.book}, func() error {
			_, err := h.store.Delete(ctx, key, Cond{Hash: old.Hash})
			return err
		})
	})
	return existed, err
}

// retry repeats a change while it conflicts with changes of other processes. It waits a random time
// of up to several durations of the change, growing with each attempt, so that all writers get
// through. Within this process one change of an object is made at a time, so that recovery can tell
// from what each has seen whether the one before was made.
func (l *Library) retry(ctx context.Context, key string, change func() error) error {
	for try := 1; ; try++ {
		var begun time.Time
		err := l.locks.do(ctx, key, func() error {
			begun = time.Now()
			return change()
		})
		if !errors.Is(err, ErrConflict) {
			return failureAt(ctx, key, err)
		}
		if try == maxTries {
			return contract.Errorf(contract.Unavailable, "Others keep changing %s; try again", key).With("path", key).Because(err)
		}
		maxWait := min(time.Since(begun)*time.Duration(min(try, 16)), time.Second)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(mathrand.N(maxWait + 1)): //nolint:gosec // not security-relevant
		}
	}
}

// keyLocks lets one goroutine at a time change the object at a key.
type keyLocks struct {
	mu    sync.Mutex
	locks map[string]*keyLock
}

type keyLock struct {
	held  chan struct{} // has an element while it is held
	users int           // who hold it or wait for it
}

// do calls change while no other goroutine changes the object at a key.
func (k *keyLocks) do(ctx context.Context, key string, change func() error) error {
	k.mu.Lock()
	if k.locks == nil {
		k.locks = map[string]*keyLock{}
	}
	lock := k.locks[key]
	if lock == nil {
		lock = &keyLock{held: make(chan struct{}, 1)}
		k.locks[key] = lock
	}
	lock.users++
	k.mu.Unlock()
	defer func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		if lock.users--; lock.users == 0 {
			delete(k.locks, key)
		}
	}()
	select {
	case lock.held <- struct{}{}:
		defer func() { <-lock.held }()
		return change()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// current describes the object at a key, with its hash. It returns the zero Object if there is
// none.
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

// entry is one record of a file's history.
type entry struct {
	ID   string    `json:"-"`
	Path string    `json:"-"`
	At   time.Time `json:"at"`
	By   string    `json:"by"`
	Op   string    `json:"op"`
	Old  string    `json:"old,omitempty"` // the hash of the content before; "" if there was none
	New  string    `json:"new,omitempty"` // the hash of the content after; "" after a delete
	Size int64     `json:"size"`
	// The id of the call that made the change, as in its audit record; "" if it is not recorded.
	Call string `json:"call,omitempty"`
	// The book before it was removed or renamed, as in the registry.
	Book *Book `json:"book,omitempty"`
}

// recorded stores the audit record of the change, keeps the old content, records the change in the
// history, and then makes the change. So every change that was made is recorded; the record in the
// history of a change that was not made is removed.
func (l *Library) recorded(ctx context.Context, h location, path string, e entry, change func() error) error {
	e.At = l.Now().UTC()
	key := logKey(h.book.ID, path, l.ids.next(e.At), e.By)
	step, err := l.begin(ctx, h, path, key, &e)
	if err != nil {
		return err
	}
	if err := l.record(ctx, h, path, key, &e, step); err != nil {
		return err
	}
	if err := change(); err != nil {
		return l.settle(ctx, h, path, key, &e, step, err)
	}
	step.Report(audit.Made)
	return nil
}

// begin stores the audit record of a change, with the key of its record in the history.
func (l *Library) begin(ctx context.Context, h location, path, key string, e *entry) (*audit.Step, error) {
	effect := audit.EffectFrom(ctx)
	if effect == nil {
		return nil, nil
	}
	e.Call = effect.Call
	return effect.Begin(ctx, audit.Change{
		Store: h.store.Name(), Op: e.Op, Path: h.key(path), Size: e.Size, Old: e.Old, New: e.New, Line: key, End: endOf(ctx, h.store),
	})
}

// endOf returns until when a store may carry out the requests of a call: a request on the network
// can arrive after the process that sent it has ended.
func endOf(ctx context.Context, store Store) time.Time {
	if store.Name() == onDisk {
		return time.Time{}
	}
	const timeout = 2 * time.Minute // of a call without a deadline
	end := time.Now().Add(timeout)
	if at, limited := ctx.Deadline(); limited && at.Before(end) {
		return at
	}
	return end
}

// record keeps the old content and records the change that is about to be made. If it fails, the
// step learns that the change was not made.
func (l *Library) record(ctx context.Context, h location, path, key string, e *entry, step *audit.Step) error {
	if e.Old != "" {
		err := h.store.Copy(ctx, h.key(path), keptKey(h.book.ID, e.Old), e.Old)
		if err != nil {
			step.Report(audit.NotMade)
		}
		if errors.Is(err, ErrNotFound) {
			return &ConflictError{}
		}
		if err != nil {
			return notRecorded(err)
		}
	}
	if err := putLine(ctx, h.store, key, e); err != nil {
		l.removeRecord(ctx, h, key, step)
		return notRecorded(err)
	}
	return nil
}

func putLine(ctx context.Context, store Store, key string, e *entry) error {
	data, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("encode history record: %w", err)
	}
	_, _, err = store.Put(ctx, key, bytes.NewReader(data), int64(len(data)), Cond{Absent: true})
	return err
}

// ids generates ids of history records that sort by time.
type ids struct {
	mu   sync.Mutex
	last int64
}

// idForm is a time format without the dot, which separates the parts of the key. The nanoseconds
// follow.
const idForm = "20060102T150405"

// next returns an id greater than all earlier ones of this process, even if the clock goes back.
func (i *ids) next(now time.Time) string {
	i.mu.Lock()
	i.last = max(i.last+1, now.UnixNano())
	at := time.Unix(0, i.last).UTC()
	i.mu.Unlock()
	var tail [4]byte
	_, _ = rand.Read(tail[:]) // never fails
	return fmt.Sprintf("%s%09d-%x", at.Format(idForm), at.Nanosecond(), tail)
}
