package books

import (
	"context"
	"io"
)

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
