package books

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"remit/internal/contract"
)

// mostRead is how long a text may be that is read at once. It is more than a write may
// bring, for files that came another way.
const mostRead = 10 << 20

// ReadContentIn names a file of a book, to read or to delete it.
type ReadContentIn struct {
	BookID string `json:"book_id"`
	Path   string `json:"path"`
}

// ReadContentOut is a file of a book.
type ReadContentOut struct {
	Content      string    `json:"content"`
	FileSize     int64     `json:"file_size"`
	LastModified time.Time `json:"last_modified"`
	Backend      string    `json:"storage_backend"`
	Hash         string    `json:"file_hash_sha256"`
}

// Check refuses a path that leads out of the book.
func (in ReadContentIn) Check() error { return checkPath(in.Path) }

// ReadContent gives the text of a file.
func (t *Tools) ReadContent(ctx context.Context, in ReadContentIn) (ReadContentOut, error) {
	d, err := t.Library.read(ctx, in.BookID, in.Path)
	return ReadContentOut{Content: d.text, FileSize: d.Size, LastModified: d.Modified, Backend: d.backend, Hash: d.Hash}, err
}

// WriteContentIn is what a file of a book is to hold.
type WriteContentIn struct {
	BookID   string `json:"book_id"`
	Path     string `json:"path"`
	Content  string `json:"content"`
	FileHash string `json:"file_hash"`
}

// WriteContentOut says what a file holds now.
type WriteContentOut struct {
	Status   string `json:"status"`
	Path     string `json:"path"`
	FileSize int64  `json:"file_size"`
	FileHash string `json:"file_hash"`
	Mode     string `json:"mode"`
}

// Check refuses a path that leads out of the book.
func (in WriteContentIn) Check() error { return checkPath(in.Path) }

// WriteContent stores the text of a file, if it is still the one that the caller knows.
func (t *Tools) WriteContent(ctx context.Context, in WriteContentIn) (WriteContentOut, error) {
	e := edit{by: by(ctx), op: opWrite, expected: strings.ToLower(in.FileHash)}
	done, err := t.Library.store(ctx, in.BookID, in.Path, in.Content, e)
	if err != nil {
		return WriteContentOut{}, err
	}
	out := WriteContentOut{Status: success, Path: Key(in.BookID, in.Path), FileSize: done.Size, FileHash: done.Hash, Mode: "updated"}
	if done.created {
		out.Mode = "created"
	}
	return out, nil
}

// DeleteContentOut says that a file is gone.
type DeleteContentOut struct {
	Status  string `json:"status"`
	Path    string `json:"path"`
	Existed bool   `json:"existed"`
	Message string `json:"message"`
}

// DeleteContent removes a file. One that is not there is gone already.
func (t *Tools) DeleteContent(ctx context.Context, in ReadContentIn) (DeleteContentOut, error) {
	_, existed, err := t.Library.drop(ctx, in.BookID, in.Path, edit{by: by(ctx), op: opDelete})
	out := DeleteContentOut{Status: success, Path: Key(in.BookID, in.Path), Existed: existed, Message: "File deleted"}
	if !existed {
		out.Message = "File did not exist"
	}
	return out, err
}

// success is the status of whatever was done.
const success = "success"

// document is a text of a book.
type document struct {
	Object
	text    string
	backend string
}

// read gives a text of a book, with its hash. What is not found comes with what may
// have been meant.
func (l *Library) read(ctx context.Context, bookID, path string) (document, error) {
	h, err := l.place(ctx, bookID)
	if err != nil {
		return document{}, err
	}
	looked := l.Now()
	data, object, err := readAll(ctx, h.store, h.key(path), mostRead)
	if err != nil {
		return document{}, l.unread(ctx, h, path, err)
	}
	if !utf8.Valid(data) {
		return document{}, contract.Errorf(contract.Invalid, "%s is not text in UTF-8; if it is an asset, get_asset gives the address of its bytes", h.key(path)).
			With("field", "path").With("path", h.key(path))
	}
	object.Hash = l.hashed(&object, data, looked)
	return document{Object: object, text: string(data), backend: h.store.Name()}, nil
}

// unread words why a text cannot be read.
func (l *Library) unread(ctx context.Context, h home, path string, err error) error {
	var long *tooLongError
	switch {
	case errors.Is(err, ErrNotFound), errors.Is(err, ErrNoPlace):
		return l.missing(ctx, h, path)
	case errors.As(err, &long):
		return contract.Errorf(contract.Invalid, "%s has %d bytes; at most %d can be read as text", h.key(path), long.size, long.most).
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

// drop removes a file of a book.
func (l *Library) drop(ctx context.Context, bookID, path string, e edit) (h home, existed bool, err error) {
	if h, err = l.writable(ctx, bookID); err == nil {
		existed, err = l.remove(ctx, h, path, e)
	}
	return h, existed, err
}

// Proposal is what a file of a book holds, and what it would hold after a call.
type Proposal struct {
	Book, Path    string
	Before, After string
}

// Propose tells what a call would make of a file, for whoever has to approve it; false
// if its tool writes no text.
func (l *Library) Propose(ctx context.Context, tool string, arguments []byte) (p Proposal, ok bool, err error) {
	var in struct {
		WriteContentIn
		ChapterID string `json:"chapter_id"`
	}
	switch tool {
	case "write_content", "delete_content", "write_summary", "delete_summary":
	default:
		return p, false, nil
	}
	if err := json.Unmarshal(arguments, &in); err != nil {
		return p, false, fmt.Errorf("read the arguments of %s: %w", tool, err)
	}
	if in.ChapterID != "" {
		in.Path = summaryPath(in.ChapterID)
	}
	p = Proposal{Book: in.BookID, Path: in.Path, After: in.Content}
	document, err := l.read(ctx, in.BookID, in.Path)
	if missing, ok := errors.AsType[*contract.Error](err); ok && missing.Kind == contract.NotFound {
		err = nil
	}
	p.Before = document.text
	return p, err == nil, err
}

// summaryPath is where a book has the summary of a chapter.
func summaryPath(chapterID string) string { return "chapters/" + chapterID + "/.summary.md" }

// ReadSummaryIn names a chapter of a book, whose summary is to be read or deleted.
type ReadSummaryIn struct {
	BookID    string `json:"book_id"`
	ChapterID string `json:"chapter_id"`
}

// ReadSummaryOut is the summary of a chapter.
type ReadSummaryOut struct {
	Path         string    `json:"path"`
	Content      string    `json:"content"`
	FileSize     int64     `json:"file_size"`
	LastModified time.Time `json:"last_modified"`
	Backend      string    `json:"storage_backend"`
	Hash         string    `json:"sha256"`
}

// ReadSummary gives the summary of a chapter.
func (t *Tools) ReadSummary(ctx context.Context, in ReadSummaryIn) (ReadSummaryOut, error) {
	d, err := t.Library.read(ctx, in.BookID, summaryPath(in.ChapterID))
	return ReadSummaryOut{Path: d.Key, Content: d.text, FileSize: d.Size, LastModified: d.Modified, Backend: d.backend, Hash: d.Hash}, err
}

// WriteSummaryIn is what the summary of a chapter is to say.
type WriteSummaryIn struct {
	BookID    string `json:"book_id"`
	ChapterID string `json:"chapter_id"`
	Content   string `json:"content"`
}

// WriteSummaryOut says what the summary is now.
type WriteSummaryOut struct {
	Status   string `json:"status"`
	Path     string `json:"path"`
	FileSize int64  `json:"file_size"`
	Hash     string `json:"sha256"`
}

// WriteSummary stores the summary of a chapter, whatever it was before.
func (t *Tools) WriteSummary(ctx context.Context, in WriteSummaryIn) (WriteSummaryOut, error) {
	path := summaryPath(in.ChapterID)
	done, err := t.Library.store(ctx, in.BookID, path, in.Content, edit{by: by(ctx), op: opWrite})
	return WriteSummaryOut{Status: success, Path: Key(in.BookID, path), FileSize: done.Size, Hash: done.Hash}, err
}

// DeleteSummaryOut says that a summary is gone.
type DeleteSummaryOut struct {
	Status  string `json:"status"`
	Path    string `json:"path"`
	Message string `json:"message"`
}

// DeleteSummary removes the summary of a chapter. Unlike a file it has to be there.
func (t *Tools) DeleteSummary(ctx context.Context, in ReadSummaryIn) (DeleteSummaryOut, error) {
	path := summaryPath(in.ChapterID)
	h, existed, err := t.Library.drop(ctx, in.BookID, path, edit{by: by(ctx), op: opDelete})
	if err == nil && !existed {
		err = t.Library.missing(ctx, h, path)
	}
	return DeleteSummaryOut{Status: success, Path: Key(in.BookID, path), Message: "Summary deleted"}, err
}
