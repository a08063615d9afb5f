package books

import (
	"context"
	"time"
)

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
