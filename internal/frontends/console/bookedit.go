package console

import (
	"cmp"
	"html"
	"html/template"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine/identity"
	"remit/internal/frontends/console/highlight"
	"remit/internal/toolsets/books"
	"remit/internal/visible"
)

// lessonEdit is the data of the page that edits a file of a book.
type lessonEdit struct {
	Book     books.Book
	Path     string
	Text     string
	Hash     string // of the content that the person began with; "" for a new file
	HTML     template.HTML
	Requests []requestRow // that concern the file
	Problem  string       // why the text was not saved
	Approval string       // the approval request that it waits for
	Conflict bool         // somebody else has changed the file meanwhile
	Diff     comparison   // from what is stored to the text
	Same     bool         // the text is stored already
	Fresh    bool         // the server returned what was sent
}

// Href returns the URL of the editor.
func (e *lessonEdit) Href() string { return editHref(e.Book.ID, "edit", e.Path) }

// PreviewHref returns the URL that renders a text.
func (e *lessonEdit) PreviewHref() string { return editHref(e.Book.ID, "preview", e.Path) }

// ReadHref returns the URL of the page that shows the file.
func (e *lessonEdit) ReadHref() string {
	if e.Hash == "" {
		return "/console/books/" + e.Book.ID
	}
	return fileHref(e.Book.ID, e.Path)
}

// mayEdit reports whether the person may edit files of books here.
func (v *visit) mayEdit(file string) bool {
	return v.person.Role >= identity.Approver && v.Engine.Serves("write_content") && !isAsset(file)
}

// editHref returns the URL of a page about a file of a book, such as edit.
func editHref(book, what, file string) string {
	return (&url.URL{Path: "/console/books/" + book + "/" + what + "/" + file}).EscapedPath()
}

// stored reads a file of a book. If there is none, the result is empty.
func (v *visit) stored(book, file string) (found books.ReadContentOut, err error) {
	found, _, err = read[books.ReadContentOut](v, "read_content", arguments{"book_id": book, "path": file})
	if err != nil && contract.AsError(err).Kind == contract.NotFound {
		return books.ReadContentOut{}, nil
	}
	return found, err
}

// newLesson opens the editor for a new file.
func (v *visit) newLesson() error {
	file := strings.TrimSpace(v.r.URL.Query().Get("path"))
	if file == "" || !isPlainPath(file) {
		return contract.Errorf(contract.Invalid, "path must name a file of the book, such as lessons/part-1/chapter-01/lesson-01.md")
	}
	v.redirect(editHref(v.r.PathValue("book"), "edit", file))
	return nil
}

// editLesson shows a file of a book in an editor.
func (v *visit) editLesson() error {
	page, err := v.lessonEdit()
	if err != nil {
		return err
	}
	now, err := v.stored(page.Book.ID, page.Path)
	if err != nil {
		return err
	}
	page.Text, page.Hash = now.Content, now.Hash
	return v.showEditor(http.StatusOK, page)
}

func (v *visit) lessonEdit() (*lessonEdit, error) {
	book, err := v.book(v.r.PathValue("book"))
	file := v.r.PathValue("path")
	switch {
	case err != nil:
		return nil, err
	case !isPlainPath(file) || isAsset(file):
		return nil, contract.Errorf(contract.Invalid, "%q is not a text of a book", file)
	case !v.Engine.Serves("write_content"):
		return nil, contract.Errorf(contract.NotFound, "The tool write_content is not served here, so lessons cannot be edited")
	}
	return &lessonEdit{Book: book, Path: file}, nil
}

func (v *visit) showEditor(status int, page *lessonEdit) error {
	page.Requests = v.requestsAbout(page.Book.ID, page.Path)
	page.HTML = previewOf(page.Book, page.Path, page.Text)
	return v.pageWith(status, "edit", "books", "Edit "+visible.Line(path.Base(page.Path)), page)
}

// previewOf renders the beginning of a text as its page would.
func previewOf(book books.Book, file, text string) template.HTML {
	l := &lesson{Book: book, Path: file}
	if path.Ext(file) != ".md" {
		return `<pre class="code" tabindex="0">` + highlight.Code(languageOf(file), shortLines(splitParts(text)[0])) + "</pre>"
	}
	body := l.stripFront(text)
	rendered := l.render(splitParts(body)[0])
	if l.Title == "" {
		return rendered
	}
	return template.HTML("<h2>"+template.HTMLEscapeString(visible.Line(l.Title))+"</h2>\n") + rendered //nolint:gosec // it is escaped
}

// previewLesson responds with the text of a form as its page would show it.
func (v *visit) previewLesson() error {
	page, err := v.lessonEdit()
	if err != nil {
		return err
	}
	page.HTML = previewOf(page.Book, page.Path, newlines(v.r.PostForm.Get("content")))
	return v.part("edit", "preview", page)
}

// saveLesson stores the text of the form, if the file is still the one that the person has read.
// Otherwise it shows what differs, and nothing is stored.
func (v *visit) saveLesson() error {
	page, err := v.lessonEdit()
	if err != nil {
		return err
	}
	page.Text, page.Hash = newlines(v.r.PostForm.Get("content")), strings.ToLower(v.r.PostForm.Get("hash"))
	now, err := v.stored(page.Book.ID, page.Path)
	if err != nil {
		return err
	}
	err = v.writeLesson(page.Book.ID, page.Path, page.Hash, likeLines(page.Text, now.Content))
	if err == nil {
		v.redirect(fileHref(page.Book.ID, page.Path))
		return nil
	}
	if now, readErr := v.stored(page.Book.ID, page.Path); readErr == nil && now.Hash != page.Hash {
		page.Conflict, page.Fresh, page.Hash = true, true, now.Hash
		page.Diff = comparisonOf(page.Path, now.Content, page.Text)
		return v.showEditor(http.StatusConflict, page)
	}
	failure := contract.AsError(err)
	switch page.Approval = pendingApproval(failure); {
	case page.Approval != "":
	case slices.Contains([]contract.Kind{contract.Invalid, contract.Conflict, contract.TooLarge, contract.Denied}, failure.Kind):
		page.Problem = failure.Message
	default:
		return err
	}
	page.Fresh = true
	return v.showEditor(statusOf(failure.Kind), page)
}

// writeLesson writes a file of a book, if its content has a hash; "" means that there is no file.
func (v *visit) writeLesson(book, file, hash, text string) error {
	return v.doSeen("write_content", cmp.Or(hash, books.Absent), arguments{
		"book_id": book, "path": file, "content": &text, "file_hash": hash,
	})
}

// likeLines returns a text with the line breaks of another: CRLF if all of those are.
func likeLines(text, other string) string {
	if lines := strings.Count(other, "\n"); lines > 0 && strings.Count(other, "\r\n") == lines {
		return strings.ReplaceAll(text, "\n", "\r\n")
	}
	return text
}

// restoreLesson writes an earlier version of a file again.
func (v *visit) restoreLesson() error {
	page, err := v.lessonEdit()
	if err != nil {
		return err
	}
	version := v.r.PostForm.Get("version")
	_, text, c, err := v.Change(v.r.Context(), page.Book.ID, page.Path, version)
	v.recordFile("console/book_change", page.Book.ID, page.Path, err)
	if err != nil {
		return err
	}
	if c.New == "" {
		return contract.Errorf(contract.Invalid, "The file was deleted in version %s; restore the version before it", version)
	}
	err = v.writeLesson(page.Book.ID, page.Path, strings.ToLower(v.r.PostForm.Get("hash")), text)
	if err == nil {
		v.redirect(fileHref(page.Book.ID, page.Path))
		return nil
	}
	failure := contract.AsError(err)
	if request := pendingApproval(failure); request != "" {
		v.redirect(deskPath + "/" + url.PathEscape(request))
		return nil
	}
	if failure.Kind == contract.Conflict {
		return contract.Errorf(contract.Conflict, "Somebody else has changed %s meanwhile, so nothing was restored. Look at it and try again.", page.Path)
	}
	return err
}

// requestsAbout returns the open requests about a file of a book.
func (v *visit) requestsAbout(book, file string) (rows []requestRow) {
	requests, err := v.waiting(v.r.Context(), maxTaskRequests)
	if err != nil {
		v.Log.Debug("reading the requests about a lesson failed", "error", err)
		return nil
	}
	for _, r := range requests {
		args, err := jsontree.Parse(r.Arguments)
		if err == nil && strings.HasPrefix(r.Tool, "books/") && textOf(&args, "book_id") == book && textOf(&args, "path") == file {
			rows = append(rows, rowOf(r, v.Now()))
		}
	}
	return rows
}

// lessonPast is the history of a file beside its text.
type lessonPast struct {
	Book, Path string
	Hash       string // of the stored content
	Outdated   bool   // the page shows another content
	Versions   []version
	MayEdit    bool
	Loaded     bool // the records were searched
	Unreadable bool
}

// version is a change of a file, with what allowed it.
type version struct {
	change
	Current bool
	Origin  *origin
}

// MayRestore reports whether the version can be restored.
func (p lessonPast) MayRestore(one version) bool { return p.MayEdit && !one.Current && one.New != "" }

// maxVersions is how many versions a page shows beside a file.
const maxVersions = 20

// past returns the newest versions of a file.
func (v *visit) past(book, file, hash string) (past lessonPast, err error) {
	past = lessonPast{Book: book, Path: file, Hash: hash, MayEdit: v.mayEdit(file)}
	changes, err := v.changes(book, file, maxVersions)
	current := false
	for _, c := range changes {
		one := version{change: c, Current: !current && c.New == hash && hash != ""}
		current = current || one.Current
		past.Versions = append(past.Versions, one)
	}
	return past, err
}

// lessonPast responds with the history of a file and who approved each version. The page of the
// file loads it as a part, because that may take long.
func (v *visit) lessonPast() error {
	book, file := v.r.PathValue("book"), v.r.PathValue("path")
	now, err := v.stored(book, file)
	if err != nil {
		return err
	}
	past, err := v.past(book, file, now.Hash)
	if err != nil {
		return err
	}
	past.Outdated, past.Loaded = v.r.URL.Query().Get("shown") != now.Hash, true
	var since time.Time
	if n := len(past.Versions); n > 0 {
		// The zero time means all records.
		since, _ = time.Parse(time.RFC3339, past.Versions[n-1].At)
	}
	found := map[string]*origin{}
	key := books.Key(book, file)
	origins, err := v.origins(since, `"path":"`+key+`"`, func(effect *jsontree.Value) bool { return textOf(effect, "path") == key })
	past.Unreadable = err != nil
	for i := range origins {
		effect := origins[i].record.Field("effect")
		if _, _, version, ok := books.ParseChange(key, textOf(&effect, "line")); ok {
			found[version] = &origins[i]
		}
	}
	for i := range past.Versions {
		past.Versions[i].Origin = found[past.Versions[i].Version]
	}
	return v.part("lesson", "past", past)
}

// pageHeading is a heading of a text.
type pageHeading struct {
	ID   string
	Text string
}

// headingForm matches the headings that markdown.Render writes.
var headingForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?s)<h[23] id="([^"]+)">(.*?)</h[23]>`)
})

var tagForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`<[^>]*>`) })

// headingsOf returns the headings of a rendered text.
func headingsOf(text template.HTML) (found []pageHeading) {
	const maxHeadings = 40
	for _, m := range headingForm().FindAllStringSubmatch(string(text), maxHeadings) {
		found = append(found, pageHeading{m[1], html.UnescapeString(tagForm().ReplaceAllString(m[2], ""))})
	}
	return found
}
