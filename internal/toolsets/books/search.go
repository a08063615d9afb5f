package books

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"remit/internal/contract"
	"remit/internal/engine"
	"remit/internal/search/glob"
	"remit/internal/search/text"
)

// searchers is the number of files searched concurrently. It exceeds the number of cores because
// reading from a remote store mostly waits.
const searchers = 16

// GlobIn is the input of glob_search.
type GlobIn struct {
	BookID   string `json:"book_id"`
	Pattern  string `json:"pattern"`
	AllBooks bool   `json:"all_books"`
}

// GlobOut is the output of glob_search.
type GlobOut struct {
	Result []string `json:"result"`
}

// Check refuses a pattern that is invalid or has too many alternatives.
func (in GlobIn) Check() error {
	_, err := compileGlob(in.Pattern)
	return err
}

// Glob finds files whose paths match a pattern.
func (t *Tools) Glob(ctx context.Context, in GlobIn) (GlobOut, error) {
	pattern, err := compileGlob(in.Pattern)
	if err != nil {
		return GlobOut{}, err
	}
	files, err := t.Library.filesOf(ctx, in.BookID, in.AllBooks)
	out := GlobOut{Result: []string{}}
	for i := range files {
		if _, path, ok := splitKey(files[i].Key); ok && pattern.Match(path) {
			out.Result = append(out.Result, files[i].Key)
		}
	}
	return out, err
}

// GrepIn is the input of grep_search.
type GrepIn struct {
	BookID     string `json:"book_id"`
	Pattern    string `json:"pattern"`
	AllBooks   bool   `json:"all_books"`
	MaxResults int    `json:"max_results"`
}

// GrepOut is the output of grep_search.
type GrepOut struct {
	Result []Match `json:"result"`

	more bool
}

// Match is a matching line of a text file.
type Match struct {
	FilePath    string `json:"file_path"`
	LineNumber  int    `json:"line_number"`
	MatchedLine string `json:"matched_line"`
}

// Truncation reports whether there are more matches than were asked for. The total is not counted.
func (out GrepOut) Truncation() engine.Truncation {
	return engine.Truncation{Truncated: out.more, Total: -1}
}

// Grep finds the lines of text files that match a pattern.
func (t *Tools) Grep(ctx context.Context, in GrepIn) (GrepOut, error) {
	return t.Library.Search(ctx, in)
}

// Search is like Grep, for the command line.
func (l *Library) Search(ctx context.Context, in GrepIn) (GrepOut, error) {
	pattern, err := text.Compile(in.Pattern, text.Options{})
	if err != nil {
		return GrepOut{}, badPattern(err)
	}
	if !in.AllBooks {
		err = checkID(in.BookID)
	}
	if err != nil {
		return GrepOut{}, err
	}
	files, err := l.filesOf(ctx, in.BookID, in.AllBooks)
	if err != nil {
		return GrepOut{}, err
	}
	files = slices.DeleteFunc(files, func(f filed) bool { return !strings.HasSuffix(f.Key, ".md") })
	l.index.sweep(in.BookID, in.AllBooks, files)
	s := &search{library: l, pattern: pattern, files: files, limit: in.MaxResults, found: make([][]Match, len(files))}
	if err := s.run(ctx); err != nil {
		return GrepOut{}, failure(ctx, err)
	}
	return s.outcome(), nil
}

func badPattern(err error) error {
	if fault, ok := errors.AsType[*text.SyntaxError](err); ok {
		return contract.Errorf(contract.Invalid, "pattern is not a valid regular expression (RE2), at column %d: %s", fault.Column, fault.Reason).With("field", "pattern").Because(err)
	}
	return contract.Errorf(contract.Invalid, "pattern is not a valid regular expression (RE2)").With("field", "pattern").Because(err)
}

// filesOf lists the files of one book, or of all books, ordered by key.
func (l *Library) filesOf(ctx context.Context, bookID string, all bool) ([]filed, error) {
	if all {
		return l.allFiles(ctx)
	}
	h, err := l.locate(ctx, bookID)
	if err != nil {
		return nil, err
	}
	files, err := listed(ctx, h.store, h.key(""), nil)
	if err == nil && len(files) == 0 {
		err = l.checkExists(ctx, h)
	}
	return files, err
}

// allFiles lists the files of all books, each from the store that contains the book.
func (l *Library) allFiles(ctx context.Context) ([]filed, error) {
	stores, err := l.stores(ctx)
	if err != nil {
		return nil, err
	}
	known, err := l.registry.fresh(ctx, l, stores.Main)
	if err != nil {
		return nil, failure(ctx, err)
	}
	var files []filed
	for _, store := range []Store{stores.Main, stores.Other} {
		if store == nil {
			continue
		}
		keptHere := func(bookID string) bool {
			entry := known.find(bookID)
			return entry == nil && store == stores.Main || entry != nil && entry.Backend == store.Name()
		}
		found, err := listed(ctx, store, booksPrefix, keptHere)
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	slices.SortStableFunc(files, func(a, b filed) int { return strings.Compare(a.Key, b.Key) })
	return files, nil
}

// listed returns the files below a prefix that belong to a book for which wanted returns true. If
// wanted is nil, it returns all files of books.
func listed(ctx context.Context, store Store, prefix string, wanted func(bookID string) bool) ([]filed, error) {
	var files []filed
	for object, err := range store.List(ctx, prefix) {
		if err != nil {
			return nil, failure(ctx, err)
		}
		if book, _, ok := splitKey(object.Key); ok && (wanted == nil || wanted(book)) {
			files = append(files, filed{object, store})
		}
	}
	return files, nil
}

// search searches files concurrently and keeps the matches in the order of the files.
type search struct {
	library *Library
	pattern *text.Pattern
	files   []filed
	limit   int

	found [][]Match

	mu    sync.Mutex
	whole int // number of leading files that are completely searched
	count int // number of matches in those files
	done  []bool
}

// errEnough stops a search that has found enough matches.
var errEnough = errors.New("found enough matches")

// run searches the files in parallel. Matches are returned in the order of the files, so it stops
// early only if the finished files at the start of the list contain enough matches.
func (s *search) run(ctx context.Context) error {
	s.done = make([]bool, len(s.files))
	err := inParallel(ctx, searchers, len(s.files), func(ctx context.Context, at int) error {
		if err := s.look(ctx, at); err != nil {
			return err
		}
		return s.finish(at)
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// look searches one file. It collects one match more than asked for, to find out whether there are
// more.
func (s *search) look(ctx context.Context, at int) error {
	file := &s.files[at]
	data, err := s.library.text(ctx, file)
	if err != nil {
		return err
	}
	s.pattern.Lines(data, func(number, start, end int) bool {
		line := strings.ToValidUTF8(string(data[start:end]), "\uFFFD")
		s.found[at] = append(s.found[at], Match{FilePath: file.Key, LineNumber: number, MatchedLine: line})
		return len(s.found[at]) <= s.limit
	})
	return nil
}

// finish counts the matches in the leading files that are completely searched.
func (s *search) finish(at int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.done[at] = true; s.whole < len(s.files) && s.done[s.whole]; s.whole++ {
		s.count += len(s.found[s.whole])
	}
	if s.count > s.limit {
		return errEnough
	}
	return nil
}

func (s *search) outcome() GrepOut {
	matches := slices.Concat(s.found[:s.whole]...)
	first := append([]Match{}, matches[:min(len(matches), s.limit)]...) // never nil
	return GrepOut{Result: first, more: len(matches) > s.limit}
}

// compileGlob compiles a pattern.
func compileGlob(pattern string) (*glob.Pattern, error) {
	p, err := glob.Compile(pattern)
	if err == nil {
		return p, nil
	}
	if syntax, ok := errors.AsType[*glob.SyntaxError](err); ok {
		return nil, contract.Errorf(contract.Invalid, "pattern is not a valid glob: %q; %s", pattern, syntax.Reason).With("field", "pattern")
	}
	return nil, contract.Errorf(contract.Invalid, "pattern stands for more than %d patterns after expanding its braces; use fewer braces, or several calls", glob.MaxPatterns).With("field", "pattern")
}
