package books

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"remit/internal/contract"
	"remit/internal/toolsets/books/bookimport"
)

// ImportOptions holds the options of Import.
type ImportOptions struct {
	Book       string // its id; derived from Name if empty
	Title      string // taken from the folder if empty
	Name       string // the name of the folder or archive
	By         string // the person who imports
	DryRun     bool   // only plan
	KeepPaths  bool   // leave media files next to the lessons
	SkipFailed bool   // skip files that cannot be imported
	// Confirm is called with what is planned, before anything is written. If it returns an error,
	// nothing is.
	Confirm func(Imported) error
}

// Imported is the result of an import or of a dry run.
type Imported struct {
	Book    string         `json:"book_id"`
	Title   string         `json:"title"`
	Files   []ImportedFile `json:"files"`
	Skipped []SkippedFile  `json:"left_out"` // files that are not imported and need not be
	// Files that cannot be imported; if there are any and SkipFailed is false, nothing was written.
	Failed []SkippedFile `json:"cannot_be"`
	Bytes  int64         `json:"bytes"`
	Links  int           `json:"links"` // number of links that were changed to the new locations
}

// ImportedFile is an imported file with its path in the book.
type ImportedFile struct {
	bookimport.File
	// Created, updated or unchanged; "" if nothing was written.
	Outcome string `json:"outcome,omitempty"`
}

// SkippedFile is a file that is not imported, with the reason.
type SkippedFile = bookimport.RejectedFile

// Import creates a book from a folder or a *zip.Reader, or adds to an existing book. It plans
// everything first, so that nothing is written if a file cannot be imported. It does not write
// files that the book already has, so an interrupted import can simply be repeated.
func (l *Library) Import(ctx context.Context, from fs.FS, o ImportOptions, report func(Progress)) (Imported, error) {
	o.Book = cmp.Or(o.Book, bookimport.BookID(o.Name))
	if err := checkID(o.Book); err != nil {
		return Imported{}, err
	}
	plan, err := bookimport.NewPlan(ctx, from, o.KeepPaths, l.Secrets)
	if err != nil {
		return Imported{}, err
	}
	done := importedOf(plan, o)
	if o.DryRun || len(plan.Failed) > 0 && !o.SkipFailed || len(plan.Files) == 0 {
		return done, nil
	}
	if o.Confirm != nil {
		if err := o.Confirm(done); err != nil {
			return done, err
		}
	}
	h, err := l.bookToFill(ctx, &done)
	if err != nil {
		return done, err
	}
	count := newCounter(done.Bytes, report)
	err = inParallel(ctx, maxParallel, len(plan.Files), func(ctx context.Context, i int) error {
		file := &done.Files[i]
		c, err := contentToImport(plan, file.File)
		if err != nil {
			return err
		}
		w, err := l.write(ctx, h, file.To, c, edit{by: o.By, op: opImport})
		if err != nil {
			return err
		}
		file.Outcome = outcomeOf(w)
		count.add(file.To, file.Size)
		return nil
	})
	return done, failure(ctx, err)
}

// bookToFill registers the book under its title if it is not registered.
func (l *Library) bookToFill(ctx context.Context, done *Imported) (location, error) {
	h, err := l.writable(ctx, done.Book)
	if err != nil {
		return location{}, err
	}
	if h.registered {
		done.Title = h.book.Title
		return h, nil
	}
	if _, err := l.addBook(ctx, h, done.Title); err != nil {
		return location{}, err
	}
	return l.writable(ctx, done.Book)
}

// importedOf converts a plan into the result of an import.
func importedOf(plan *bookimport.Plan, o ImportOptions) Imported {
	title := cmp.Or(cleanTitle(o.Title), cleanTitle(plan.Title), titleOf(o.Book))
	done := Imported{Book: o.Book, Title: title, Skipped: plan.Skipped, Failed: plan.Failed}
	for _, f := range plan.Files {
		done.Files = append(done.Files, ImportedFile{File: f})
		done.Bytes += f.Size
		done.Links += f.Links
	}
	return done
}

func outcomeOf(w written) string {
	switch {
	case w.same:
		return "unchanged"
	case w.created:
		return "created"
	default:
		return "updated"
	}
}

// contentToImport reads a file once for its hash, so that write can recognise content that the book
// already has. Only Markdown is kept in memory.
func contentToImport(plan *bookimport.Plan, f bookimport.File) (content, error) {
	if bookimport.IsMarkdown(f.From) {
		text, _, err := plan.Markdown(f)
		if err != nil {
			return content{}, importFault(f, err)
		}
		return contentOf(text), nil
	}
	open := func() (io.ReadCloser, error) { return plan.Open(f) }
	file, err := open()
	if err != nil {
		return content{}, importFault(f, err)
	}
	defer func() { _ = file.Close() }()
	sum := sha256.New()
	n, err := io.Copy(sum, io.LimitReader(file, bookimport.MaxOther+1))
	if err == nil && n != f.Size {
		err = fmt.Errorf("its size changed from %d to %d bytes", f.Size, n)
	}
	if err != nil {
		return content{}, importFault(f, err)
	}
	return content{size: n, hash: hex.EncodeToString(sum.Sum(nil)), open: open}, nil
}

// importFault reports that a file has changed since the import was planned.
func importFault(f bookimport.File, err error) error {
	if worded, ok := errors.AsType[*contract.Error](err); ok {
		return contract.Errorf(contract.Invalid, "%s cannot be imported: %s", f.From, worded.Message).Because(err)
	}
	return contract.Errorf(contract.Conflict, "%s changed while it was imported; import it again", f.From).Because(err)
}
