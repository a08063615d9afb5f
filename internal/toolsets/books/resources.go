package books

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine"
)

// The tools whose contracts govern resources and prompts.
const (
	readTool    = "read_content"
	summaryTool = "write_summary"
)

// resourcesAndPrompts returns the resources and prompts: none if read_content is not served.
func (t *Tools) resourcesAndPrompts() ([]engine.ResourceProvider, []engine.Prompt) {
	reading := contract.Find(t.Served, setName, readTool)
	if reading == nil {
		return nil, nil
	}
	s := &resources{Tools: t, reading: reading}
	return []engine.ResourceProvider{s}, []engine.Prompt{s.summariseChapter(), s.reviewLesson()}
}

// check refuses a path that read_content would refuse.
func (s *resources) check(bookID, path string) error {
	_, err := s.reading.Accept(jsontree.Obj(jsontree.M("book_id", jsontree.Str(bookID)), jsontree.M("path", jsontree.Str(path))))
	if err != nil {
		return err
	}
	return checkPath(path)
}

// resources serves the files of books as MCP resources, and the prompts. It returns only what
// read_content may return, so that one rule of the operator covers both.
type resources struct {
	*Tools
	reading *contract.Contract // the contract of read_content

	mu        sync.Mutex
	texts     []textFile // the result of the last listing
	checkedAt time.Time
	failed    bool // whether the last listing failed
}

// textFile is a text file of a book.
type textFile struct {
	book Book
	path string
	size int64
}

const (
	bookScheme   = "book://"
	bookTemplate = bookScheme + "{book_id}/{path}"
)

const (
	// maxTexts is the maximum number of files in a listing.
	maxTexts = 1000
	// bucketRefresh is how long a listing of a bucket is reused: clients that watch for changes
	// cause two listings a second, and each costs requests.
	bucketRefresh = 5 * time.Second
	// listTimeout limits the time for one listing.
	listTimeout = 5 * time.Second
)

func (*resources) Templates() []engine.Template {
	return []engine.Template{{
		URI: bookTemplate, Name: "book", Title: "File of a book",
		Description: "A lesson, summary or asset by its path in the book. Slashes in the path need no escaping.",
	}}
}

func uriOf(bookID, path string) string { return bookScheme + bookID + "/" + path }

// List returns the text files of registered books: the first 1000, book after book.
func (s *resources) List(ctx context.Context) ([]engine.Resource, error) {
	var list []engine.Resource
	for _, t := range s.list(ctx) {
		list = append(list, engine.Resource{
			URI: uriOf(t.book.ID, t.path), Name: t.path, Title: t.book.Title + ": " + t.path, MIME: mimeOfText(t.path), Size: t.size,
		})
	}
	return list, nil
}

// list returns the text files. If the stores fail, it returns the previous listing, so that the
// resources of other toolsets can still be listed.
func (s *resources) list(ctx context.Context) []textFile {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.Now()
	if now.Sub(s.checkedAt) < s.refreshInterval(ctx) {
		return s.texts
	}
	listCtx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	texts, err := s.find(listCtx)
	if ctx.Err() != nil {
		return s.texts // the client gave up, which says nothing about the stores
	}
	if err != nil && !s.failed {
		s.Library.Log.Warn("cannot list the books", "error", err)
	}
	if s.failed = err != nil; !s.failed {
		s.texts = texts
	}
	s.checkedAt = now
	return s.texts
}

// refreshInterval returns how long a listing is reused.
func (s *resources) refreshInterval(ctx context.Context) time.Duration {
	stores, err := s.Library.Stores(ctx)
	if err == nil && stores.Main.Name() == onDisk && stores.Other == nil && !s.failed {
		return 0
	}
	return bucketRefresh
}

// onDisk is the name of a store that is cheap to list.
const onDisk = "fs"

func (s *resources) find(ctx context.Context) ([]textFile, error) {
	books, err := s.Library.Books(ctx)
	if err != nil {
		return nil, err
	}
	var found []textFile
	for _, book := range books {
		h, err := s.Library.locate(ctx, book.ID)
		if err != nil {
			continue // it is in a store that this server cannot reach
		}
		for object, err := range h.store.List(ctx, h.key("")) {
			if err != nil {
				return nil, err
			}
			if path := strings.TrimPrefix(object.Key, h.key("")); isText(path) && len(found) < maxTexts {
				found = append(found, textFile{book, path, object.Size})
			}
		}
		if len(found) == maxTexts {
			break
		}
	}
	return found, nil
}

func isText(name string) bool { return isMarkdown(name) || name == "book.yaml" }

func isMarkdown(name string) bool { return strings.HasSuffix(name, ".md") }

// mimeOfText returns the MIME type of a text file by its name alone.
func mimeOfText(name string) string {
	return cmp.Or(mimeTypes[path.Ext(name)], "text/plain")
}

// Read returns a file: as text if it is valid UTF-8, and as bytes otherwise.
func (s *resources) Read(ctx context.Context, uri string) ([]engine.Contents, error) {
	bookID, path, ok := s.placeAt(uri)
	if !ok {
		return nil, engine.ResourceNotFound(uri, nil)
	}
	data, mime, err := s.content(ctx, bookID, path)
	var tooLong *tooLongError
	var worded *contract.Error
	switch {
	case errors.As(err, &tooLong):
		return nil, contract.Errorf(contract.TooLarge, "%s has %d bytes; at most %d bytes can be read at once", uri, tooLong.size, engine.MaxRead).
			With("uri", uri).With("size", tooLong.size).With("max", engine.MaxRead)
	case errors.Is(err, ErrNotFound), errors.As(err, &worded) && worded.Kind == contract.NotFound:
		return nil, engine.ResourceNotFound(uri, err)
	case err != nil:
		return nil, failure(ctx, err)
	}
	c := engine.ContentsOf(uri, mime, data)
	if c.Blob != nil && strings.HasPrefix(mime, "text/") {
		c.MIME = "application/octet-stream"
	}
	return []engine.Contents{c}, nil
}

// content reads a file and determines its MIME type.
func (s *resources) content(ctx context.Context, bookID, path string) ([]byte, string, error) {
	h, err := s.Library.locate(ctx, bookID)
	if err != nil {
		return nil, "", err
	}
	data, _, err := readAll(ctx, h.store, h.key(path), engine.MaxRead)
	return data, mimeOf(data[:min(len(data), headSize)], path), err
}

// Stamp returns the version of a file.
func (s *resources) Stamp(ctx context.Context, uri string) (string, error) {
	bookID, path, ok := s.placeAt(uri)
	if !ok {
		return "", nil
	}
	h, err := s.Library.locate(ctx, bookID)
	if err != nil {
		return "", err
	}
	object, err := h.store.Stat(ctx, h.key(path))
	if errors.Is(err, ErrNotFound) {
		return "", nil
	}
	return object.Version, failure(ctx, err)
}

// Complete returns the ids of registered books, or the paths of text files in any of them.
func (s *resources) Complete(ctx context.Context, _, variable, prefix string) ([]string, error) {
	if variable == "book_id" {
		return s.bookIDs(ctx, prefix)
	}
	return s.paths(ctx, prefix)
}

func (s *resources) bookIDs(ctx context.Context, _ string) ([]string, error) {
	books, err := s.Library.Books(ctx)
	return idsOf(books), err
}

func idsOf(books []Book) []string {
	ids := make([]string, len(books))
	for i := range books {
		ids[i] = books[i].ID
	}
	return ids
}

func (s *resources) paths(ctx context.Context, _ string) ([]string, error) {
	var paths []string
	for _, t := range s.list(ctx) {
		paths = append(paths, t.path)
	}
	slices.Sort(paths)
	return slices.Compact(paths), nil
}

// placeAt parses a resource URI. It accepts the same book ids and paths as read_content.
func (s *resources) placeAt(uri string) (bookID, path string, ok bool) {
	rest, ok := strings.CutPrefix(uri, bookScheme)
	bookID, escaped, cut := strings.Cut(rest, "/")
	path, err := url.PathUnescape(escaped)
	if !ok || !cut || err != nil {
		return "", "", false
	}
	return bookID, path, s.check(bookID, path) == nil
}
