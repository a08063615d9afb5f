// Package books implements the book tools: lessons, summaries and assets of course books, search in
// them, and the commands with which people manage whole books. It stores nothing itself: a Store
// does.
package books

import (
	"cmp"
	"context"
	"time"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine"
)

// Tools holds the handlers of the book tools and their dependencies.
type Tools struct {
	Library *Library
	Links   Links
	Now     func() time.Time
	Served  []*contract.Set // the contract sets that are served, after the operator's changes
	// LinksEnd reports that URLs for uploads and archives end with this process; nil means that
	// they do not.
	LinksEnd func() bool
}

// noted returns the metadata of an answer with a note, or without one.
func noted(note string) jsontree.Value {
	if note == "" {
		return jsontree.Value{}
	}
	return jsontree.Obj(jsontree.M("note", jsontree.Str(note)))
}

// linkNote says how long URLs really live, if that is less than they promise.
func (t *Tools) linkNote() string {
	if t.LinksEnd == nil || !t.LinksEnd() {
		return ""
	}
	return "The URL works only while this session lasts, because the server of the session serves it"
}

const setName = "books"

// Toolset returns the handlers by tool name, with the resources and prompts of the toolset.
func (t *Tools) Toolset() engine.Toolset {
	toolset := engine.Toolset{
		Sets: []string{setName},
		Handlers: map[string]engine.Handler{
			"read_content":     engine.Handle(t.ReadContent),
			"write_content":    engine.Handle(t.WriteContent).Shows(t.ShowWriteContent),
			"edit_content":     engine.Handle(t.EditContent).Shows(t.ShowEditContent),
			"delete_content":   engine.Handle(t.DeleteContent).Shows(t.ShowDeleteContent),
			"read_summary":     engine.Handle(t.ReadSummary),
			"write_summary":    engine.Handle(t.WriteSummary).Shows(t.ShowWriteSummary),
			"delete_summary":   engine.Handle(t.DeleteSummary).Shows(t.ShowDeleteSummary),
			"upload_asset":     engine.Handle(t.UploadAsset).Shows(t.ShowUploadAsset),
			"get_asset":        engine.Handle(t.GetAsset),
			"list_assets":      engine.Handle(t.ListAssets),
			"glob_search":      engine.Handle(t.Glob),
			"grep_search":      engine.Handle(t.Grep),
			"list_books":       engine.Handle(t.ListBooks),
			"get_book_archive": engine.Handle(t.Archive),
		},
	}
	toolset.Resources, toolset.Prompts = t.resourcesAndPrompts()
	return toolset
}

// by returns the principal that a change made by this call is attributed to.
func by(ctx context.Context) string {
	return cmp.Or(engine.CallerOf(ctx).Principal, nobody)
}

// nobody is the principal of a change whose author is unknown.
const nobody = "system"

// ListBooksIn is the empty input of list_books.
type ListBooksIn struct{}

// ListBooksOut is the output of list_books.
type ListBooksOut struct {
	Result []Book `json:"result"`
}

// ListBooks returns the registered books.
func (t *Tools) ListBooks(ctx context.Context, _ ListBooksIn) (ListBooksOut, error) {
	found, err := t.Library.Books(ctx)
	return ListBooksOut{Result: append([]Book{}, found...)}, err
}
