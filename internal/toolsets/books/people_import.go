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

// ImportOptions say how a folder becomes a book.
type ImportOptions struct {
	Book       string // its id; made of Name if there is none
	Title      string // found in the folder if there is none
	Name       string // what the folder or archive is called
	By         string // who imports
	DryRun     bool   // only plan
	KeepPlaces bool   // leave media beside the lessons
	SkipBad    bool   // leave out what cannot be imported
}

// Imported is what an import did, or would do.
type Imported struct {
	Book  string         `json:"book_id"`
	Title string         `json:"title"`
	Files []ImportedFile `json:"files"`
	Left  []LeftOut      `json:"left_out"`  // what is not imported, and need not be
	Bad   []LeftOut      `json:"cannot_be"` // if there is any and it is not to be skipped, nothing was written
	Bytes int64          `json:"bytes"`
	Links int            `json:"links"` // how many now lead to the new places
}

// ImportedFile is a file with its place in the book.
type ImportedFile struct {
	bookimport.File
	Outcome string `json:"outcome,omitempty"` // created, updated or unchanged; "" if nothing was tried
}

// LeftOut is something that is not imported, and why.
type LeftOut = bookimport.Remark

// Import makes a book of a folder or a *zip.Reader, or adds to a book. First all is
// planned, so that nothing is written if something cannot be. What is there already is
// not written again: an import that was interrupted is simply repeated.
func (l *Library) Import(ctx context.Context, from fs.FS, o ImportOptions, told func(Progress)) (Imported, error) {
	o.Book = cmp.Or(o.Book, bookimport.BookID(o.Name))
	if err := checkID(o.Book); err != nil {
		return Imported{}, err
	}
	plan, err := bookimport.Make(ctx, from, o.KeepPlaces)
	if err != nil {
		return Imported{}, err
	}
	done := importedOf(plan, o)
	if o.DryRun || len(plan.Bad) > 0 && !o.SkipBad || len(plan.Files) == 0 {
		return done, nil
	}
	h, err := l.bookToFill(ctx, &done)
	if err != nil {
		return done, err
	}
	count := newCounter(done.Bytes, told)
	err = inParallel(ctx, peopleAtOnce, len(plan.Files), func(ctx context.Context, i int) error {
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

// bookToFill registers the book under its title, if it is not there.
func (l *Library) bookToFill(ctx context.Context, done *Imported) (home, error) {
	h, err := l.writable(ctx, done.Book)
	if err != nil {
		return home{}, err
	}
	if h.registered {
		done.Title = h.book.Title
		return h, nil
	}
	if err := l.addBook(ctx, h, done.Title); err != nil {
		return home{}, err
	}
	return l.writable(ctx, done.Book)
}

// importedOf says what a plan comes to.
func importedOf(plan *bookimport.Plan, o ImportOptions) Imported {
	title := cmp.Or(cleanTitle(o.Title), cleanTitle(plan.Title), titleOf(o.Book))
	done := Imported{Book: o.Book, Title: title, Left: plan.Left, Bad: plan.Bad}
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

// contentToImport reads a file once for its hash, so that what is in the book already
// is known to be. Only Markdown is kept in memory.
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
	n, err := io.Copy(sum, io.LimitReader(file, bookimport.MostOther+1))
	if err == nil && n != f.Size {
		err = fmt.Errorf("it had %d bytes, and has %d", f.Size, n)
	}
	if err != nil {
		return content{}, importFault(f, err)
	}
	return content{size: n, hash: hex.EncodeToString(sum.Sum(nil)), open: open}, nil
}

// importFault says that a file is not what it was when the import was planned.
func importFault(f bookimport.File, err error) error {
	if worded, ok := errors.AsType[*contract.Error](err); ok {
		return contract.Errorf(contract.Invalid, "%s cannot be imported: %s", f.From, worded.Message).Because(err)
	}
	return contract.Errorf(contract.Conflict, "%s changed while it was imported; import it again", f.From).Because(err)
}
