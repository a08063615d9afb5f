package auditindex

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"remit/internal/contract"
)

// Failed is the Outcome of a filter that wants every call that was refused or went
// wrong.
const Failed = "failed"

// IsFailure tells whether an outcome is one of those that Failed stands for. Whoever
// asks, or waits for a person, has not failed.
func IsFailure(outcome string) bool {
	switch outcome {
	case "ok", "replayed", "asked", string(contract.Pending):
		return false
	}
	return true
}

// Filter chooses calls. What is left out chooses all.
type Filter struct {
	Tool    string // set/name, or the name alone
	Caller  string
	Outcome string // or Failed
	Face    string
	Without string    // a face whose calls are left out
	From    time.Time // the first instant
	To      time.Time // the first instant that is too late
}

func (f *Filter) fits(k *Kind) bool {
	_, name, _ := strings.Cut(k.Tool, "/")
	return (f.Tool == "" || f.Tool == k.Tool || f.Tool == name) &&
		(f.Caller == "" || f.Caller == k.Caller) &&
		(f.Face == "" || f.Face == k.Face) &&
		(f.Without == "" || f.Without != k.Face) &&
		(f.Outcome == "" || f.Outcome == k.Outcome || f.Outcome == Failed && IsFailure(k.Outcome))
}

// tallies are the kinds of calls in the table and how many calls there are of each.
type tallies struct {
	store Store
	kinds map[int64]KnownKind
	calls map[int64]int
}

// tally counts the calls that began at from or later. Without a database there are none.
func (x *Index) tally(ctx context.Context, from time.Time) (t tallies, err error) {
	if !x.exists() {
		return t, nil
	}
	if t.store, err = x.Open(ctx); err != nil {
		return t, err
	}
	if t.kinds, err = t.store.Kinds(ctx); err != nil {
		return t, err
	}
	t.calls, err = t.store.Counts(ctx, from)
	return t, err
}

// query chooses the kinds that a filter fits and that have calls.
func (t *tallies) query(f *Filter) Query {
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
	q.Before.Place++
	// A page is found by sorting all calls that fit, or by reading all calls from the
	// newest until enough of them fit: about 50 * all / total, each in an eighth of the time.
	q.Few = total*total <= 6*all
	if !f.From.IsZero() { // no record of a day is of a call that began after that day
		q.After = Spot{f.From.UTC().Format(time.DateOnly), -1}
	}
	slices.Sort(q.Kinds)
	return q
}

// Count is how many calls there are of something.
type Count struct {
	Name  string
	Calls int
}

// Names are what calls can be chosen by, most frequent first.
type Names struct{ Tools, Callers, Faces, Outcomes []Count }

// Sums are how many calls there are.
type Sums struct {
	Total  int   // that a filter chooses
	Failed int   // among them
	Names  Names // of all calls, but for the time and the face that the filter leaves out
}

// sums counts calls. It ignores the end of the filter's time.
func (t *tallies) sums(f *Filter) (s Sums) {
	tools, callers, faces, outcomes := map[string]int{}, map[string]int{}, map[string]int{}, map[string]int{}
	for id, kind := range t.kinds {
		n := t.calls[id]
		if n == 0 {
			continue
		}
		if f.fits(&kind.Kind) {
			s.Total += n
			if IsFailure(kind.Outcome) {
				s.Failed += n
			}
		}
		if f.Without == "" || f.Without != kind.Face {
			tools[kind.Tool] += n
			callers[kind.Caller] += n
			faces[kind.Face] += n
			outcomes[kind.Outcome] += n
		}
	}
	s.Names = Names{ranked(tools), ranked(callers), ranked(faces), ranked(outcomes)}
	return s
}

// ranked sorts names by how many calls they have.
func ranked(calls map[string]int) (list []Count) {
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
	Older string // the cursor of what comes next; "" at the end
	Newer string // the cursor of what came before; "" at the beginning
}

// Cursors say where a page begins and which way it goes.
const (
	olderThan = "older."
	newerThan = "newer."
)

// Page lists calls, newest first, as they were recorded: at their end. A cursor is ""
// or one that an earlier page gave; it leads to the same place however many calls came
// since. The error is contract.Invalid if it is neither.
func (x *Index) Page(ctx context.Context, f Filter, cursor string, limit int) (p Page, err error) {
	text, newer := strings.CutPrefix(cursor, newerThan)
	text, older := strings.CutPrefix(text, olderThan)
	at, ok := parseSpot(text)
	if cursor != "" && (!ok || newer == older) {
		return p, contract.Errorf(contract.Invalid, "The page %q is none of this list; start without it", cursor).With("field", "page")
	}
	t, err := x.tally(ctx, f.From)
	if err != nil {
		return p, err
	}
	q := t.query(&f)
	q.Limit = limit + 1
	if len(q.Kinds) > 0 && newer {
		p, err = t.part(ctx, q, Spot{}, at)
	}
	if len(q.Kinds) > 0 && err == nil && len(p.Calls) < limit { // the first page is never half a page
		if !older {
			at = Spot{}
		}
		p, err = t.part(ctx, q, at, Spot{})
	}
	p.Sums = t.sums(&f)
	return p, err
}

// part lists the newest calls before a spot, or the oldest after one; without a spot the newest of all.
func (t *tallies) part(ctx context.Context, q Query, before, after Spot) (p Page, err error) {
	if before != (Spot{}) && before.less(q.Before) {
		q.Before = before
	}
	if q.OldestFirst = after != (Spot{}); q.After.less(after) {
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
	if before != (Spot{}) || more && q.OldestFirst {
		p.Newer = newerThan + p.Calls[0].String()
	}
	return p, nil
}

// page lists calls and says of which kind they are.
func (t *tallies) page(ctx context.Context, q Query) ([]Call, error) {
	calls, err := t.store.Page(ctx, q)
	for i := range calls {
		calls[i].Kind = t.kinds[calls[i].KindID].Kind
	}
	return calls, err
}
