package console

import (
	"cmp"
	"net/url"
	"path"
	"strings"
	"time"

	"remit/internal/contract"
	"remit/internal/engine/approval"
	"remit/internal/engine/identity"
)

// Change is one line of the history of a book.
type Change struct {
	Time, By, Path, Action, Version string // Time is RFC 3339
	Size                            int64  // of what was there afterwards
}

// bookRoutes are the pages of books.
func (c *Console) bookRoutes() []route {
	return []route{
		{"GET /console/books", identity.Viewer, (*visit).showBooks},
		{"GET /console/books/{book}", identity.Viewer, (*visit).showBook},
		{"GET /console/books/{book}/read/{path...}", identity.Viewer, (*visit).showLesson},
		{"GET /console/books/{book}/changes/{version}/{path...}", identity.Viewer, (*visit).showVersion},
		{"GET /console/books/{book}/asset/{path...}", identity.Viewer, (*visit).sendAsset},
	}
}

// bookEntry is a book as list_books gives it.
type bookEntry struct {
	ID      string `json:"book_id"`
	Title   string
	Backend string    `json:"storage_backend"`
	Created time.Time `json:"created_at"`
	Status  string
}

// bookList is what the page of all books shows.
type bookList struct {
	Books    []bookEntry
	Pager    pager
	Cut      bool
	Unserved *unserved
}

func (v *visit) showBooks() error {
	list := &bookList{Unserved: v.lacks("books", "books", "list_books", "glob_search", "read_content")}
	if list.Unserved == nil {
		books, cut, err := v.books()
		if err != nil {
			return err
		}
		list.Cut = cut
		list.Books, list.Pager = pageOf(v, books, 50)
	}
	return v.page("books", "books", "Books", list)
}

func (v *visit) books() (list []bookEntry, cut bool, err error) {
	var answer struct{ Result []bookEntry }
	cut, err = v.look("list_books", nil, &answer)
	return answer.Result, cut, err
}

// bookPage is what the page of a book shows: its tree, its assets or its history.
type bookPage struct {
	bookEntry
	Show    string // "", assets or history
	Tree    []*folder
	Files   int
	Assets  []bookAsset
	Changes []change
	Pager   pager
	Cut     bool // there is more than an answer holds
}

// bookAsset is an asset as list_assets gives it.
type bookAsset struct {
	Name     string    `json:"filename"`
	Type     string    `json:"asset_type"`
	MIME     string    `json:"mime_type"`
	Size     int64     `json:"file_size"`
	Uploaded time.Time `json:"upload_timestamp"`
	By       string    `json:"uploaded_by_agent_id"`
	Href     string    `json:"-"`
}

func (v *visit) showBook() error {
	page := &bookPage{Show: v.r.URL.Query().Get("show")}
	var err error
	if page.bookEntry, err = v.book(v.r.PathValue("book")); err != nil {
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
func (v *visit) book(id string) (bookEntry, error) {
	if missing := v.lacks("books", "books", "list_books", "glob_search", "read_content"); missing != nil {
		return bookEntry{}, contract.Errorf(contract.NotFound, "%s: %s", missing.Title, missing.Command)
	}
	books, _, err := v.books()
	if err != nil {
		return bookEntry{}, err
	}
	for _, b := range books {
		if b.ID == id {
			return b, nil
		}
	}
	return bookEntry{ID: id}, nil
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
	var answer struct{ Result []string }
	cut, err = v.look("glob_search", arguments{"book_id": book, "pattern": pattern}, &answer)
	for _, file := range answer.Result {
		files = append(files, strings.TrimPrefix(file, "books/"+book+"/"))
	}
	return files, cut, err
}

func (v *visit) listAssets(page *bookPage) error {
	if missing := v.lacks("assets", "books", "list_assets"); missing != nil {
		return nil
	}
	var answer struct{ Result []bookAsset }
	cut, err := v.look("list_assets", arguments{"book_id": page.ID}, &answer)
	if err != nil {
		return err
	}
	page.Cut = cut
	page.Assets, page.Pager = pageOf(v, answer.Result, 100)
	for i := range page.Assets {
		a := &page.Assets[i]
		a.Href = assetHref(page.ID, path.Join("assets", a.Type, a.Name))
	}
	return nil
}

// change is a line of the history as pages show it.
type change struct {
	Change
	At   time.Time
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
	if v.History == nil {
		return nil, nil
	}
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
