package approval_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"remit/internal/contract"
	"remit/internal/engine/approval"
)

// TestDecideSeen decides about several requests at once: only those count that the person has seen
// as they are now.
func TestDecideSeen(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 9, 10, 0, 0, 0, time.UTC)
	store, states := &fake{}, map[string]string{}
	d := &approval.Desk{
		Open: func(context.Context) (approval.Store, error) { return store, nil },
		Show: func(_ context.Context, r approval.Request, _ string) (approval.Shown, error) {
			return approval.Shown{State: states[r.ID]}, nil
		},
		Now: func() time.Time { return now },
	}
	var seen []approval.Seen
	for i := range 6 {
		r, err := store.Ask(t.Context(), approval.Request{
			ID: fmt.Sprint("r", i), Key: fmt.Sprint("k", i), State: approval.Pending, CreatedAt: now, ExpiresAt: now.Add(time.Hour),
		})
		if err != nil {
			t.Fatal(err)
		}
		states[r.ID] = "v1"
		seen = append(seen, approval.Seen{ID: r.ID, Mark: r.PageMark("v1")})
	}
	states["r1"] = "v2"         // changed since
	seen[2].Mark = seen[0].Mark // that of another request
	seen[3].Mark = ""           // never opened
	if _, err := store.Decide(t.Context(), "r4", approval.Verdict{By: "ada"}, now, now.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	seen = append(seen, approval.Seen{ID: "zz"}, seen[5])

	for _, tc := range []struct {
		approve bool
		want    string
	}{
		{true, "[approved conflict conflict conflict conflict approved not_found conflict]"},
		{false, "[conflict denied conflict conflict conflict conflict not_found conflict]"},
	} {
		outcomes, err := d.DecideSeen(t.Context(), seen, approval.Decision{Approve: tc.approve, By: "grace"})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, o := range outcomes {
			if o.Err != nil {
				got = append(got, string(contract.AsError(o.Err).Kind))
			} else {
				got = append(got, string(o.Request.State))
			}
		}
		if fmt.Sprint(got) != tc.want {
			t.Errorf("approve %v: %v, want %s", tc.approve, got, tc.want)
		}
	}
	if _, err := d.DecideSeen(t.Context(), make([]approval.Seen, approval.MaxTogether+1), approval.Decision{}); contract.AsError(err).Kind != contract.Invalid {
		t.Errorf("too many: %v", err)
	}
}
