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

// The tools that shelf and prompts go by.
const (
	readTool    = "read_content"
	summaryTool = "write_summary"
)

// offers are what there is besides the tools: nothing if read_content is not served.
func (t *Tools) offers() ([]engine.Shelf, []engine.Prompt) {
	reading := contract.Find(t.Served, setName, readTool)
	if reading == nil {
		return nil, nil
	}
	s := &shelf{Tools: t, reading: reading}
	return []engine.Shelf{s}, []engine.Prompt{s.summariseChapter(), s.reviewLesson()}
}

// check refuses a place that read_content would refuse.
func (s *shelf) check(bookID, path string) error {
	_, err := s.reading.Accept(jsontree.Obj(jsontree.M("book_id", jsontree.Str(bookID)), jsontree.M("path", jsontree.Str(path))))
	if err != nil {
		return err
	}
	return checkPath(path)
}

// shelf offers what is in books to be read, and prompts. Whatever it gives is what
// read_content may give, so that one rule of the operator goes for all.
type shelf struct {
	*Tools
	reading *contract.Contract // of read_content

	mu     sync.Mutex
	texts  []shelved // as they were listed last
	looked time.Time
	failed bool // the last time
}

// shelved is a file of a book that people read.
type shelved struct {
	book Book
	path string
	size int64
}

const (
	bookAddress  = "book://"
	bookTemplate = bookAddress + "{book_id}/{path}"
)

const (
	// mostTexts is how many files a list names.
	mostTexts = 1000
	// bucketRest is how long a list of what is in a bucket counts: whoever waits for
	// changes has it made twice a second, and each costs requests.
	bucketRest = 5 * time.Second
	// listPatience is how long making a list may take.
	listPatience = 5 * time.Second
)

func (*shelf) Templates() []engine.Template {
	return []engine.Template{{
		URI: bookTemplate, Name: "book", Title: "File of a book",
		Description: "A lesson, summary or asset by its path in the book. The slashes of the path may stay as they are.",
	}}
}

func addressOf(bookID, path string) string { return bookAddress + bookID + "/" + path }

// List gives the texts of registered books: the first 1000, book after book.
func (s *shelf) List(ctx context.Context) ([]engine.Resource, error) {
	var list []engine.Resource
	for _, t := range s.list(ctx) {
		list = append(list, engine.Resource{
			URI: addressOf(t.book.ID, t.path), Name: t.path, Title: t.book.Title + ": " + t.path, MIME: mimeOfText(t.path), Size: t.size,
		})
	}
	return list, nil
}

// list gives the texts there are. If the stores do not answer it is those that were
// there last: what other shelves have can be listed all the same.
func (s *shelf) list(ctx context.Context) []shelved {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.Now()
	if now.Sub(s.looked) < s.rest(ctx) {
		return s.texts
	}
	most, cancel := context.WithTimeout(ctx, listPatience)
	defer cancel()
	texts, err := s.find(most)
	if ctx.Err() != nil {
		return s.texts // whoever asked gave up, which says nothing of the stores
	}
	if err != nil && !s.failed {
		s.Library.Log.Warn("the books cannot be listed", "error", err)
	}
	if s.failed = err != nil; !s.failed {
		s.texts = texts
	}
	s.looked = now
	return s.texts
}

// rest is how long a list counts.
func (s *shelf) rest(ctx context.Context) time.Duration {
	stores, err := s.Library.Stores(ctx)
	if err == nil && stores.Main.Name() == onDisk && stores.Other == nil && !s.failed {
		return 0
	}
	return bucketRest
}

// onDisk is the name of a store that costs nothing to look at.
const onDisk = "fs"

func (s *shelf) find(ctx context.Context) ([]shelved, error) {
	books, err := s.Library.Books(ctx)
	if err != nil {
		return nil, err
	}
	var found []shelved
	for _, book := range books {
		h, err := s.Library.place(ctx, book.ID)
		if err != nil {
			continue // it is kept where this server does not reach
		}
		for object, err := range h.store.List(ctx, h.key("")) {
			if err != nil {
				return nil, err
			}
			if path := strings.TrimPrefix(object.Key, h.key("")); isText(path) && len(found) < mostTexts {
				found = append(found, shelved{book, path, object.Size})
			}
		}
		if len(found) == mostTexts {
			break
		}
	}
	return found, nil
}

func isText(name string) bool { return isMarkdown(name) || name == "book.yaml" }

func isMarkdown(name string) bool { return strings.HasSuffix(name, ".md") }

// mimeOfText is what a text is called by its name alone.
func mimeOfText(name string) string {
	return cmp.Or(mimeTypes[path.Ext(name)], "text/plain")
}

// Read gives a file as text, if that is what it holds.
func (s *shelf) Read(ctx context.Context, uri string) ([]engine.Contents, error) {
	bookID, path, ok := s.placeAt(uri)
	if !ok {
		return nil, engine.NoResource(uri, nil)
	}
	data, mime, err := s.content(ctx, bookID, path)
	var tooLong *tooLongError
	var worded *contract.Error
	switch {
	case errors.As(err, &tooLong):
		return nil, contract.Errorf(contract.TooLarge, "%s holds %d bytes; at most %d bytes can be read at once", uri, tooLong.size, engine.MaxRead).
			With("uri", uri).With("size", tooLong.size).With("max", engine.MaxRead)
	case errors.Is(err, ErrNotFound), errors.As(err, &worded) && worded.Kind == contract.NotFound:
		return nil, engine.NoResource(uri, err)
	case err != nil:
		return nil, failure(ctx, err)
	}
	c := engine.ContentsOf(uri, mime, data)
	if c.Blob != nil && strings.HasPrefix(mime, "text/") {
		c.MIME = "application/octet-stream"
	}
	return []engine.Contents{c}, nil
}

// content reads a file, and tells what it is.
func (s *shelf) content(ctx context.Context, bookID, path string) ([]byte, string, error) {
	h, err := s.Library.place(ctx, bookID)
	if err != nil {
		return nil, "", err
	}
	data, _, err := readAll(ctx, h.store, h.key(path), engine.MaxRead)
	return data, mimeOf(data[:min(len(data), headSize)], path), err
}

// Stamp is the version of a file.
func (s *shelf) Stamp(ctx context.Context, uri string) (string, error) {
	bookID, path, ok := s.placeAt(uri)
	if !ok {
		return "", nil
	}
	h, err := s.Library.place(ctx, bookID)
	if err != nil {
		return "", err
	}
	object, err := h.store.Stat(ctx, h.key(path))
	if errors.Is(err, ErrNotFound) {
		return "", nil
	}
	return object.Version, failure(ctx, err)
}

// Complete gives the registered books, or the paths of texts in any of them.
func (s *shelf) Complete(ctx context.Context, _, variable, prefix string) ([]string, error) {
	if variable == "book_id" {
		return s.bookIDs(ctx, prefix)
	}
	return s.paths(ctx, prefix)
}

func (s *shelf) bookIDs(ctx context.Context, _ string) ([]string, error) {
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

func (s *shelf) paths(ctx context.Context, _ string) ([]string, error) {
	var paths []string
	for _, t := range s.list(ctx) {
		paths = append(paths, t.path)
	}
	slices.Sort(paths)
	return slices.Compact(paths), nil
}

// placeAt reads an address. What is in it is what read_content would take.
func (s *shelf) placeAt(uri string) (bookID, path string, ok bool) {
	rest, ok := strings.CutPrefix(uri, bookAddress)
	bookID, escaped, cut := strings.Cut(rest, "/")
	path, err := url.PathUnescape(escaped)
	if !ok || !cut || err != nil {
		return "", "", false
	}
	return bookID, path, s.check(bookID, path) == nil
}
