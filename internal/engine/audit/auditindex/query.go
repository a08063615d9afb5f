package auditindex

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"remit/internal/contract"
	"remit/internal/engine/audit"
)

// Failed is the Outcome of a filter for all calls that were rejected or failed.
const Failed = "failed"

// Filter selects calls. An empty field matches all.
type Filter struct {
	Tool           string // set/name, or only the name
	Caller         string
	Outcome        string // or Failed
	Frontend       string
	ExceptFrontend string    // a front end whose calls are left out
	From           time.Time // the first instant
	To             time.Time // the first instant that is too late
	// Text is in the arguments of the call, or in the words of its failure. Upper and lower case of
	// ASCII letters are the same. Only Latest, Find and Watch know this and the next two.
	Text    string
	Session string // the id of the connection of the call
	Changes bool   // only calls that have changed something
}

func (f *Filter) fits(k *Kind) bool {
	_, name, _ := strings.Cut(k.Tool, "/")
	return (f.Tool == "" || audit.CurrentTool(f.Tool) == k.Tool || f.Tool == name) &&
		(f.Caller == "" || f.Caller == k.Caller) &&
		(f.Frontend == "" || f.Frontend == k.Frontend) &&
		(f.ExceptFrontend == "" || f.ExceptFrontend != k.Frontend) &&
		(f.Outcome == "" || f.Outcome == k.Outcome || f.Outcome == Failed && audit.IsFailure(k.Outcome))
}

// counts holds the kinds of calls in the index, with the number of calls of each.
type counts struct {
	store Store
	kinds map[int64]KnownKind
	calls map[int64]int
}

// count counts the calls that began at from or later. Without a database there are none.
func (x *Index) count(ctx context.Context, from time.Time) (t counts, err error) {
	if !x.exists() {
		return t, nil
	}
	if t.store, err = x.Open(ctx); err != nil {
		return t, err
	}
	if err = t.readKinds(ctx); err != nil {
		return t, err
	}
	t.calls, err = t.store.Counts(ctx, from)
	return t, err
}

// readKinds reads the kinds of calls.
func (t *counts) readKinds(ctx context.Context) (err error) {
	if t.kinds, err = t.store.Kinds(ctx); err != nil {
		return err
	}
	for id, kind := range t.kinds { // an earlier version may have indexed it
		kind.Tool = audit.CurrentTool(kind.Tool)
		t.kinds[id] = kind
	}
	return nil
}

// query selects the kinds that match a filter and have calls.
func (t *counts) query(f *Filter) Query {
	q := Query{From: f.From, To: f.To}
	total, all := 0, 0
	for id, kind := range t.kinds {
		n := t.calls[id]
		all += n
		if n > 0 && f.fits(&kind.Kind) {
			q.Kinds = append(q.Kinds, id)
			total += n
			if q.Before.less(kind.Last) {
				q.Before = kind.Last
			}
		}
	}
	q.Before.Offset++
	// A page is found by sorting all matching calls, or by reading all calls from the newest until
	// enough of them match: about 50 * all / total, each in an eighth of the time.
	q.FewMatches = total*total <= 6*all
	if !f.From.IsZero() { // a record is never on an earlier day than its call
		q.After = Position{f.From.UTC().Format(time.DateOnly), -1}
	}
	slices.Sort(q.Kinds)
	return q
}

// Count is a number of calls by name.
type Count struct {
	Name  string
	Calls int
}

// Names are the values that calls can be filtered by, most frequent first.
type Names struct{ Tools, Callers, Frontends, Outcomes []Count }

// Sums counts calls.
type Sums struct {
	Total  int // calls that match the filter
	Failed int // failures among them
	// Names covers all calls in the filter's time, except those of the front end that it leaves
	// out.
	Names Names
}

// sums counts calls. It ignores the end of the filter's time.
func (t *counts) sums(f *Filter) (s Sums) {
	tools, callers, frontends, outcomes := map[string]int{}, map[string]int{}, map[string]int{}, map[string]int{}
	for id, kind := range t.kinds {
		n := t.calls[id]
		if n == 0 {
			continue
		}
		if f.fits(&kind.Kind) {
			s.Total += n
			if audit.IsFailure(kind.Outcome) {
				s.Failed += n
			}
		}
		if f.ExceptFrontend == "" || f.ExceptFrontend != kind.Frontend {
			tools[kind.Tool] += n
			callers[kind.Caller] += n
			frontends[kind.Frontend] += n
			outcomes[kind.Outcome] += n
		}
	}
	s.Names = Names{Ranked(tools), Ranked(callers), Ranked(frontends), Ranked(outcomes)}
	return s
}

// Ranked sorts names by number of calls.
func Ranked(calls map[string]int) (list []Count) {
	for name, n := range calls {
		list = append(list, Count{name, n})
	}
	slices.SortFunc(list, func(a, b Count) int { return cmp.Or(b.Calls-a.Calls, strings.Compare(a.Name, b.Name)) })
	return list
}

// Page is a part of the list of calls, newest first.
type Page struct {
	Sums
	Calls []Call
	Older string // the cursor of the next page; "" at the end
	Newer string // the cursor of the previous page; "" at the beginning
}

// Cursors contain where a page begins, and its direction.
const (
	olderThan = "older."
	newerThan = "newer."
)

// Page returns calls, newest first, in the order in which they were recorded, which is when they
// ended. A cursor is "" or one from an earlier page; it points to the same position however many
// calls were added since. The error is contract.Invalid for any other cursor.
func (x *Index) Page(ctx context.Context, f Filter, cursor string, limit int) (p Page, err error) {
	text, newer := strings.CutPrefix(cursor, newerThan)
	text, older := strings.CutPrefix(text, olderThan)
	at, ok := parsePosition(text)
	if cursor != "" && (!ok || newer == older) {
		return p, contract.Errorf(contract.Invalid, "The page cursor %q is invalid; start without it", cursor).With("field", "page")
	}
	t, err := x.count(ctx, f.From)
	if err != nil {
		return p, err
	}
	q := t.query(&f)
	q.Limit = limit + 1
	if len(q.Kinds) > 0 && newer {
		p, err = t.part(ctx, q, Position{}, at)
	}
	if len(q.Kinds) > 0 && err == nil && len(p.Calls) < limit { // the first page is always full
		if !older {
			at = Position{}
		}
		p, err = t.part(ctx, q, at, Position{})
	}
	p.Sums = t.sums(&f)
	return p, err
}

// part returns one page: the newest calls before the position before, or the oldest calls after the
// position after. If both positions are zero, it returns the newest calls.
func (t *counts) part(ctx context.Context, q Query, before, after Position) (p Page, err error) {
	if before != (Position{}) && before.less(q.Before) {
		q.Before = before
	}
	if q.OldestFirst = after != (Position{}); q.After.less(after) {
		q.After = after
	}
	if p.Calls, err = t.page(ctx, q); err != nil || len(p.Calls) == 0 {
		return p, err
	}
	more := len(p.Calls) == q.Limit
	p.Calls = p.Calls[:min(len(p.Calls), q.Limit-1)]
	if q.OldestFirst {
		slices.Reverse(p.Calls)
	}
	if more || q.OldestFirst {
		p.Older = olderThan + p.Calls[len(p.Calls)-1].String()
	}
	if before != (Position{}) || more && q.OldestFirst {
		p.Newer = newerThan + p.Calls[0].String()
	}
	return p, nil
}

// page returns calls with their kinds.
func (t *counts) page(ctx context.Context, q Query) ([]Call, error) {
	calls, err := t.store.Page(ctx, q)
	for i := range calls {
		calls[i].Kind = t.kinds[calls[i].KindID].Kind
	}
	return calls, err
}
