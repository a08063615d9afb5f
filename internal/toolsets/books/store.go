package books

import (
	"context"
	"errors"
	"io"
	"iter"
	"time"
)

// Store stores objects by key. A key is a path of letters, digits and _ . - separated by slashes,
// without a leading slash. Writes are atomic: an object is always completely the old one or
// completely the new one. An acknowledged write is durable.
type Store interface {
	// Name returns the name of the store in registries: fs or s3.
	Name() string
	// Open returns the content of an object, or ErrNotFound. The content stays consistent while
	// others write.
	Open(ctx context.Context, key string) (*Body, error)
	// Stat describes an object, or returns ErrNotFound.
	Stat(ctx context.Context, key string) (Object, error)
	// Put stores size bytes of r if the condition holds, and returns a *ConflictError otherwise. If
	// the reader yields more or fewer bytes, Put returns an error and stores nothing. After any
	// error but ErrUnknown and *UnknownError, nothing is stored, now or later; a disk may have
	// stored the object if it fails.
	Put(ctx context.Context, key string, r io.Reader, size int64, c Cond) (stored Object, created bool, err error)
	// Stage reads size bytes of r for a Put of this key that comes later, and fails like Put. What
	// is staged has no key: nobody can open or list it. The caller must discard it.
	Stage(ctx context.Context, key string, r io.Reader, size int64) (Staged, error)
	// Copy stores the object at from under the key to as well. It returns a *ConflictError if the
	// object does not have this hash. An object that already exists at to stays: callers name
	// copies by their hash.
	Copy(ctx context.Context, from, to, hash string) error
	// Delete removes an object if the condition holds, and returns a *ConflictError otherwise.
	// Deleting an object that does not exist succeeds, unless the condition names a hash.
	Delete(ctx context.Context, key string, c Cond) (existed bool, err error)
	// List returns the objects whose keys begin with prefix, in byte order of their keys.
	List(ctx context.Context, prefix string) iter.Seq2[Object, error]
}

// Staged is content that has arrived completely and is not stored yet. It is not safe for use by
// several goroutines.
type Staged interface {
	// Hash returns the SHA-256 of the content, like Object.Hash.
	Hash() string
	// Put stores the content at its key, like Store.Put. It may be called again after an error.
	Put(ctx context.Context, c Cond) (stored Object, created bool, err error)
	// Discard removes the content if it was not stored, and releases its resources.
	Discard()
}

// Object describes what is stored at a key.
type Object struct {
	Key      string
	Size     int64
	Modified time.Time // in UTC
	// SHA-256 in lower-case hex; "" if computing it would require reading the object.
	Hash string
	// Version differs whenever the content differs: two listings with the same version of a key
	// mean the same content.
	Version string
}

// Body is the content of an object, with random access.
type Body struct {
	io.ReadSeekCloser
	Object
}

// Cond is the condition for a write. The zero Cond always holds.
type Cond struct {
	Absent bool   // no object exists
	Hash   string // the existing object has this SHA-256
}

var (
	// ErrNotFound means that no object is stored at a key.
	ErrNotFound = errors.New("object not found")
	// ErrConflict matches every *ConflictError.
	ErrConflict = errors.New("object has changed")
	// ErrUnknown means that the store cannot find out whether a write was carried out: the response
	// was lost, and another writer has changed the object since; or the folder that was written to
	// is no longer in its place. The write has no effect later.
	ErrUnknown = errors.New("it is unknown whether the change was made")
	// ErrPathConflict means that a key cannot be stored, because a parent path of it is the key of
	// an object, or the key is a parent path of another object.
	ErrPathConflict = errors.New("a folder is where a file should be, or a file where a folder should be")
)

// UnknownError reports that it is not known yet whether a write was carried out: the response was
// lost, and the write may take effect later. Until it is known, writes of the same key fail with a
// *PendingError.
type UnknownError struct {
	Until time.Time // when it will probably be known
	Cause error     // why there was no response
	// Wait waits until it is known, and reports whether the write was carried out. Its error is
	// ErrUnknown if that cannot be found out.
	Wait func(ctx context.Context) (done bool, err error)
}

func (e *UnknownError) Error() string {
	return "it is not known yet whether the change was made: " + e.Cause.Error()
}

// PendingError reports that nothing was changed, because an earlier write of the same key may still
// take effect.
type PendingError struct {
	Until time.Time // when a write will probably be possible again
}

func (e *PendingError) Error() string { return "an earlier write of the object may still take effect" }

// ConflictError reports that the condition of a write did not hold.
type ConflictError struct {
	Actual string // the hash of the existing object; "" if there is none
}

func (e *ConflictError) Error() string {
	if e.Actual == "" {
		return ErrConflict.Error() + ": it was deleted"
	}
	return ErrConflict.Error() + ": its hash is " + e.Actual
}

// Is reports whether target is ErrConflict.
func (e *ConflictError) Is(target error) bool { return target == ErrConflict }

// Links creates the URLs that tools return. They work with plain HTTP, without further credentials.
type Links interface {
	// Asset returns the URL at which the asset with this key is served.
	Asset(ctx context.Context, key string) (string, error)
	// Upload returns a URL that accepts one upload.
	Upload(ctx context.Context, u Upload) (Link, error)
	// Archive returns a URL that streams a book as a zip.
	Archive(ctx context.Context, bookID string) (Link, error)
}

// LinkTTL is the longest lifetime of the URL of an upload or an archive.
const LinkTTL = time.Hour

// Link is a URL with an expiry.
type Link struct {
	URL     string
	Issued  time.Time // in UTC, to a second
	Expires time.Time // in UTC, to a second
}

// Seconds returns how long the URL lives.
func (l Link) Seconds() int { return int(l.Expires.Sub(l.Issued) / time.Second) }

// Upload describes the one upload that an upload URL permits.
type Upload struct {
	Key  string
	Size int64
	By   string // the principal who requested it
	// Seen is the state of the asset that a person saw who approved the upload; "" if nobody was
	// asked.
	Seen string
}
