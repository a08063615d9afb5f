// Package books holds the book tools of seed 003: lessons, summaries and assets of
// course books, search in them, and what people do with whole books.
package books

import (
	"cmp"
	"context"
	"time"

	"remit/internal/contract"
	"remit/internal/engine"
)

// Tools are the handlers and what they stand on.
type Tools struct {
	Library *Library
	Links   Links
	Now     func() time.Time
	Served  []*contract.Set // the sets that are served, as the operator left them
}

const setName = "books"

// Toolset is the table of the tools, with what they offer besides.
func (t *Tools) Toolset() engine.Toolset {
	toolset := engine.Toolset{
		Sets: []string{setName},
		Handlers: map[string]engine.Handler{
			"read_content":     engine.Handle(t.ReadContent),
			"write_content":    engine.Handle(t.WriteContent),
			"delete_content":   engine.Handle(t.DeleteContent),
			"read_summary":     engine.Handle(t.ReadSummary),
			"write_summary":    engine.Handle(t.WriteSummary),
			"delete_summary":   engine.Handle(t.DeleteSummary),
			"upload_asset":     engine.Handle(t.UploadAsset),
			"get_asset":        engine.Handle(t.GetAsset),
			"list_assets":      engine.Handle(t.ListAssets),
			"glob_search":      engine.Handle(t.Glob),
			"grep_search":      engine.Handle(t.Grep),
			"list_books":       engine.Handle(t.ListBooks),
			"get_book_archive": engine.Handle(t.Archive),
		},
	}
	toolset.Shelves, toolset.Prompts = t.offers()
	return toolset
}

// by is who a change of this call is put down to.
func by(ctx context.Context) string {
	return cmp.Or(engine.CallerOf(ctx).Principal, nobody)
}

// nobody is who something is put down to that nobody is known to have done.
const nobody = "system"

// ListBooksIn asks for nothing.
type ListBooksIn struct{}

// ListBooksOut is the registry.
type ListBooksOut struct {
	Result []Book `json:"result"`
}

// ListBooks gives the registered books.
func (t *Tools) ListBooks(ctx context.Context, _ ListBooksIn) (ListBooksOut, error) {
	found, err := t.Library.Books(ctx)
	return ListBooksOut{Result: append([]Book{}, found...)}, err
}
