package books

import (
	"context"
	"errors"
	"path"
	"strings"
	"time"
	"unicode/utf8"

	"remit/internal/contract"
	"remit/internal/engine"
)

// maxRead is the maximum size of a text that is read into memory. It exceeds the maximum size of a
// write, for files that were stored in another way.
const maxRead = 10 << 20

// ReadContentIn names a file of a book, for reading or deleting.
type ReadContentIn struct {
	BookID string `json:"book_id"`
	Path   string `json:"path"`
}

// ReadContentOut is the output of read_content.
type ReadContentOut struct {
	Content      string    `json:"content"`
	FileSize     int64     `json:"file_size"`
	LastModified time.Time `json:"last_modified"`
	Backend      string    `json:"storage_backend"`
	Hash         string    `json:"file_hash_sha256"`
}

// Check refuses a path that leads out of the book.
func (in ReadContentIn) Check() error { return checkPath(in.Path) }

// ReadContent returns the text of a file.
func (t *Tools) ReadContent(ctx context.Context, in ReadContentIn) (ReadContentOut, error) {
	d, err := t.Library.read(ctx, in.BookID, in.Path)
	return ReadContentOut{Content: d.text, FileSize: d.Size, LastModified: d.Modified, Backend: d.backend, Hash: d.Hash}, err
}

// WriteContentIn is the input of write_content.
type WriteContentIn struct {
	BookID   string `json:"book_id"`
	Path     string `json:"path"`
	Content  string `json:"content"`
	FileHash string `json:"file_hash"`
}

// WriteContentOut is the output of write_content.
type WriteContentOut struct {
	Status   string `json:"status"`
	Path     string `json:"path"`
	FileSize int64  `json:"file_size"`
	FileHash string `json:"file_hash"`
	Mode     string `json:"mode"`
	Note     string `json:"note,omitempty"`
}

// Check refuses a path that leads out of the book, and a summary that write_summary would refuse.
func (in WriteContentIn) Check() error {
	if err := checkPath(in.Path); err != nil {
		return err
	}
	if path.Base(in.Path) == summaryFile && len(in.Content) > maxSummaryBytes {
		return contract.Errorf(contract.TooLarge, "content is %d bytes; a summary has at most %d bytes (100KiB)", len(in.Content), maxSummaryBytes).
			With("field", "content").With("size", len(in.Content)).With("max", maxSummaryBytes)
	}
	return nil
}

// summaryFile is the name of a chapter's summary; maxSummaryBytes is its maximum size, as in the
// contract of write_summary.
const (
	summaryFile     = ".summary.md"
	maxSummaryBytes = 100 << 10
)

// WriteContent stores the text of a file if its current content has the hash that the caller
// passed, or if the caller passed none.
func (t *Tools) WriteContent(ctx context.Context, in WriteContentIn) (WriteContentOut, error) {
	e := edit{by: by(ctx), op: opWrite, expected: strings.ToLower(in.FileHash), seen: engine.Seen(ctx)}
	done, err := t.Library.store(ctx, in.BookID, in.Path, in.Content, e)
	if err != nil {
		return WriteContentOut{}, err
	}
	out := WriteContentOut{Status: success, Path: Key(in.BookID, in.Path), FileSize: done.Size, FileHash: done.Hash, Mode: "updated"}
	out.Note = done.added.note()
	if done.created {
		out.Mode = "created"
	}
	return out, nil
}

// DeleteContentOut is the output of delete_content.
type DeleteContentOut struct {
	Status  string `json:"status"`
	Path    string `json:"path"`
	Existed bool   `json:"existed"`
	Message string `json:"message"`
}

// DeleteContent removes a file. It succeeds if the file does not exist.
func (t *Tools) DeleteContent(ctx context.Context, in ReadContentIn) (DeleteContentOut, error) {
	_, existed, err := t.Library.deleteFile(ctx, in.BookID, in.Path, edit{by: by(ctx), op: opDelete, seen: engine.Seen(ctx)})
	out := DeleteContentOut{Status: success, Path: Key(in.BookID, in.Path), Existed: existed, Message: "File deleted"}
	if !existed {
		out.Message = "File did not exist"
	}
	return out, err
}

// success is the status in every successful answer.
const success = "success"

// document is a text file of a book.
type document struct {
	Object
	text    string
	backend string
}

// read returns a text of a book with its hash. A not-found error suggests similar paths.
func (l *Library) read(ctx context.Context, bookID, path string) (document, error) {
	h, err := l.locate(ctx, bookID)
	if err != nil {
		return document{}, err
	}
	checkedAt := l.Now()
	data, object, err := readAll(ctx, h.store, h.key(path), maxRead)
	if err != nil {
		return document{}, l.readError(ctx, h, path, err)
	}
	if !utf8.Valid(data) {
		return document{}, contract.Errorf(contract.Invalid, "%s is not text in UTF-8; if it is an asset, get_asset gives the address of its bytes", h.key(path)).
			With("field", "path").With("path", h.key(path))
	}
	object.Hash = l.hashed(&object, data, checkedAt)
	return document{Object: object, text: string(data), backend: h.store.Name()}, nil
}

// readError converts an error of reading a text into a contract.Error.
func (l *Library) readError(ctx context.Context, h location, path string, err error) error {
	var long *tooLongError
	switch {
	case errors.Is(err, ErrNotFound), errors.Is(err, ErrPathConflict):
		return l.missing(ctx, h, path)
	case errors.As(err, &long):
		return contract.Errorf(contract.Invalid, "%s has %d bytes; at most %d can be read as text", h.key(path), long.size, long.limit).
			With("field", "path").With("path", h.key(path)).Because(err)
	default:
		return failureAt(ctx, h.key(path), err)
	}
}

// store writes a text to a book.
func (l *Library) store(ctx context.Context, bookID, path, text string, e edit) (written, error) {
	h, err := l.writable(ctx, bookID)
	if err != nil {
		return written{}, err
	}
	return l.write(ctx, h, path, contentOf([]byte(text)), e)
}

// deleteFile removes a file of a book.
func (l *Library) deleteFile(ctx context.Context, bookID, path string, e edit) (h location, existed bool, err error) {
	if h, err = l.writable(ctx, bookID); err == nil {
		existed, err = l.remove(ctx, h, path, e)
	}
	return h, existed, err
}

// summaryPath returns the path of a chapter's summary in a book.
func summaryPath(chapterID string) string { return "chapters/" + chapterID + "/" + summaryFile }

// ReadSummaryIn names a chapter of a book whose summary is read or deleted.
type ReadSummaryIn struct {
	BookID    string `json:"book_id"`
	ChapterID string `json:"chapter_id"`
}

// ReadSummaryOut is the output of read_summary.
type ReadSummaryOut struct {
	Path         string    `json:"path"`
	Content      string    `json:"content"`
	FileSize     int64     `json:"file_size"`
	LastModified time.Time `json:"last_modified"`
	Backend      string    `json:"storage_backend"`
	Hash         string    `json:"sha256"`
}

// ReadSummary returns the summary of a chapter.
func (t *Tools) ReadSummary(ctx context.Context, in ReadSummaryIn) (ReadSummaryOut, error) {
	d, err := t.Library.read(ctx, in.BookID, summaryPath(in.ChapterID))
	return ReadSummaryOut{Path: d.Key, Content: d.text, FileSize: d.Size, LastModified: d.Modified, Backend: d.backend, Hash: d.Hash}, err
}

// WriteSummaryIn is the input of write_summary.
type WriteSummaryIn struct {
	BookID    string `json:"book_id"`
	ChapterID string `json:"chapter_id"`
	Content   string `json:"content"`
}

// WriteSummaryOut is the output of write_summary.
type WriteSummaryOut struct {
	Status   string `json:"status"`
	Path     string `json:"path"`
	FileSize int64  `json:"file_size"`
	Hash     string `json:"sha256"`
	Note     string `json:"note,omitempty"`
}

// WriteSummary stores the summary of a chapter and replaces an existing one.
func (t *Tools) WriteSummary(ctx context.Context, in WriteSummaryIn) (WriteSummaryOut, error) {
	path := summaryPath(in.ChapterID)
	done, err := t.Library.store(ctx, in.BookID, path, in.Content, edit{by: by(ctx), op: opWrite, seen: engine.Seen(ctx)})
	out := WriteSummaryOut{Status: success, Path: Key(in.BookID, path), FileSize: done.Size, Hash: done.Hash}
	out.Note = done.added.note()
	return out, err
}

// DeleteSummaryOut is the output of delete_summary.
type DeleteSummaryOut struct {
	Status  string `json:"status"`
	Path    string `json:"path"`
	Message string `json:"message"`
}

// DeleteSummary removes the summary of a chapter. Unlike DeleteContent it returns an error if there
// is none.
func (t *Tools) DeleteSummary(ctx context.Context, in ReadSummaryIn) (DeleteSummaryOut, error) {
	path := summaryPath(in.ChapterID)
	h, existed, err := t.Library.deleteFile(ctx, in.BookID, path, edit{by: by(ctx), op: opDelete, seen: engine.Seen(ctx)})
	if err == nil && !existed {
		err = t.Library.missing(ctx, h, path)
	}
	return DeleteSummaryOut{Status: success, Path: Key(in.BookID, path), Message: "Summary deleted"}, err
}
