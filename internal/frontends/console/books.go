package console

import (
	"cmp"
	"net/url"
	"path"
	"strings"

	"remit/internal/contract"
	"remit/internal/toolsets/books"
	"remit/internal/visible"
)

// bookList is the data of the page of all books.
type bookList struct {
	Here      string // the URL of this page
	Books     []books.Book
	Pager     pager
	Truncated bool // the list was truncated
	Unserved  *unserved
}

func (v *visit) showBooks() error {
	list := &bookList{Here: v.r.URL.RequestURI(), Unserved: v.missingTool("books", "books", "list_books", "glob_search", "read_content")}
	if list.Unserved == nil {
		answer, truncated, err := read[books.ListBooksOut](v, "list_books", nil)
		if err != nil {
			return err
		}
		list.Truncated = truncated
		list.Books, list.Pager = pageOf(v, answer.Result, 50)
	}
	return v.page("books", "books", "Books", list)
}

// bookPage is the data of the page of a book: its tree, its assets or its history.
type bookPage struct {
	books.Book
	Here      string // the URL of this page
	Show      string // "", assets or history
	Tree      []*folder
	Files     int
	Assets    []books.ListedAsset
	Changes   []change
	Pager     pager
	Truncated bool // the list was truncated
	MayEdit   bool
}

func (v *visit) showBook() error {
	page := &bookPage{Here: v.r.URL.RequestURI(), Show: v.r.URL.Query().Get("show"), MayEdit: v.mayEdit("")}
	var err error
	if page.Book, err = v.book(v.r.PathValue("book")); err != nil {
		return err
	}
	switch page.Show {
	case "assets":
		err = v.listAssets(page)
	case "history":
		err = v.listChanges(page)
	default:
		page.Show = ""
		err = v.listFiles(page)
	}
	if err != nil {
		return err
	}
	return v.page("book", "books", visible.Line(cmp.Or(page.Title, page.ID)), page)
}

// book returns a registered book. A book that was never registered may exist too: then only its id
// is known.
func (v *visit) book(id string) (books.Book, error) {
	if missing := v.missingTool("books", "books", "list_books", "glob_search", "read_content"); missing != nil {
		return books.Book{}, contract.Errorf(contract.NotFound, "%s: %s", missing.Title, missing.Command)
	}
	answer, _, err := read[books.ListBooksOut](v, "list_books", nil)
	if err != nil {
		return books.Book{}, err
	}
	for _, b := range answer.Result {
		if b.ID == id {
			return b, nil
		}
	}
	return books.Book{ID: id}, nil
}

// filesPerPage is the number of files of a book on one page.
const filesPerPage = 1000

func (v *visit) listFiles(page *bookPage) error {
	files, truncated, err := v.glob(page.ID, "**")
	if err != nil {
		return err
	}
	page.Truncated, page.Files = truncated, len(files)
	shown, pages := pageOf(v, files, filesPerPage)
	page.Pager = pages
	page.Tree = treeOf(page.ID, shown)
	return nil
}

// glob returns the files of a book that match a pattern, as paths in the book.
func (v *visit) glob(book, pattern string) (files []string, truncated bool, err error) {
	answer, truncated, err := read[books.GlobOut](v, "glob_search", arguments{"book_id": book, "pattern": pattern})
	for _, file := range answer.Result {
		files = append(files, strings.TrimPrefix(file, "books/"+book+"/"))
	}
	return files, truncated, err
}

func (v *visit) listAssets(page *bookPage) error {
	if missing := v.missingTool("assets", "books", "list_assets"); missing != nil {
		return nil
	}
	answer, truncated, err := read[books.ListAssetsOut](v, "list_assets", arguments{"book_id": page.ID})
	if err != nil {
		return err
	}
	page.Truncated = truncated
	page.Assets, page.Pager = pageOf(v, answer.Result, 100)
	return nil
}

// change is an entry of the history as pages show it.
type change struct {
	books.Change
	Href string // the file; "" if it was deleted
	Diff string // the page with the diff; "" if the file is not text
}

// maxChanges is the maximum number of changes that a page shows.
const maxChanges = 200

func (v *visit) listChanges(page *bookPage) error {
	changes, err := v.changes(page.ID, "", maxChanges)
	if err != nil {
		return err
	}
	page.Truncated = len(changes) == maxChanges
	page.Changes, page.Pager = pageOf(v, changes, 50)
	return nil
}

func (v *visit) changes(book, file string, limit int) ([]change, error) {
	found, err := v.History(v.r.Context(), book, file, limit)
	v.recordFile("console/book_history", book, file, err)
	if err != nil {
		return nil, err
	}
	shown := make([]change, len(found))
	for i, c := range found {
		shown[i] = shownChange(book, c)
	}
	return shown, nil
}

// AssetHref returns the URL of an asset of the book.
func (p *bookPage) AssetHref(a books.ListedAsset) string {
	return assetHref(p.ID, path.Join("assets", a.AssetType, a.Filename))
}

// fileHref returns the URL of the page of a file of a book.
func fileHref(book, file string) string {
	if isAsset(file) {
		return assetHref(book, file)
	}
	return (&url.URL{Path: "/console/books/" + book + "/read/" + file}).EscapedPath()
}

// isAsset reports whether a file of a book is an asset, such as an image, and not text.
func isAsset(file string) bool { return strings.HasPrefix(file, "assets/") }

func assetHref(book, file string) string {
	return (&url.URL{Path: "/console/books/" + book + "/asset/" + file}).EscapedPath()
}
