package app

import (
	"context"
	"io"
	"io/fs"

	"remit/internal/faces/cli"
	"remit/internal/toolsets/books"
)

// Library gives the books; their store is opened when it is first needed.
func (a *App) Library() cli.Library { return peoplesBooks{a.books} }

// peoplesBooks are the books as people handle them.
type peoplesBooks struct{ library *books.Library }

// Books keeps the promise of cli.Library.
func (p peoplesBooks) Books(ctx context.Context) ([]cli.Book, error) {
	found, err := p.library.Overviews(ctx)
	return each(found, func(b books.Overview) cli.Book { return cli.Book(b) }), err
}

// Import keeps the promise of cli.Library.
func (p peoplesBooks) Import(ctx context.Context, from fs.FS, o cli.ImportOptions, told func(cli.Progress)) (cli.Imported, error) {
	done, err := p.library.Import(ctx, from, books.ImportOptions(o), passed(told))
	left := func(l books.LeftOut) cli.LeftOut { return cli.LeftOut(l) }
	return cli.Imported{
		Book: done.Book, Title: done.Title, Bytes: done.Bytes, Links: done.Links,
		Files: each(done.Files, func(f books.ImportedFile) cli.ImportedFile { return cli.ImportedFile(f) }),
		Left:  each(done.Left, left), Bad: each(done.Bad, left),
	}, err
}

// Export keeps the promise of cli.Library.
func (p peoplesBooks) Export(ctx context.Context, book string, w io.Writer, told func(cli.Progress)) error {
	return p.library.Export(ctx, book, w, passed(told))
}

// Validate keeps the promise of cli.Library.
func (p peoplesBooks) Validate(ctx context.Context, book string, told func(cli.Progress)) ([]cli.Finding, error) {
	found, err := p.library.Validate(ctx, book, passed(told))
	return each(found, func(f books.Finding) cli.Finding { return cli.Finding(f) }), err
}

// Create keeps the promise of cli.Library.
func (p peoplesBooks) Create(ctx context.Context, b cli.NewBook) (cli.Book, error) {
	made, err := p.library.Create(ctx, books.NewBook(b))
	return cli.Book(made), err
}

// History keeps the promise of cli.Library.
func (p peoplesBooks) History(ctx context.Context, book, path string, most int) ([]cli.Change, error) {
	found, err := p.library.History(ctx, book, path, most)
	return each(found, func(c books.Change) cli.Change { return cli.Change(c) }), err
}

// Restore keeps the promise of cli.Library.
func (p peoplesBooks) Restore(ctx context.Context, book, path, version, by string) (cli.Change, error) {
	done, err := p.library.Restore(ctx, book, path, version, by)
	return cli.Change(done), err
}

// each makes of a list what another room calls the same.
func each[From, To any](list []From, as func(From) To) []To {
	made := make([]To, len(list))
	for i := range list {
		made[i] = as(list[i])
	}
	return made
}

// passed tells progress to whoever calls it by another name.
func passed(told func(cli.Progress)) func(books.Progress) {
	if told == nil {
		return nil
	}
	return func(p books.Progress) { told(cli.Progress{Done: p.Done, Total: p.Total, Name: p.Name}) }
}
