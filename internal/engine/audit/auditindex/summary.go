package auditindex

import (
	"context"
	"time"

	"remit/internal/contract"
)

// Summary says what the calls that match a filter are.
type Summary struct {
	Calls, Failed int
	Asked         int     // calls that wait for approval, or have waited
	Tools         []Count // most called first
	// First and Last are when the first call began, and the one that ended last. They are the zero
	// time if there is none.
	First, Last time.Time
}

// Summary counts the calls that match a filter, without Text, Session and Changes.
func (x *Index) Summary(ctx context.Context, f Filter) (s Summary, err error) {
	t, err := x.count(ctx, f.From)
	q := t.query(&f)
	if err != nil || len(q.Kinds) == 0 {
		return s, err
	}
	tools := map[string]int{}
	for _, id := range q.Kinds {
		kind, n := t.kinds[id], t.calls[id]
		tools[kind.Tool] += n
		if kind.Outcome == string(contract.Pending) {
			s.Asked += n
		}
	}
	sums := t.sums(&f)
	s.Calls, s.Failed, s.Tools = sums.Total, sums.Failed, Ranked(tools)
	if s.First, err = t.store.First(ctx, q.Kinds); err != nil {
		return s, err
	}
	q.Limit = 1
	last, err := t.page(ctx, q)
	if len(last) > 0 {
		s.Last = last[0].Time
	}
	return s, err
}
