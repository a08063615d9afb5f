package console

import (
	"cmp"
	"context"
	"html/template"
	"io"
	"mime"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"remit/internal/contract"
	"remit/internal/engine/approval"
	"remit/internal/frontends/console/highlight"
	"remit/internal/frontends/console/markdown"
	"remit/internal/toolsets/books"
)

// lesson is what the page of a file of a book shows.
type lesson struct {
	Book       books.Book
	Path       string
	Title      string
	Front      []frontField
	HTML       template.HTML
	Size       int64
	Modified   time.Time
	Parts      int   // so many pages show it
	Pager      pager // of the parts
	Prev, Next *bookFile
	Changes    []change
}

// frontField is a line of front matter.
type frontField struct{ Key, Value string }

func (v *visit) showLesson() error {
	book, err := v.book(v.r.PathValue("book"))
	if err != nil {
		return err
	}
	page := &lesson{Book: book, Path: v.r.PathValue("path")}
	answer, _, err := ask[books.ReadContentOut](v, "read_content", arguments{"book_id": book.ID, "path": page.Path})
	if err != nil {
		return err
	}
	page.Size, page.Modified = answer.FileSize, answer.LastModified
	v.renderLesson(page, answer.Content)
	if err := v.neighbours(page); err != nil {
		return err
	}
	if page.Changes, err = v.changes(book.ID, page.Path, 20); err != nil {
		return err
	}
	return v.page("lesson", "books", approval.Plain(page.Title), page)
}

// renderLesson makes a page of the text, or of the part of it that the address names:
// Markdown is read, all else is shown as it is.
func (v *visit) renderLesson(l *lesson, text string) {
	isText := path.Ext(l.Path) != ".md"
	if !isText {
		text = l.takeFront(text)
	}
	l.Title = cmp.Or(l.Title, path.Base(l.Path))
	if text == "" {
		return
	}
	parts := partsOf(text)
	l.Parts = len(parts)
	parts, l.Pager = pageOf(v, parts, 1)
	if isText {
		l.HTML = `<pre class="code" tabindex="0">` + highlight.Code(languageOf(l.Path), shortLines(parts[0])) + "</pre>"
		return
	}
	l.HTML = l.render(parts[0])
}

// takeFront takes off a text what the page shows elsewhere: front matter and title.
func (l *lesson) takeFront(text string) string {
	front, body := markdown.Split(text)
	l.Front = frontFields(front)
	for _, field := range l.Front {
		if field.Key == "title" {
			l.Title = field.Value
		}
	}
	body, l.Title = takeTitle(body, l.Title)
	return body
}

func (l *lesson) render(part string) template.HTML {
	return markdown.Render([]byte(part), markdown.Options{
		Shift: 1, Highlight: highlight.Code,
		Link: func(dest string) (string, bool) {
			file, fragment, ok := beside(l.Path, dest)
			return fileHref(l.Book.ID, file) + fragment, ok
		},
		Image: func(dest string) (string, bool) {
			file, _, ok := beside(l.Path, dest)
			return assetHref(l.Book.ID, file), ok && isAsset(file)
		},
	})
}

// frontFields reads the lines of front matter that are a key and a value; lines that
// belong to the one before go with it.
func frontFields(front string) []frontField {
	const most = 40
	var fields []frontField
	for line := range strings.Lines(front) {
		line = strings.TrimRight(line, " \r\n")
		key, value, ok := strings.Cut(line, ":")
		if ok && line[0] != ' ' && line[0] != '-' && line[0] != '#' {
			fields = append(fields, frontField{strings.TrimSpace(key), unquoted(strings.TrimSpace(value))})
		} else if n := len(fields); n > 0 && line != "" && line[0] != '#' {
			fields[n-1].Value = strings.TrimSpace(fields[n-1].Value + "\n" + strings.TrimSpace(line))
		}
	}
	fields = fields[:min(len(fields), most)]
	for i := range fields {
		fields[i].Value = legible(fields[i].Value)
	}
	return fields
}

func unquoted(value string) string {
	if n := len(value); n > 1 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
		return value[1 : n-1]
	}
	return value
}

// beside finds the file that a relative address in another file leads to. Not ok is an
// address that leads out of the folder that all of them are in.
func beside(from, dest string) (file, fragment string, ok bool) {
	u, err := url.Parse(dest)
	if err != nil || u.IsAbs() || u.Host != "" || strings.HasPrefix(u.Path, "/") || u.Path == "" {
		return "", "", false
	}
	if u.Fragment != "" {
		fragment = "#" + (&url.URL{Fragment: markdown.IDPrefix + strings.ToLower(u.Fragment)}).EscapedFragment()
	}
	file = path.Join(path.Dir(from), u.Path)
	return file, fragment, file != ".." && !strings.HasPrefix(file, "../")
}

// neighbours finds the lessons before and after one.
func (v *visit) neighbours(l *lesson) error {
	if !strings.HasPrefix(l.Path, "lessons/") || path.Ext(l.Path) != ".md" {
		return nil
	}
	files, _, err := v.glob(l.Book.ID, "lessons/**/*.md")
	if err != nil {
		return err
	}
	at := slices.Index(files, l.Path)
	lead := func(i int) *bookFile {
		return &bookFile{Name: strings.TrimPrefix(files[i], "lessons/"), Href: fileHref(l.Book.ID, files[i])}
	}
	if at > 0 {
		l.Prev = lead(at - 1)
	}
	if at >= 0 && at+1 < len(files) {
		l.Next = lead(at + 1)
	}
	return nil
}

// assetPolicy keeps what is in an asset from doing anything: it may be a page, or a
// picture with scripts in it.
const assetPolicy = "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

// sendAsset sends a file of a book. Pictures, sound and films show in the browser, all
// else is there to be saved.
func (v *visit) sendAsset() error {
	book, file := v.r.PathValue("book"), v.r.PathValue("path")
	if missing := v.lacks("assets", "books", "get_asset"); missing != nil {
		return contract.Errorf(contract.NotFound, "%s", missing.Title)
	}
	if !isPlainPath(file) {
		err := contract.Errorf(contract.Invalid, "%q is no path in a book", file)
		v.recordFile("console/book_asset", book, file, err)
		return err
	}
	// The body is read for as long as the browser may take, which is longer than a page.
	ctx, cancel := context.WithTimeout(v.lasting, writePatience)
	defer cancel()
	asset, err := v.Asset(ctx, books.Key(book, file))
	v.recordFile("console/book_asset", book, file, err)
	if err != nil {
		return err
	}
	defer func() { _ = asset.Close() }()
	h := v.w.Header()
	h.Set("Content-Security-Policy", assetPolicy)
	h.Set("Content-Type", asset.MIME)
	if asset.Size >= 0 {
		h.Set("Content-Length", strconv.FormatInt(asset.Size, 10))
	}
	if !showsItself(asset.MIME) {
		h.Set("Content-Type", "application/octet-stream")
		h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": path.Base(file)}))
	}
	v.w.WriteHeader(http.StatusOK)
	_, _ = io.Copy(v.w, asset) // a browser that is gone needs no answer
	return nil
}

// isPlainPath tells whether a path names a file and no way to one.
func isPlainPath(file string) bool {
	return file != "" && path.Clean(file) == file && !strings.HasPrefix(file, "/") && !strings.HasPrefix(file, "../") && file != ".." &&
		!strings.ContainsAny(file, "\\\x00")
}

// showsItself tells whether browsers show a kind of file without running anything of
// it, under assetPolicy.
func showsItself(kind string) bool {
	family, _, _ := strings.Cut(kind, "/")
	return family == "image" || family == "audio" || family == "video"
}
