package books

import (
	"context"
	"errors"
	"io"
	"iter"
	"time"
)

// Store keeps objects by key. A key is a path of letters, digits and _ . - between
// slashes, never beginning with one. Whatever happens, an object is the old one or the
// new one, whole; and what was acknowledged is kept.
type Store interface {
	// Name is what registries call it: fs or s3.
	Name() string
	// Open gives the content of an object, or ErrNotFound. What it gives stays of one
	// piece while others write.
	Open(ctx context.Context, key string) (*Body, error)
	// Stat describes an object, or gives ErrNotFound.
	Stat(ctx context.Context, key string) (Object, error)
	// Put stores size bytes of r if the condition holds, else gives a *ConflictError. A
	// reader that gives more or less is an error, and nothing is stored.
	Put(ctx context.Context, key string, r io.Reader, size int64, c Cond) (stored Object, created bool, err error)
	// Copy stores the object from, which must have this hash, else it gives a
	// *ConflictError, also at the key to. If there is something at that key already, it
	// stays: callers name copies by their hash.
	Copy(ctx context.Context, from, to, hash string) error
	// Delete removes an object if the condition holds, else gives a *ConflictError. One
	// that is not there is gone already, unless the condition asks for a hash.
	Delete(ctx context.Context, key string, c Cond) (existed bool, err error)
	// List gives the objects whose keys begin with prefix, in the order of their bytes.
	List(ctx context.Context, prefix string) iter.Seq2[Object, error]
	// SignPut gives an address that takes an object of just this size by HTTP PUT, from
	// anybody who has it, until ttl is over. False: the store has no such addresses.
	SignPut(ctx context.Context, key string, size int64, ttl time.Duration) (Signed, bool, error)
}

// Object describes what is stored at a key.
type Object struct {
	Key      string
	Size     int64
	Modified time.Time // in UTC
	Hash     string    // SHA-256 in lower-case hex; "" where only reading would tell
	// Version differs whenever the content does. Of two listings with the same version
	// of a key the content is the same.
	Version string
}

// Body is the content of an object, to be read from any place in it.
type Body struct {
	io.ReadSeekCloser
	Object
}

// Cond is what must be so for a write to happen. The zero Cond asks for nothing.
type Cond struct {
	Absent bool   // nothing is there
	Hash   string // what is there has this SHA-256
}

// Signed is an address that takes an upload, and what has to be sent along.
type Signed struct {
	URL     string
	Headers map[string]string
}

var (
	// ErrNotFound says that nothing is stored at a key.
	ErrNotFound = errors.New("there is no such object")
	// ErrConflict is what every *ConflictError is.
	ErrConflict = errors.New("the object is another one by now")
	// ErrUnknown says that nobody knows whether a write was carried out: its answer got
	// lost, and what is there since is somebody else's.
	ErrUnknown = errors.New("the answer of the store got lost, and somebody else wrote at the same time: it is not known whether the change was made")
	// ErrNoPlace says that a key cannot be stored: a part of it is an object, or it is
	// part of the key of one.
	ErrNoPlace = errors.New("a folder is where a file should be, or a file where a folder should be")
)

// ConflictError says that the condition of a write did not hold.
type ConflictError struct {
	Actual string // the hash of what is there; "" if nothing is
}

func (e *ConflictError) Error() string {
	if e.Actual == "" {
		return ErrConflict.Error() + ": it is gone"
	}
	return ErrConflict.Error() + ": its hash is " + e.Actual
}

// Is makes errors.Is find ErrConflict.
func (e *ConflictError) Is(target error) bool { return target == ErrConflict }

// Links makes the addresses that tools hand out. Whoever has one can follow it with
// nothing but HTTP.
type Links interface {
	// Asset is where the bytes of an asset are served, by its key.
	Asset(ctx context.Context, key string) (string, error)
	// Upload takes an upload, for stores that cannot take one themselves.
	Upload(ctx context.Context, u Upload, expires time.Time) (Signed, error)
	// Archive streams a book as a zip.
	Archive(ctx context.Context, bookID string, expires time.Time) (string, error)
}

// Upload is what an address for uploads is good for, and nothing else.
type Upload struct {
	Key  string
	Size int64
	By   string // who asked for it
}
