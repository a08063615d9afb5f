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
	"remit/internal/frontends/console/highlight"
	"remit/internal/frontends/console/markdown"
	"remit/internal/toolsets/books"
	"remit/internal/visible"
)

// lesson is the data of the page of a file of a book.
type lesson struct {
	Book       books.Book
	Path       string
	Title      string
	Front      []frontField
	HTML       template.HTML
	Size       int64
	Modified   time.Time
	Parts      int   // number of pages that it takes
	Pager      pager // of the parts
	Prev, Next *bookFile

	Here     string // the URL of this page
	Hash     string // of the content
	Headings []pageHeading
	Contents []*folder
	Past     lessonPast
	Requests []requestRow // that concern the file
	MayEdit  bool
}

// EditHref returns the URL of the editor of the file.
func (l *lesson) EditHref() string { return editHref(l.Book.ID, "edit", l.Path) }

// PastHref returns the URL of the history of the file.
func (l *lesson) PastHref() string {
	return editHref(l.Book.ID, "past", l.Path) + "?" + url.Values{"shown": {l.Hash}}.Encode()
}

// frontField is a field of the front matter.
type frontField struct{ Key, Value string }

func (v *visit) showLesson() error {
	book, err := v.book(v.r.PathValue("book"))
	if err != nil {
		return err
	}
	page := &lesson{Book: book, Path: v.r.PathValue("path")}
	answer, _, err := read[books.ReadContentOut](v, "read_content", arguments{"book_id": book.ID, "path": page.Path})
	if err != nil {
		return err
	}
	page.Size, page.Modified, page.Hash = answer.FileSize, answer.LastModified, answer.Hash
	page.Here, page.MayEdit = fileHref(book.ID, page.Path), v.mayEdit(page.Path)
	v.renderLesson(page, answer.Content)
	page.Headings = headingsOf(page.HTML)
	if err := v.findContents(page); err != nil {
		return err
	}
	if page.Past, err = v.past(book.ID, page.Path, page.Hash); err != nil {
		return err
	}
	page.Requests = v.requestsAbout(book.ID, page.Path)
	return v.page("lesson", "books", visible.Line(page.Title), page)
}

// renderLesson renders the text, or the part of it that the URL selects: Markdown is formatted,
// other text is shown as code.
func (v *visit) renderLesson(l *lesson, text string) {
	isCode := path.Ext(l.Path) != ".md"
	if !isCode {
		text = l.stripFront(text)
	}
	l.Title = cmp.Or(l.Title, path.Base(l.Path))
	if text == "" {
		return
	}
	parts := splitParts(text)
	l.Parts = len(parts)
	parts, l.Pager = pageOf(v, parts, 1)
	if isCode {
		l.HTML = `<pre class="code" tabindex="0">` + highlight.Code(languageOf(l.Path), shortLines(parts[0])) + "</pre>"
		return
	}
	l.HTML = l.render(parts[0])
}

// stripFront removes the front matter and the title from a text: the page shows them elsewhere.
func (l *lesson) stripFront(text string) string {
	front, body := markdown.Split(text)
	l.Front = frontFields(front)
	for _, field := range l.Front {
		if field.Key == "title" {
			l.Title = field.Value
		}
	}
	body, l.Title = stripTitle(body, l.Title)
	return body
}

func (l *lesson) render(part string) template.HTML {
	return markdown.Render([]byte(part), markdown.Options{
		Shift: 1, Highlight: highlight.Code,
		Link: func(dest string) (string, bool) {
			file, fragment, ok := resolveLink(l.Path, dest)
			return fileHref(l.Book.ID, file) + fragment, ok
		},
		Image: func(dest string) (string, bool) {
			file, _, ok := resolveLink(l.Path, dest)
			return assetHref(l.Book.ID, file), ok && isAsset(file)
		},
	})
}

// frontFields parses the lines of front matter of the form "key: value". Lines that continue a
// value are appended to it.
func frontFields(front string) []frontField {
	const maxFields = 40
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
	fields = fields[:min(len(fields), maxFields)]
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

// resolveLink resolves a relative link in the file from. It returns false if the link is not
// relative or leads out of the root folder.
func resolveLink(from, dest string) (file, fragment string, ok bool) {
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

// findContents lists the files of the book, and finds the lessons before and after a lesson.
func (v *visit) findContents(l *lesson) error {
	files, truncated, err := v.glob(l.Book.ID, "**")
	if err != nil {
		return err
	}
	l.Contents = treeOf(l.Book.ID, files[:min(len(files), filesPerPage)])
	for _, f := range l.Contents {
		f.openFor(l.Here)
	}
	if !isLesson(l.Path) {
		return nil
	}
	if truncated {
		files, _, err = v.glob(l.Book.ID, "lessons/**/*.md")
	}
	files = slices.DeleteFunc(files, func(file string) bool { return !isLesson(file) })
	linkTo := func(i int) *bookFile {
		return &bookFile{Name: strings.TrimPrefix(files[i], "lessons/"), Href: fileHref(l.Book.ID, files[i])}
	}
	at := slices.Index(files, l.Path)
	if at > 0 {
		l.Prev = linkTo(at - 1)
	}
	if at >= 0 && at+1 < len(files) {
		l.Next = linkTo(at + 1)
	}
	return err
}

// isLesson reports whether a file is a lesson.
func isLesson(file string) bool {
	return strings.HasPrefix(file, "lessons/") && path.Ext(file) == ".md"
}

// assetPolicy is the Content-Security-Policy of assets. It disables everything active: an asset may
// be an HTML page, or an SVG image with scripts.
const assetPolicy = "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

// sendAsset sends an asset of a book. Browsers show images, audio and video; everything else is a
// download.
func (v *visit) sendAsset() error {
	book, file := v.r.PathValue("book"), v.r.PathValue("path")
	if missing := v.missingTool("assets", "books", "get_asset"); missing != nil {
		return contract.Errorf(contract.NotFound, "%s", missing.Title)
	}
	if !isPlainPath(file) {
		err := contract.Errorf(contract.Invalid, "%q is not a path in a book", file)
		v.recordFile("console/book_asset", book, file, err)
		return err
	}
	// Sending the asset may take longer than rendering a page.
	ctx, cancel := context.WithTimeout(v.clientCtx, writeTimeout)
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
	if !isMedia(asset.MIME) {
		h.Set("Content-Type", "application/octet-stream")
		h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": path.Base(file)}))
	}
	v.w.WriteHeader(http.StatusOK)
	_, _ = io.Copy(v.w, asset) // an error means that the browser has disconnected
	return nil
}

// isPlainPath reports whether a path is relative, clean and inside the book.
func isPlainPath(file string) bool {
	return file != "" && path.Clean(file) == file && !strings.HasPrefix(file, "/") && !strings.HasPrefix(file, "../") && file != ".." &&
		!strings.ContainsAny(file, "\\\x00")
}

// isMedia reports whether browsers can show a media type without running any code in it, under
// assetPolicy.
func isMedia(kind string) bool {
	family, _, _ := strings.Cut(kind, "/")
	return family == "image" || family == "audio" || family == "video"
}
