package books

import (
	"context"
	"io"
	"time"
)

// archiveFor is how long the address of an archive is good for.
const archiveFor = time.Hour

// ArchiveIn names a book.
type ArchiveIn struct {
	BookID string `json:"book_id"`
}

// ArchiveOut is where the zip of a book is, and what will be in it as things stand.
type ArchiveOut struct {
	Status         string    `json:"status"`
	ArchiveURL     string    `json:"archive_url"`
	ExpiresAt      time.Time `json:"expires_at"`
	FileCount      int       `json:"file_count"`
	TotalSizeBytes int64     `json:"total_size_bytes"`
	Format         string    `json:"format"`
	ValidFor       int       `json:"valid_for_seconds"`
}

// Archive gives the address of a book as a zip. The zip is made while somebody reads
// it: nothing is stored.
func (t *Tools) Archive(ctx context.Context, in ArchiveIn) (ArchiveOut, error) {
	_, files, err := t.Library.contents(ctx, in.BookID)
	if err != nil {
		return ArchiveOut{}, err
	}
	expires := t.Now().UTC().Truncate(time.Second).Add(archiveFor)
	address, err := t.Links.Archive(ctx, in.BookID, expires)
	if err != nil {
		return ArchiveOut{}, failure(ctx, err)
	}
	out := ArchiveOut{
		Status: "success", ArchiveURL: address, ExpiresAt: expires,
		FileCount: len(files), Format: "zip", ValidFor: int(archiveFor / time.Second),
	}
	for i := range files {
		out.TotalSizeBytes += files[i].Size
	}
	return out, nil
}

// contents lists all that is in a book, which is something.
func (l *Library) contents(ctx context.Context, bookID string) (home, []Object, error) {
	h, err := l.place(ctx, bookID)
	if err != nil {
		return home{}, nil, err
	}
	files, err := l.files(ctx, h, "")
	if err == nil && len(files) == 0 {
		err = l.missing(ctx, h, "")
	}
	return h, files, err
}

// WriteArchive writes a book as a zip, with paths as they are within the book. Whatever
// is stored is read once and written at once, so that a book of any size takes little
// memory. The same files give the same bytes. What is deleted meanwhile is left out. Of
// an archive that ends with an error nobody should take the part that was written. told,
// if it is not nil, is told how much of the book is written, after each file.
func (l *Library) WriteArchive(ctx context.Context, bookID string, w io.Writer, told func(files int, bytes int64)) error {
	h, files, err := l.contents(ctx, bookID)
	if err != nil {
		return err
	}
	z := newZipping(w, h.store, func(gone string) {
		l.Log.Info("a file was deleted while its book was archived", "key", gone)
	})
	return failure(ctx, z.write(ctx, files, len(h.key("")), told))
}

// Export writes a book as a zip. Of one that ends with an error nobody should keep what
// was written.
func (l *Library) Export(ctx context.Context, bookID string, w io.Writer, told func(Progress)) error {
	if err := checkID(bookID); err != nil {
		return err
	}
	_, files, err := l.contents(ctx, bookID)
	if err != nil {
		return err
	}
	at := Progress{}
	for i := range files {
		at.Total += files[i].Size
	}
	return l.WriteArchive(ctx, bookID, w, func(_ int, bytes int64) {
		if at.Done = bytes; told != nil {
			told(at)
		}
	})
}
