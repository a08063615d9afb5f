package console

import (
	"net/url"
	"path"

	"remit/internal/contract/jsontree"
	"remit/internal/toolsets/books"
	"remit/internal/visible"
)

// versionPage is the data of the page of one change of a file.
type versionPage struct {
	Book      books.Book
	Path      string
	Change    change
	Diff      comparison
	Unchanged bool

	Hash       string // of the content that is stored now
	MayRestore bool
}

// showVersion shows the diff of one change of a file.
func (v *visit) showVersion() error {
	book, err := v.book(v.r.PathValue("book"))
	if err != nil {
		return err
	}
	page := &versionPage{Book: book, Path: v.r.PathValue("path")}
	before, after, c, err := v.Change(v.r.Context(), book.ID, page.Path, v.r.PathValue("version"))
	v.recordFile("console/book_change", book.ID, page.Path, err)
	if err != nil {
		return err
	}
	page.Change = shownChange(book.ID, c)
	page.Diff, page.Unchanged = comparisonOf(page.Path, before, after), before == after
	if v.mayEdit(page.Path) && c.New != "" {
		now, err := v.stored(book.ID, page.Path)
		if err != nil {
			return err
		}
		page.Hash, page.MayRestore = now.Hash, now.Hash != c.New
	}
	return v.page("version", "books", "Change to "+visible.Line(path.Base(page.Path)), page)
}

// recordFile records that somebody read, or tried to read, something that a page does not read with
// a tool.
func (v *visit) recordFile(what, book, file string, failed error) {
	v.recordAs(frontendPage, what, v.person, failed, jsontree.M("book_id", jsontree.Str(book)), jsontree.M("path", jsontree.Str(file)))
}

// shownChange adds links to an entry of the history.
func shownChange(book string, c books.Change) change {
	shown := change{Change: c}
	if c.Action != "delete" {
		shown.Href = fileHref(book, c.Path)
	}
	if !isAsset(c.Path) {
		shown.Diff = (&url.URL{Path: "/console/books/" + book + "/changes/" + c.Version + "/" + c.Path}).EscapedPath()
	}
	return shown
}
