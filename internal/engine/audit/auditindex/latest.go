package auditindex

import (
	"bytes"
	"context"
	"math"
	"slices"
	"time"

	"remit/internal/contract/jsontree"
	"remit/internal/engine/audit"
)

// Latest returns the complete records of the latest calls, newest first, each with its id. It
// changes nothing: it reads calls that are not indexed from the records, and all calls if the index
// cannot be read.
func (x *Index) Latest(ctx context.Context, f Filter, limit int) ([]jsontree.Value, error) {
	days, err := x.Records.Days(ctx)
	if err != nil {
		return nil, err
	}
	l := newLatest(x, f, limit)
	if !f.needsRecords() {
		l.use(ctx)
	}
	for _, day := range slices.Backward(days) {
		if day.Name < l.filter.From.UTC().Format(time.DateOnly) {
			break // a record is never on an earlier day than its call
		}
		next := l.next[day.Name]
		if next > day.End+1 {
			next = 0 // the index belongs to other records
		}
		err := l.read(ctx, day.Name, math.MaxInt64, next)
		if err == nil && next > 0 {
			err = l.lookup(ctx, Position{day.Name, next})
		}
		if err != nil || len(l.found) >= limit {
			return l.found[:min(limit, len(l.found))], err
		}
	}
	return l.found, nil
}

// latest collects the latest calls.
type latest struct {
	index  *Index
	filter Filter
	limit  int
	found  []jsontree.Value
	table  counts
	query  Query
	next   map[string]int64 // up to which place each day is indexed
	ended  map[string]bool  // the calls whose last record was read

	calls   []Call // those of found
	before  prefilter
	left    int       // how many lines may be read; negative for all
	at      Position  // the last line that was read
	reached time.Time // when its call began
	resumed bool      // later lines were read before
}

func newLatest(x *Index, f Filter, limit int) *latest {
	return &latest{
		index: x, filter: f, limit: limit, found: []jsontree.Value{}, ended: map[string]bool{}, before: newPrefilter(&f), left: -1,
	}
}

// use reads what is indexed. Without an index all calls are read from the records.
func (l *latest) use(ctx context.Context) {
	if !l.index.exists() {
		return
	}
	store, err := l.index.Open(ctx)
	if err != nil {
		return
	}
	// Before the kinds: another process may index calls of new kinds meanwhile.
	known, err := store.Days(ctx)
	if err != nil {
		return
	}
	table, err := l.index.count(ctx, l.filter.From)
	if err != nil || table.store == nil {
		return
	}
	l.table, l.query, l.next = table, table.query(&l.filter), map[string]int64{}
	for _, d := range known {
		if d.Complete {
			l.next[d.Day] = d.Next
		}
	}
}

// read collects calls from the records of a day, newest first, from a place down to the record at
// offset down.
func (l *latest) read(ctx context.Context, day string, place, down int64) error {
	for {
		lines, err := l.index.Records.Before(ctx, day, place, 1000)
		if err == nil {
			err = ctx.Err()
		}
		if err != nil || len(lines) == 0 {
			return err
		}
		for i := range lines {
			if place = lines[i].Offset; place < down || len(l.found) >= l.limit {
				return nil
			}
			if l.left == 0 {
				l.reached = timeOf(day, &lines[i-1])
				return nil
			}
			l.left--
			l.at = Position{day, place}
			if err := l.add(ctx, day, &lines[i]); err != nil {
				return err
			}
		}
		if l.left == 0 {
			l.reached = timeOf(day, &lines[len(lines)-1])
			return nil
		}
	}
}

// timeOf returns when the call of a line began; the start of the day if that is not known.
func timeOf(day string, line *audit.Line) time.Time {
	if _, c, ok := parse(day, line); ok {
		return c.Time
	}
	at, _ := time.Parse(time.DateOnly, day)
	return at
}

// add adds the record of a line if it matches the filter.
func (l *latest) add(ctx context.Context, day string, line *audit.Line) error {
	if !l.before.passes(line.Text) {
		if bytes.Contains(line.Text, []byte(callMark)) && audit.Settles(line.Text) {
			l.ended[audit.CallOf(line.Text)] = true
		}
		return nil
	}
	record, call, ok := parse(day, line)
	id := record.Field("call")
	switch {
	case !ok, call.Outcome == audit.Settled:
		return nil
	case call.Outcome != audit.Begun && id.Text != "":
		l.ended[id.Text] = true
	case id.Text != "" && l.ended[id.Text]:
		return nil // it has a later record
	}
	if !l.filter.fits(&call.Kind) || !l.filter.covers(call.Time) || !l.filter.selects(&record) {
		return nil
	}
	if call.Outcome == audit.Begun && l.resumed {
		if later, err := l.index.endsLater(ctx, call.Position, id.Text); later || err != nil {
			return err
		}
	}
	l.found = append(l.found, withID(record, call.ID()))
	l.calls = append(l.calls, call)
	return nil
}

// callMark is in every record that has the id of its call.
const callMark = `,"call":"`

// lookup collects calls of a day from the index, which has them up to a position.
func (l *latest) lookup(ctx context.Context, end Position) error {
	if len(l.query.Kinds) == 0 {
		return nil
	}
	q := l.query
	q.After, q.Before, q.Limit = Position{end.Day, -1}, end, l.limit-len(l.found)
	calls, err := l.table.page(ctx, q)
	if err != nil {
		return err
	}
	for i := range calls {
		lines, err := l.index.Records.From(ctx, end.Day, calls[i].Offset, 1)
		if err != nil {
			return err
		}
		if len(lines) > 0 && lines[0].Offset == calls[i].Offset {
			if err := l.add(ctx, end.Day, &lines[0]); err != nil {
				return err
			}
		}
	}
	return nil
}
