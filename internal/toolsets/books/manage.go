package books

import (
	"cmp"
	"context"
	"path"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"unicode"

	"remit/internal/contract"
	"remit/internal/toolsets/books/bookimport"
)

// This file and those named manage_*.go implement what people do with whole books on the command
// line. The command line prints their types as JSON.

// Progress reports how far a long operation is.
type Progress struct {
	Done, Total int64  // in bytes; a Total of 0 means unknown
	Name        string // the file being processed
}

// Overview is a book in a list of books.
type Overview struct {
	Book
	// Number of Markdown files in lessons/; -1 if the store cannot be read.
	Lessons int `json:"lessons"`
}

// Overviews returns the registered books with their number of lessons.
func (l *Library) Overviews(ctx context.Context) ([]Overview, error) {
	books, err := l.Books(ctx)
	if err != nil {
		return nil, err
	}
	all := make([]Overview, len(books))
	for i, b := range books {
		all[i] = Overview{b, l.lessons(ctx, b.ID)}
	}
	return all, ctx.Err()
}

// lessons returns the number of lessons of a book.
func (l *Library) lessons(ctx context.Context, bookID string) int {
	h, err := l.locate(ctx, bookID)
	if err != nil {
		return -1
	}
	files, err := l.files(ctx, h, "lessons/")
	if err != nil {
		return -1
	}
	n := 0
	for i := range files {
		if path.Ext(files[i].Key) == ".md" {
			n++
		}
	}
	return n
}

// maxTitle is the maximum length of a title in characters.
const maxTitle = 200

// cleanTitle returns a title on one line, without invisible characters.
func cleanTitle(title string) string {
	title = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		if !unicode.IsGraphic(r) || r == unicode.ReplacementChar {
			return -1
		}
		return r
	}, title)
	kept := []rune(strings.Join(strings.Fields(title), " "))
	return strings.TrimSpace(string(kept[:min(len(kept), maxTitle)]))
}

// checkID refuses an invalid book id. It is for the command line; contracts check the arguments of
// tools.
func checkID(bookID string) error {
	if _, err := checkBookID(bookID); err == nil {
		return nil
	}
	return contract.Errorf(contract.Invalid, "%q is not a book id: use 3 to 50 lower-case letters, digits and hyphens", bookID).With("field", "book_id")
}

// checkFile refuses an invalid path of a file in a book.
func checkFile(name string) error {
	if strings.ContainsFunc(name, func(r rune) bool { return r != '/' && !bookimport.IsNameRune(r) }) {
		return contract.Errorf(contract.Invalid, "%q is not a path in a book: use only letters, digits and / _ . -", name).With("field", "path")
	}
	if name == "" || len(name) > 255 {
		return contract.Errorf(contract.Invalid, "A path in a book has 1 to 255 characters").With("field", "path")
	}
	return checkPath(name)
}

// maxParallel is how many files are read or written at the same time, because disks and buckets
// have a latency for each.
const maxParallel = 8

// inParallel calls do for each number below n in order, from several goroutines, until
// one call fails or ctx ends. It returns the first error.
func inParallel(ctx context.Context, goroutines, n int, do func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var all sync.WaitGroup
	var taken atomic.Int64
	for range min(n, goroutines) {
		all.Go(func() {
			for i := int(taken.Add(1)) - 1; i < n && ctx.Err() == nil; i = int(taken.Add(1)) - 1 {
				if err := do(ctx, i); err != nil {
					cancel(err)
				}
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}

// counter reports the progress of concurrent work.
type counter struct {
	mu     sync.Mutex
	at     Progress
	report func(Progress)
}

func newCounter(total int64, report func(Progress)) *counter {
	if report == nil {
		report = func(Progress) {}
	}
	return &counter{at: Progress{Total: total}, report: report}
}

// add counts n more bytes as done.
func (c *counter) add(name string, n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at.Done += n
	c.at.Name = name
	c.report(c.at)
}

// NewBook is the input of Create.
type NewBook struct {
	ID    string
	Title string // derived from the id if empty
	By    string
}

// Create creates a book with a sample lesson and a sample summary, meant to be overwritten.
func (l *Library) Create(ctx context.Context, b NewBook) (Overview, error) {
	if err := checkID(b.ID); err != nil {
		return Overview{}, err
	}
	h, err := l.writable(ctx, b.ID)
	if err != nil {
		return Overview{}, err
	}
	files, err := l.files(ctx, h, "")
	if err != nil {
		return Overview{}, err
	}
	if h.registered || len(files) > 0 {
		return Overview{}, alreadyExists(b.ID)
	}
	title := cmp.Or(cleanTitle(b.Title), titleOf(b.ID))
	if _, err := l.addBook(ctx, h, title); err != nil {
		return Overview{}, err
	}
	if h, err = l.writable(ctx, b.ID); err != nil {
		return Overview{}, err
	}
	for _, file := range skeleton(b.ID, title) {
		if _, err := l.write(ctx, h, file[0], contentOf([]byte(file[1])), edit{by: b.By, op: opWrite}); err != nil {
			return Overview{}, err
		}
	}
	return Overview{h.book, 1}, nil
}

func alreadyExists(bookID string) error {
	return contract.Errorf(contract.Conflict, "The book %s already exists; choose another id", bookID).With("path", Key(bookID, ""))
}

// skeleton returns the paths and texts of a new book.
func skeleton(id, title string) [][2]string {
	// Valid YAML: it accepts JSON strings, and the Go escapes that a title can contain.
	title = strconv.Quote(title)
	return [][2]string{
		{"book.yaml", "book_id: " + id + "\ntitle: " + title + "\n"},
		{"lessons/part-1/chapter-01/lesson-01.md", "---\ntitle: Introduction\n---\n\n# Introduction\n\n" +
			"What this book is about, and for whom. Chapters are folders named `chapter-01`, `chapter-02` and so on;\n" +
			"pictures go to `assets/images` and are shown like this: `![What it shows](../../../assets/images/name.png)`.\n"},
		{"chapters/chapter-01/.summary.md", "# Chapter 1\n\n## Key concepts\n\n- What this book is about\n"},
	}
}
