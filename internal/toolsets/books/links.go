package books

import (
	"context"
	"time"
)

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
