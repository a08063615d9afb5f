// Package auditindex finds calls in the audit records with an index in a database: it lists, counts
// and measures calls. The index follows the records, whichever process wrote them. It can be
// deleted at any time, because it is rebuilt from the records.
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

// Index is the index of calls, with the records that it is built from. It reads nothing before the
// first Refresh. It is safe for concurrent use; its exported fields must not change once it is
// used.
type Index struct {
	Records audit.Reader
	// Exists reports whether the database exists; nil means that it does. Queries do not create it.
	Exists func() bool
	Open   func(context.Context) (Store, error)
	Now    func() time.Time

	reading sync.Mutex // held while the index is updated
	loader  sync.WaitGroup

	mu        sync.Mutex // guards what follows
	refreshed time.Time  // when the records were last checked
	loading   bool       // a goroutine updates the index
	closed    bool
	known     []DayProgress // after the last check, sorted by day
	version   uint64
	status    Status
}

// Status says how much of the records is indexed.
type Status struct {
	Broken  int   // lines that were ignored because they are not records
	Loading bool  // the index is being updated
	Percent int   // how much of the records is indexed during an update
	Err     error // why the last update failed; the index may be out of date
}

// Status returns the status after the last check.
func (x *Index) Status() Status {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.status
}

// Version returns a number that grows whenever the index changes.
func (x *Index) Version() uint64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.version
}

// Newest returns the position of the newest successful call of each tool, after the last check.
// Without a database there is none.
func (x *Index) Newest(ctx context.Context) (map[string]Position, error) {
	if !x.exists() {
		return nil, nil
	}
	store, err := x.Open(ctx)
	if err != nil {
		return nil, err
	}
	found, err := store.Newest(ctx)
	newest := make(map[string]Position, len(found))
	for tool, at := range found { // an earlier version may have indexed it
		if tool = audit.CurrentTool(tool); newest[tool].less(at) {
			newest[tool] = at
		}
	}
	return newest, err
}

const (
	// refreshInterval is how long a check of the records stays recent enough.
	refreshInterval = 250 * time.Millisecond
	// refreshBatches is how many batches Refresh indexes before it returns. A goroutine indexes the
	// rest.
	refreshBatches = 8
	// batchLines is how many lines are indexed in one transaction, for which other writers of the
	// database must wait.
	batchLines = 500
	// firstDay and lastDay are the days that a store can number with 16 bits.
	firstDay, lastDay = "1970-01-01", "2149-06-06"
	// refreshTimeout is how long one check of the records may take.
	refreshTimeout = 30 * time.Second
)

// Refresh indexes the calls that were recorded since the last check, unless that was less than 250
// ms ago. If there are many, it indexes some of them and a goroutine the rest: Status reports that
// until it is done or Close is called. An error says why the index is out of date.
func (x *Index) Refresh(ctx context.Context) error {
	more, err := x.update(ctx)
	x.mu.Lock()
	defer x.mu.Unlock()
	if more && err == nil && !x.closed && !x.loading {
		x.loading = true
		x.loader.Go(x.load)
	}
	return err
}

// update indexes some batches, unless another call has just done so, and reports whether more are
// left.
func (x *Index) update(ctx context.Context) (more bool, err error) {
	if s := x.Status(); x.isRecent() {
		return s.Loading, s.Err
	}
	x.reading.Lock()
	defer x.reading.Unlock()
	if s := x.Status(); x.isRecent() { // another call has just finished
		return s.Loading, s.Err
	}
	return x.fill(ctx)
}

func (x *Index) isRecent() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.loading || x.closed || !x.refreshed.IsZero() && x.Now().Sub(x.refreshed).Abs() < refreshInterval
}

// load updates the index until it contains all records, and then returns the memory that this took
// to the system.
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

// Follow indexes some batches every five seconds until ctx ends, so that little is left for
// Refresh. It keeps up with 800 calls a second. If there are more, it leaves the processor to the
// calls, and the rest to Refresh.
func (x *Index) Follow(ctx context.Context) {
	tick := time.NewTicker(5 * time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			_, _ = x.update(ctx) // Status reports errors
		}
	}
}

// Close ends the goroutine that updates the index.
func (x *Index) Close() {
	x.mu.Lock()
	x.closed = true
	x.mu.Unlock()
	x.loader.Wait()
}

// fill indexes some batches and reports whether more are left. It does not stop when ctx is
// cancelled, because the result is for all callers.
func (x *Index) fill(ctx context.Context) (more bool, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), refreshTimeout)
	defer cancel()
	days, err := x.Records.Days(ctx)
	days = slices.DeleteFunc(days, func(d audit.Day) bool { return d.Name < firstDay || d.Name > lastDay })
	var known []DayProgress
	if err == nil && (len(days) > 0 || x.exists()) {
		known, more, err = x.index(ctx, days)
	}
	x.note(days, known, more, err)
	return more, err
}

func (x *Index) exists() bool { return x.Exists == nil || x.Exists() }

// note stores the result of an update.
func (x *Index) note(days []audit.Day, known []DayProgress, more bool, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.refreshed, x.status.Err = x.Now(), err
	if err != nil {
		x.status.Loading = false
		return
	}
	known = slices.DeleteFunc(known, func(d DayProgress) bool { return d.Next == 0 })
	slices.SortFunc(known, func(a, b DayProgress) int { return strings.Compare(a.Day, b.Day) })
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

// index updates the index from the records, newest day first, by a few batches at most.
func (x *Index) index(ctx context.Context, days []audit.Day) (known []DayProgress, more bool, err error) {
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
		i := slices.IndexFunc(known, func(d DayProgress) bool { return d.Day == day.Name })
		if i < 0 {
			i = len(known)
			known = append(known, DayProgress{Day: day.Name, Complete: true})
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
				break // no line was completed since
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

// dropStale removes days from the index that the records no longer have, that are shorter than the
// indexed part, or whose calls were deleted.
func dropStale(ctx context.Context, store Store, known []DayProgress, days []audit.Day) (left []DayProgress, err error) {
	for _, d := range known {
		i := slices.IndexFunc(days, func(day audit.Day) bool { return day.Name == d.Day })
		// A sealed last line without a newline counts as if it had one.
		if i >= 0 && d.Next <= days[i].End+1 && d.Complete {
			left = append(left, d)
			continue
		}
		if err := store.Remove(ctx, d.Day); err != nil {
			return nil, err
		}
	}
	return left, nil
}

// indexBatch indexes the next lines of a day, if there are any. It returns false if another process
// has indexed them.
func (x *Index) indexBatch(ctx context.Context, store Store, d *DayProgress) (bool, error) {
	lines, err := x.Records.From(ctx, d.Day, d.Next, batchLines)
	if err != nil || len(lines) == 0 {
		return true, err
	}
	b := x.batchOf(d, lines)
	if b.To == b.From {
		return true, nil
	}
	ok, err := store.Append(ctx, b)
	if err != nil || !ok {
		return false, err
	}
	d.Next, d.Calls, d.Broken = b.To, d.Calls+len(b.Calls), d.Broken+b.Broken
	return true, nil
}

// batchOf returns the calls of some lines. Of a call that has begun only its last record counts. If
// it has none yet, the batch ends before the call: the last record may be in the next batch, or be
// written later, and Latest can show that the call has begun. After begunTimeout it is indexed as
// begun.
func (x *Index) batchOf(d *DayProgress, lines []audit.Line) Batch {
	b := Batch{Day: d.Day, From: d.Next, To: lines[len(lines)-1].Next}
	ended, isFull := map[string]bool{}, len(lines) == batchLines
	type parsed struct {
		call Call
		id   string // of a record with the outcome begun
		ok   bool
	}
	all := make([]parsed, len(lines))
	for i := range lines {
		record, call, ok := parse(d.Day, &lines[i])
		id := record.Field("call")
		if all[i] = (parsed{call, "", ok}); call.Outcome == audit.Begun {
			all[i].id = id.Text
		} else {
			ended[id.Text] = true
		}
	}
	for i := range all {
		p := &all[i]
		switch {
		case p.id != "" && ended[p.id], p.call.Outcome == audit.Settled:
		case p.id != "" && (isFull && i > 0 || !isFull && x.Now().Sub(p.call.Time) < begunTimeout):
			b.To = lines[i].Offset
			return b
		case p.ok:
			b.Calls = append(b.Calls, p.call)
		default:
			b.Broken++
		}
	}
	return b
}

// begunTimeout is how long the index waits for the last record of a call.
const begunTimeout = time.Minute
