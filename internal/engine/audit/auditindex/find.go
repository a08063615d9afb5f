package auditindex

import (
	"bytes"
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine/audit"
)

// Entry is a call with all that its records say.
type Entry struct {
	Call
	Record jsontree.Value // with its id
	// Changes are the records that announced changes which the call was about to make, oldest
	// first.
	Changes []jsontree.Value
}

// Found is a part of the calls that match a filter, newest first.
type Found struct {
	Entries []Entry
	Older   string // the cursor of older calls; "" if all were searched
	// Searched is the time down to which calls were searched, if that ended before the part was
	// full. Older continues from there. Otherwise it is the zero time.
	Searched time.Time
}

// maxSearched is how many records one call of Find searches, so that it takes less than 100 ms.
const maxSearched = 50_000

// Find returns the complete records of calls, newest first, in the order in which they ended. A
// cursor is "" or Older of an earlier part. The error is contract.Invalid for any other cursor.
//
// What the index knows takes the same time however many calls there are. For a filter by text, by
// session or by changes, Find searches a limited number of records, and returns where to continue.
func (x *Index) Find(ctx context.Context, f Filter, cursor string, limit int) (found Found, err error) {
	if f.needsRecords() {
		found, err = x.search(ctx, f, cursor, limit)
	} else {
		found, err = x.lookup(ctx, f, cursor, limit)
	}
	for i := range found.Entries {
		if err == nil {
			err = x.addChanges(ctx, &found.Entries[i])
		}
	}
	return found, err
}

// lookup finds calls with the index.
func (x *Index) lookup(ctx context.Context, f Filter, cursor string, limit int) (found Found, err error) {
	page, err := x.Page(ctx, f, cursor, limit)
	if err != nil {
		return found, err
	}
	found.Older = page.Older
	for i := range page.Calls {
		c := &page.Calls[i]
		lines, err := x.Records.From(ctx, c.Day, c.Offset, 1)
		if err != nil {
			return found, err
		}
		if len(lines) == 0 || lines[0].Offset != c.Offset {
			continue // it was dropped
		}
		if record, call, ok := parse(c.Day, &lines[0]); ok {
			found.Entries = append(found.Entries, Entry{Call: call, Record: withID(record, call.ID())})
		}
	}
	return found, nil
}

// search finds calls in the records.
func (x *Index) search(ctx context.Context, f Filter, cursor string, limit int) (found Found, err error) {
	place := Position{Offset: math.MaxInt64}
	if cursor != "" {
		text, older := strings.CutPrefix(cursor, olderThan)
		at, ok := parsePosition(text)
		if !older || !ok {
			return found, contract.Errorf(contract.Invalid, "The page cursor %q is invalid; start without it", cursor).With("field", "page")
		}
		place = at
	}
	days, err := x.Records.Days(ctx)
	if err != nil {
		return found, err
	}
	l := newLatest(x, f, limit)
	l.left, l.resumed = maxSearched, cursor != ""
	for _, day := range slices.Backward(days) {
		if day.Name < f.From.UTC().Format(time.DateOnly) {
			break // a record is never on an earlier day than its call
		}
		if place.Day != "" && day.Name > place.Day {
			continue
		}
		from := int64(math.MaxInt64)
		if day.Name == place.Day {
			from = place.Offset
		}
		if err = l.read(ctx, day.Name, from, 0); err != nil {
			return found, err
		}
		if l.left == 0 || len(l.found) >= limit {
			found.Older = olderThan + l.at.String()
			if len(l.found) < limit {
				found.Searched = l.reached
			}
			break
		}
	}
	for i := range l.found {
		found.Entries = append(found.Entries, Entry{Call: l.calls[i], Record: l.found[i]})
	}
	return found, nil
}

// nearby is how many records before and after that of a call are searched for others of the call.
const nearby = 64

// addChanges adds the records that have announced the changes of a call. They are a few lines
// before the one that says how it ended.
func (x *Index) addChanges(ctx context.Context, e *Entry) error {
	call, effect, id := e.Record.Field("call"), e.Record.Field("effect"), e.Record.Field("id")
	if call.Text == "" || effect.Kind != jsontree.Null {
		return nil
	}
	at, _, err := parseID(id.Text)
	if err != nil {
		return err
	}
	lines, err := x.Records.Before(ctx, at.Day, at.Offset, nearby)
	if err != nil {
		return err
	}
	for _, line := range slices.Backward(lines) {
		if !bytes.Contains(line.Text, []byte(call.Text)) || audit.CallOf(line.Text) != call.Text {
			continue
		}
		record, c, ok := parse(at.Day, &line)
		if ok && c.Outcome == audit.Begun {
			e.Changes = append(e.Changes, record)
		}
	}
	return nil
}

// endsLater reports whether a record soon after a position says how a call ended.
func (x *Index) endsLater(ctx context.Context, at Position, call string) (bool, error) {
	lines, err := x.Records.From(ctx, at.Day, at.Offset, nearby)
	return slices.ContainsFunc(lines, func(l audit.Line) bool {
		return audit.CallOf(l.Text) == call && audit.Settles(l.Text)
	}), err
}
