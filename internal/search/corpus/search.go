package corpus

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"remit/internal/search/glob"
	"remit/internal/search/text"
)

// A Query describes a search and how much of its result to deliver.
type Query struct {
	Pattern *text.Pattern
	Only    *glob.Pattern // nil: all files
	After   Place         // deliver only what comes after this place
	// Limit is the maximum number of lines (files, if CountOnly is set) to deliver. Those beyond it
	// are only counted. 0 means no limit.
	Limit     int
	PerFile   int  // maximum number of lines to find in each file; 0 means all
	Context   int  // lines of context before and after each match
	CountOnly bool // deliver no lines, only the count of each file
	// Raw delivers lines as they are in the text: whole, also if they are not valid UTF-8, with
	// their line ends, and with the places of all matches.
	Raw bool
	// Bytes computes Summary.Bytes.
	Bytes bool
	// Unreadable also delivers the files that cannot be read, after those with matches.
	Unreadable bool
}

// A Place is a line of a file, or the whole file if Line is 0.
type Place struct {
	Path string
	Line int
}

// FileMatches is a file with matching lines. Count is the number of matching lines in the file.
// Without a limit, a file with very many is delivered in several pieces, and Count is the number of
// lines in the piece.
type FileMatches struct {
	Path  string
	Count int
	Lines []Line
	Bytes int64 // number of bytes of the text that were searched for this piece
	// Why the file, or the folder, cannot be read; it has no lines then.
	Error string
}

// A Line is a matching line, without its line end, as valid UTF-8, unless Query.Raw is set. If the
// pattern can match several lines, it is those lines.
type Line struct {
	Number, Column int    // counted from 1; Column is the byte at which the first match begins
	Text           string // at most 1,000 bytes, around the match
	Cut            bool   // Text is not the whole line
	Before, After  []string

	// Only set by Query.Raw:
	Offset int64   // of the line in the text
	Spans  [][]int // start and end of each match in Text
}

// A Summary is the result of a search as a whole.
type Summary struct {
	Matches    int    // number of matching lines
	Skipped    int    // number of those that are not after Query.After
	Files      int    // number of files searched: all texts that match Only
	Matched    int    // number of files with matching lines
	Bytes      int64  // number of bytes of the files searched, if Query.Bytes is set
	Incomplete bool   // not everything was searched
	Reason     string // why Incomplete is set
}

// Search calls each for every file with matching lines, in the order of paths by bytes, until each
// returns false. It sees all changes made to the files before the call. When the deadline of ctx is
// near, it stops with what it has found and reports that as incomplete. It returns an error if ctx
// was canceled.
func (c *Corpus) Search(ctx context.Context, q Query, each func(FileMatches) bool) (Summary, error) {
	if err := c.enter(); err != nil {
		return Summary{}, err
	}
	defer c.users.Done()
	k := newTimeBudget(ctx, time.Now())
	late, err := c.awaitRefresh(ctx, k)
	if err != nil {
		return Summary{}, err
	}
	v := c.acquireView()
	defer v.release()
	s := &search{corpus: c, query: q, each: each}
	s.enough.Store(int64(noLines))
	defer s.watch(ctx, k)()
	s.run(v)
	if q.Unreadable {
		s.deliverUnreadable(v)
	}
	c.scheduleMaintenance()
	return s.result(ctx, late)
}

// A timeBudget divides the time for a search.
type timeBudget struct {
	limited bool
	wait    time.Duration // maximum wait for files to be read
	end     time.Time     // when to stop searching
}

func newTimeBudget(ctx context.Context, now time.Time) timeBudget {
	end, ok := ctx.Deadline()
	if !ok {
		return timeBudget{}
	}
	const toAnswer = 50 * time.Millisecond
	all := end.Sub(now)
	return timeBudget{limited: true, wait: all / 2, end: end.Add(-min(all/10, toAnswer))}
}

// A search is one call of Search.
type search struct {
	corpus *Corpus
	query  Query
	each   func(FileMatches) bool
	plan   *plan

	stop atomic.Bool // stop searching
	full atomic.Bool // stop delivering: only count from now on

	enough atomic.Int64 // the first unit that alone has as many lines as the limit

	delivered int // number of lines, or files
	summary   Summary
	ended     bool // each returned false
	missed    bool // something was not searched
	tooLarge  bool // because a file is too large
	// Files that were found to be unreadable.
	unreadable []string
}

// watch stops the search when its time is over. The returned function ends the watch.
func (s *search) watch(ctx context.Context, k timeBudget) func() {
	halt := func() { s.stop.Store(true) }
	cancelled := context.AfterFunc(ctx, halt)
	closed := context.AfterFunc(s.corpus.ctx, halt)
	var timer *time.Timer
	if k.limited {
		timer = time.AfterFunc(time.Until(k.end), halt)
	}
	return func() {
		cancelled()
		closed()
		if timer != nil {
			timer.Stop()
		}
	}
}

// result returns the summary of the search.
func (s *search) result(ctx context.Context, late string) (Summary, error) {
	sum := &s.summary
	sum.Incomplete = s.missed || s.ended || late != ""
	switch {
	case s.ended:
		sum.Reason = "the search was ended"
	case late != "":
		sum.Reason = late
	case s.tooLarge:
		sum.Reason = "a file is too large to find matches across lines"
	case s.missed:
		sum.Reason = "the deadline passed"
	}
	if s.corpus.ctx.Err() != nil && s.missed {
		return *sum, ErrClosed
	}
	if err := ctx.Err(); errors.Is(err, context.Canceled) {
		return *sum, err
	}
	return *sum, nil
}
