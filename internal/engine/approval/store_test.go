package approval_test

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"remit/internal/contract"
	"remit/internal/engine/approval"
	"remit/internal/engine/approval/approvaltest"
)

// fake is a Store in memory. It passes the suite, so that the tests of the gate also hold for real
// stores.
type fake struct {
	mu       sync.Mutex
	requests []approval.Request // oldest first
	fail     error              // returned by every method, if set
}

var _ approval.Store = (*fake)(nil)

func TestFake(t *testing.T) {
	approvaltest.Suite(t, func(*testing.T) approval.Store { return &fake{} })
}

func (f *fake) enter(ctx context.Context) (leave func(), err error) {
	f.mu.Lock()
	if f.fail != nil {
		err = f.fail
	} else {
		err = ctx.Err()
	}
	return f.mu.Unlock, err
}

// find returns the first request that matches, nil if there is none.
func (f *fake) find(fits func(approval.Request) bool) *approval.Request {
	if i := slices.IndexFunc(f.requests, fits); i >= 0 {
		return &f.requests[i]
	}
	return nil
}

func (f *fake) Ask(ctx context.Context, r approval.Request) (approval.Request, error) {
	leave, err := f.enter(ctx)
	defer leave()
	if err != nil {
		return approval.Request{}, err
	}
	open := f.find(func(o approval.Request) bool {
		return o.Key == r.Key && o.State == approval.Pending && !o.Expired(r.CreatedAt)
	})
	if open != nil {
		return *open, nil
	}
	others := 0
	for _, o := range f.requests {
		if o.Principal == r.Principal && o.State == approval.Pending && !o.Expired(r.CreatedAt) {
			others++
		}
	}
	if others >= approval.MaxPending {
		return approval.Request{}, contract.Errorf(contract.Limited, "%d wait", others)
	}
	f.requests = append(f.requests, r)
	return r, nil
}

func (f *fake) decided(key string, now time.Time) *approval.Request {
	return f.find(func(r approval.Request) bool {
		return r.Key == key && (r.State == approval.Approved || r.State == approval.Denied) && r.UsedAt.IsZero() && !r.Expired(now)
	})
}

func (f *fake) Decided(ctx context.Context, key string, now time.Time) (approval.Request, bool, error) {
	leave, err := f.enter(ctx)
	defer leave()
	if r := f.decided(key, now); r != nil && err == nil {
		return *r, true, nil
	}
	return approval.Request{}, false, err
}

func (f *fake) Take(ctx context.Context, key, shown string, now time.Time) (approval.Request, bool, error) {
	leave, err := f.enter(ctx)
	defer leave()
	r := f.decided(key, now)
	if r == nil || err != nil {
		return approval.Request{}, false, err
	}
	if r.State == approval.Approved && r.Shown != shown {
		r.State = approval.Changed
	}
	r.UsedAt = now
	return *r, true, nil
}

func (f *fake) Withdraw(ctx context.Context, id string, v approval.Verdict, now time.Time) (approval.Request, error) {
	leave, err := f.enter(ctx)
	defer leave()
	if err != nil {
		return approval.Request{}, err
	}
	r := f.find(func(r approval.Request) bool { return r.ID == id })
	switch {
	case r == nil:
		return approval.Request{}, contract.Errorf(contract.NotFound, "No request %s", id)
	case r.Stage(now) != string(approval.Approved):
		return approval.Request{}, contract.Errorf(contract.Conflict, "%s %s", id, r.Stage(now))
	}
	r.State, r.DecidedBy, r.DecidedAt = approval.Withdrawn, v.By, now
	return *r, nil
}

func (f *fake) Decide(ctx context.Context, id string, v approval.Verdict, now, expires time.Time) (approval.Request, error) {
	leave, err := f.enter(ctx)
	defer leave()
	if err != nil {
		return approval.Request{}, err
	}
	r := f.find(func(r approval.Request) bool { return r.ID == id })
	switch {
	case r == nil:
		return approval.Request{}, contract.Errorf(contract.NotFound, "No request %s", id)
	case r.State != approval.Pending:
		return approval.Request{}, contract.Errorf(contract.Conflict, "%s %s %s %s", id, r.State, r.DecidedAt.Format(time.RFC3339),
			r.DecidedBy)
	case r.Expired(now):
		return approval.Request{}, contract.Errorf(contract.Conflict, "%s expired %s", id, r.ExpiresAt.Format(time.RFC3339))
	}
	r.State = approval.Denied
	if v.Approve {
		r.State = approval.Approved
	}
	r.DecidedAt, r.ExpiresAt, r.DecidedBy, r.Reason, r.Shown = now, expires, v.By, v.Reason, v.Shown
	r.Proof, r.Seal = v.Proof.String(), v.Seal
	return *r, nil
}

func (f *fake) Get(ctx context.Context, id string) (approval.Request, error) {
	leave, err := f.enter(ctx)
	defer leave()
	if err != nil {
		return approval.Request{}, err
	}
	var found []string
	for _, r := range f.requests {
		if r.ID == id {
			return r, nil
		}
		if strings.HasPrefix(r.ID, id) {
			found = append(found, r.ID)
		}
	}
	switch {
	case id == "" || len(found) > 1:
		return approval.Request{}, contract.Errorf(contract.Invalid, "Several: %v", found)
	case len(found) == 0:
		return approval.Request{}, contract.Errorf(contract.NotFound, "No request %s", id)
	}
	return *f.find(func(r approval.Request) bool { return r.ID == found[0] }), nil
}

func (f *fake) WaitingIDs(ctx context.Context, now time.Time) (ids []string, err error) {
	leave, err := f.enter(ctx)
	defer leave()
	for _, r := range f.requests {
		if r.State == approval.Pending && !r.Expired(now) {
			ids = append(ids, r.ID)
		}
	}
	return ids, err
}

func (f *fake) List(ctx context.Context, o approval.ListOptions) ([]approval.Request, error) {
	if err := approval.CheckState(o.State); err != nil {
		return nil, err
	}
	if _, _, err := approval.ParseCursor(o.After); err != nil && o.After != "" {
		return nil, err
	}
	return f.newest(ctx, cmp.Or(o.Limit, 100), o.Brief, byCreation, func(r approval.Request) bool { return approvaltest.Selects(o, r) })
}

func (f *fake) Similar(ctx context.Context, o approval.SimilarOptions) ([]approval.Request, error) {
	return f.newest(ctx, cmp.Or(o.Limit, approval.MaxSimilar), true, byDecision, func(r approval.Request) bool {
		return r.Principal == o.Principal && r.Tool == o.Tool && r.State != approval.Withdrawn && !r.DecidedAt.IsZero() && !r.DecidedAt.Before(o.Since)
	})
}

func byCreation(a, b approval.Request) int {
	return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), strings.Compare(b.ID, a.ID))
}

func byDecision(a, b approval.Request) int { return b.DecidedAt.Compare(a.DecidedAt) }

// newest returns the first requests in an order.
func (f *fake) newest(
	ctx context.Context, limit int, brief bool, order func(a, b approval.Request) int, fits func(approval.Request) bool,
) ([]approval.Request, error) {
	leave, err := f.enter(ctx)
	defer leave()
	if err != nil {
		return nil, err
	}
	list := slices.DeleteFunc(slices.Clone(f.requests), func(r approval.Request) bool { return !fits(r) })
	slices.SortFunc(list, order)
	list = list[:min(len(list), limit)]
	for i := range list {
		if brief {
			list[i].Arguments = nil
		}
	}
	return list, nil
}

func (f *fake) Waiting(ctx context.Context, now time.Time) ([]approval.Group, error) {
	list, err := f.List(ctx, approval.ListOptions{Now: now, Limit: 1000})
	var groups []approval.Group
	for _, r := range list {
		i := slices.IndexFunc(groups, func(g approval.Group) bool {
			return g.Principal == r.Principal && g.Tool == r.Tool && g.Target == r.Target
		})
		if i < 0 {
			i, groups = len(groups), append(groups, approval.Group{Principal: r.Principal, Tool: r.Tool, Target: r.Target})
		}
		groups[i].Count++
	}
	slices.SortFunc(groups, func(a, b approval.Group) int {
		return cmp.Or(b.Count-a.Count, strings.Compare(a.Principal, b.Principal), strings.Compare(a.Tool, b.Tool), strings.Compare(a.Target, b.Target))
	})
	return groups, err
}
