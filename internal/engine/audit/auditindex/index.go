// Package auditindex finds calls in the audit records with a table of them in a
// database: it lists, counts and measures calls. The table follows the records and can
// be lost without loss, whichever process wrote them.
package auditindex

import (
	"context"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"remit/internal/engine/audit"
)

// Index is the table of calls and the records that it is made of. Nothing is read before
// the first Refresh. It is safe for concurrent use; its exported fields must not change
// once it is used.
type Index struct {
	Records audit.Reader
	// Exists reports whether there is a database; nil means that there is. Queries do
	// not create one.
	Exists func() bool
	Open   func(context.Context) (Store, error)
	Now    func() time.Time

	reading sync.Mutex // held while the table is filled
	loader  sync.WaitGroup

	mu      sync.Mutex // guards what follows
	looked  time.Time  // when the records were last looked at
	loading bool       // a goroutine fills the table
	closed  bool
	known   []Indexed // as of the last look, sorted by day
	version uint64
	status  Status
}

// Status says how much of the records is in the table.
type Status struct {
	Broken  int   // lines that were ignored, because they are not records
	Loading bool  // the table is being filled
	Percent int   // how much of the records is in the table while it is being filled
	Err     error // why the table cannot be filled now; it may be out of date
}

// Status returns how much of the records was in the table after the last look.
func (x *Index) Status() Status {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.status
}

// Version grows whenever there is something new to see.
func (x *Index) Version() uint64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.version
}

const (
	// pause is for how long a look at the records is recent enough.
	pause = 250 * time.Millisecond
	// refreshBatches is how many batches Refresh indexes before it returns. The rest
	// is left to a goroutine.
	refreshBatches = 8
	// batchLines is how many lines are indexed in one transaction: other writers of
	// the database wait for it.
	batchLines = 500
	// firstDay and lastDay are the days that a store can number with 16 bits.
	firstDay, lastDay = "1970-01-01", "2149-06-06"
	// lookTimeout is how long a look at the records may take.
	lookTimeout = 30 * time.Second
)

// Refresh indexes what was recorded since the last look, unless that was less than 250 ms
// ago. If much was recorded it indexes a part, and a goroutine the rest: Status reports
// that until it is done, or Close is called. An error says why the table is out of date.
func (x *Index) Refresh(ctx context.Context) error {
	more, err := x.look(ctx)
	x.mu.Lock()
	defer x.mu.Unlock()
	if more && err == nil && !x.closed && !x.loading {
		x.loading = true
		x.loader.Go(x.load)
	}
	return err
}

// look indexes some batches, unless somebody has just done so, and reports whether more
// are left.
func (x *Index) look(ctx context.Context) (more bool, err error) {
	if s := x.Status(); x.isRecent() {
		return s.Loading, s.Err
	}
	x.reading.Lock()
	defer x.reading.Unlock()
	if s := x.Status(); x.isRecent() { // somebody else has just looked
		return s.Loading, s.Err
	}
	return x.fill(ctx)
}

func (x *Index) isRecent() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.loading || x.closed || !x.looked.IsZero() && x.Now().Sub(x.looked).Abs() < pause
}

// load fills the table until it holds all records, and then gives the memory back that
// a million of them took.
func (x *Index) load() {
	defer debug.FreeOSMemory()
	for more := true; more; {
		x.reading.Lock()
		filled, err := x.fill(context.Background())
		x.reading.Unlock()
		x.mu.Lock()
		more = filled && err == nil && !x.closed
		x.loading = more
		x.mu.Unlock()
	}
}

// Follow indexes some batches every five seconds until ctx ends, so that little is left
// to index when somebody asks. It keeps up with 800 calls a second; if there are more it
// leaves the processor to them, and the rest to Refresh.
func (x *Index) Follow(ctx context.Context) {
	tick := time.NewTicker(5 * time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			_, _ = x.look(ctx) // Status reports it
		}
	}
}

// Close ends the goroutine that fills the table.
func (x *Index) Close() {
	x.mu.Lock()
	x.closed = true
	x.mu.Unlock()
	x.loader.Wait()
}

// fill indexes some batches and reports whether more are left. Whoever asked may go away
// meanwhile: the result is for all.
func (x *Index) fill(ctx context.Context) (more bool, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookTimeout)
	defer cancel()
	days, err := x.Records.Days(ctx)
	days = slices.DeleteFunc(days, func(d audit.Day) bool { return d.Name < firstDay || d.Name > lastDay })
	var known []Indexed
	if err == nil && (len(days) > 0 || x.exists()) {
		known, more, err = x.index(ctx, days)
	}
	x.note(days, known, more, err)
	return more, err
}

func (x *Index) exists() bool { return x.Exists == nil || x.Exists() }

// note remembers the result of a look.
func (x *Index) note(days []audit.Day, known []Indexed, more bool, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.looked, x.status.Err = x.Now(), err
	if err != nil {
		x.status.Loading = false
		return
	}
	known = slices.DeleteFunc(known, func(d Indexed) bool { return d.Next == 0 })
	slices.SortFunc(known, func(a, b Indexed) int { return strings.Compare(a.Day, b.Day) })
	if !slices.Equal(known, x.known) {
		x.known = known
		x.version++
	}
	x.status = Status{Loading: more}
	var read, all int64
	for _, d := range known {
		x.status.Broken += d.Broken
		i := slices.IndexFunc(days, func(day audit.Day) bool { return day.Name == d.Day })
		if i >= 0 && days[i].End > 0 {
			read += int64(float64(days[i].Size) * float64(d.Next) / float64(days[i].End))
		}
	}
	for _, day := range days {
		all += day.Size
	}
	x.status.Percent = int(100 * read / max(all, 1))
}

// index brings the table up to the records, newest day first, a few batches at most.
func (x *Index) index(ctx context.Context, days []audit.Day) (known []Indexed, more bool, err error) {
	store, err := x.Open(ctx)
	if err != nil {
		return nil, false, err
	}
	if known, err = store.Days(ctx); err != nil {
		return nil, false, err
	}
	if known, err = dropStale(ctx, store, known, days); err != nil {
		return nil, false, err
	}
	left := refreshBatches
	for _, day := range slices.Backward(days) {
		i := slices.IndexFunc(known, func(d Indexed) bool { return d.Day == day.Name })
		if i < 0 {
			i = len(known)
			known = append(known, Indexed{Day: day.Name, Sound: true})
		}
		for d := &known[i]; d.Next < day.End; left-- {
			if left == 0 || x.isClosed() {
				return known, true, nil
			}
			from := d.Next
			if ok, err := x.indexBatch(ctx, store, d); err != nil || !ok {
				return known, err == nil, err
			}
			if d.Next == from {
				break // no line has ended since
			}
		}
	}
	return known, false, nil
}

func (x *Index) isClosed() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.closed
}

// dropStale removes days from the table that the records no longer have, that are shorter
// than what was indexed of them, or whose calls were deleted.
func dropStale(ctx context.Context, store Store, known []Indexed, days []audit.Day) (left []Indexed, err error) {
	for _, d := range known {
		i := slices.IndexFunc(days, func(day audit.Day) bool { return day.Name == d.Day })
		// A sealed last line without its newline counts as if it had one.
		if i >= 0 && d.Next <= days[i].End+1 && d.Sound {
			left = append(left, d)
			continue
		}
		if err := store.Remove(ctx, d.Day); err != nil {
			return nil, err
		}
	}
	return left, nil
}

// indexBatch indexes the next lines of a day, if there are any. It reports false if another
// process has indexed them.
func (x *Index) indexBatch(ctx context.Context, store Store, d *Indexed) (bool, error) {
	lines, err := x.Records.From(ctx, d.Day, d.Next, batchLines)
	if err != nil || len(lines) == 0 {
		return true, err
	}
	b := Batch{Day: d.Day, From: d.Next, To: lines[len(lines)-1].Next}
	for i := range lines {
		if _, call, ok := parse(d.Day, &lines[i]); ok {
			b.Calls = append(b.Calls, call)
		} else {
			b.Broken++
		}
	}
	ok, err := store.Append(ctx, b)
	if err != nil || !ok {
		return false, err
	}
	d.Next, d.Calls, d.Broken = b.To, d.Calls+len(b.Calls), d.Broken+b.Broken
	return true, nil
}
