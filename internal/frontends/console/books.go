package console

import (
	"cmp"
	"net/url"
	"path"
	"strings"

	"remit/internal/contract"
	"remit/internal/engine/approval"
	"remit/internal/toolsets/books"
)

// bookList is what the page of all books shows.
type bookList struct {
	Books    []books.Book
	Pager    pager
	Cut      bool
	Unserved *unserved
}

func (v *visit) showBooks() error {
	list := &bookList{Unserved: v.lacks("books", "books", "list_books", "glob_search", "read_content")}
	if list.Unserved == nil {
		answer, cut, err := ask[books.ListBooksOut](v, "list_books", nil)
		if err != nil {
			return err
		}
		list.Cut = cut
		list.Books, list.Pager = pageOf(v, answer.Result, 50)
	}
	return v.page("books", "books", "Books", list)
}

// bookPage is what the page of a book shows: its tree, its assets or its history.
type bookPage struct {
	books.Book
	Show    string // "", assets or history
	Tree    []*folder
	Files   int
	Assets  []books.ListedAsset
	Changes []change
	Pager   pager
	Cut     bool // there is more than an answer holds
}

func (v *visit) showBook() error {
	page := &bookPage{Show: v.r.URL.Query().Get("show")}
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
	return v.page("book", "books", approval.Plain(cmp.Or(page.Title, page.ID)), page)
}

// book finds a registered book. One that was never registered may be there all the
// same: then its name is all that is known.
func (v *visit) book(id string) (books.Book, error) {
	if missing := v.lacks("books", "books", "list_books", "glob_search", "read_content"); missing != nil {
		return books.Book{}, contract.Errorf(contract.NotFound, "%s: %s", missing.Title, missing.Command)
	}
	answer, _, err := ask[books.ListBooksOut](v, "list_books", nil)
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

// filesInPage is how many files of a book a page shows.
const filesInPage = 1000

func (v *visit) listFiles(page *bookPage) error {
	files, cut, err := v.glob(page.ID, "**")
	if err != nil {
		return err
	}
	page.Cut, page.Files = cut, len(files)
	shown, pages := pageOf(v, files, filesInPage)
	page.Pager = pages
	page.Tree = treeOf(page.ID, shown)
	return nil
}

// glob lists files of a book, by their paths in it.
func (v *visit) glob(book, pattern string) (files []string, cut bool, err error) {
	answer, cut, err := ask[books.GlobOut](v, "glob_search", arguments{"book_id": book, "pattern": pattern})
	for _, file := range answer.Result {
		files = append(files, strings.TrimPrefix(file, "books/"+book+"/"))
	}
	return files, cut, err
}

func (v *visit) listAssets(page *bookPage) error {
	if missing := v.lacks("assets", "books", "list_assets"); missing != nil {
		return nil
	}
	answer, cut, err := ask[books.ListAssetsOut](v, "list_assets", arguments{"book_id": page.ID})
	if err != nil {
		return err
	}
	page.Cut = cut
	page.Assets, page.Pager = pageOf(v, answer.Result, 100)
	return nil
}

// change is a line of the history as pages show it.
type change struct {
	books.Change
	Href string // "" if it is not there to be read
	Diff string // where it is shown what changed; "" if it is no text
}

// changesShown is how many changes a page shows at most.
const changesShown = 200

func (v *visit) listChanges(page *bookPage) error {
	changes, err := v.changes(page.ID, "", changesShown)
	if err != nil {
		return err
	}
	page.Cut = len(changes) == changesShown
	page.Changes, page.Pager = pageOf(v, changes, 50)
	return nil
}

func (v *visit) changes(book, file string, most int) ([]change, error) {
	found, err := v.History(v.r.Context(), book, file, most)
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

// AssetHref is where an asset of the book is.
func (p *bookPage) AssetHref(a books.ListedAsset) string {
	return assetHref(p.ID, path.Join("assets", a.AssetType, a.Filename))
}

// fileHref is where a file of a book is shown.
func fileHref(book, file string) string {
	if isAsset(file) {
		return assetHref(book, file)
	}
	return (&url.URL{Path: "/console/books/" + book + "/read/" + file}).EscapedPath()
}

// isAsset tells whether a file of a book is a picture or the like, and no text.
func isAsset(file string) bool { return strings.HasPrefix(file, "assets/") }

func assetHref(book, file string) string {
	return (&url.URL{Path: "/console/books/" + book + "/asset/" + file}).EscapedPath()
}
