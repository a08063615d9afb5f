package corpus

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"remit/internal/search/glob"
	"remit/internal/search/text"
)

// A Query is what to look for, and how much of it to give.
type Query struct {
	Pattern *text.Pattern
	Only    *glob.Pattern // nil: all files
	After   Place         // only what comes after it is given
	Limit   int           // so many lines are given (files, if Tally); those beyond are only counted. 0: all are given
	Context int           // lines given before and after each
	Tally   bool          // no lines: only how many each file has
}

// A Place is a line of a file; all of the file, if Line is 0.
type Place struct {
	Path string
	Line int
}

// Found is a file with matching lines. Count is how many there are in it; without a limit a file with very many comes in
// several pieces, and Count is of each piece.
type Found struct {
	Path  string
	Count int
	Lines []Line
}

// A Line is a line that matches, without its end, as valid UTF-8.
type Line struct {
	Number, Column int    // counted from 1; Column in bytes, where the first match begins
	Text           string // at most 1,000 bytes, around the match
	Cut            bool   // Text is not the whole line
	Before, After  []string
}

// A Summary is what a search came to.
type Summary struct {
	Matches    int    // all matching lines
	Skipped    int    // those of them that are not after Query.After
	Files      int    // files searched: of those that Only lets through, all that are texts
	Matched    int    // files with matching lines
	Incomplete bool   // not everything was looked at
	Reason     string // why not
}

// Search calls each for every file with matching lines, in the order of paths by their bytes, until each returns false.
// Whatever was done to the files before it was called is seen. When the time that ctx allows is nearly over, it ends with what
// was found by then, and says that it is incomplete; an error is given if ctx was cancelled.
func (c *Corpus) Search(ctx context.Context, q Query, each func(Found) bool) (Summary, error) {
	if err := c.enter(); err != nil {
		return Summary{}, err
	}
	defer c.users.Done()
	k := newClock(ctx, time.Now())
	late, err := c.await(ctx, k)
	if err != nil {
		return Summary{}, err
	}
	v := c.hold()
	defer v.letGo()
	s := &search{corpus: c, query: q, each: each}
	s.enough.Store(int64(never))
	defer s.watch(ctx, k)()
	s.run(v)
	c.tendSoon()
	return s.conclude(ctx, late)
}

// A clock says how the time for a search is divided.
type clock struct {
	limited bool
	wait    time.Duration // for files to be read
	end     time.Time     // when texts are no longer searched
}

func newClock(ctx context.Context, now time.Time) clock {
	end, ok := ctx.Deadline()
	if !ok {
		return clock{}
	}
	const toAnswer = 50 * time.Millisecond
	all := end.Sub(now)
	return clock{limited: true, wait: all / 2, end: end.Add(-min(all/10, toAnswer))}
}

// A search is one call of Search.
type search struct {
	corpus *Corpus
	query  Query
	each   func(Found) bool
	plan   *plan

	stop atomic.Bool // nothing more is looked at
	full atomic.Bool // nothing more is given: what comes is counted

	enough atomic.Int64 // the first unit that has by itself as many lines as are given

	given   int // lines, or files
	summary Summary
	ended   bool // each wanted no more
	missed  bool // something was not looked at
}

// watch stops the search when its time is over. What it returns ends that.
func (s *search) watch(ctx context.Context, k clock) func() {
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

// conclude says what the search came to.
func (s *search) conclude(ctx context.Context, late string) (Summary, error) {
	sum := &s.summary
	sum.Incomplete = s.missed || s.ended || late != ""
	switch {
	case s.ended:
		sum.Reason = "the search was ended"
	case late != "":
		sum.Reason = late
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
