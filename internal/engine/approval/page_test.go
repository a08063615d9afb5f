package approval_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"remit/internal/contract"
	"remit/internal/engine/approval"
)

// TestDecidedOnPage checks that a call whose person opened the page of the request waits for the
// decision there, and uses it.
func TestDecidedOnPage(t *testing.T) {
	for name, c := range map[string]struct {
		after   time.Duration // how long the person takes; 0 means forever
		approve bool
		want    contract.Kind
	}{
		"approved":     {after: time.Minute, approve: true},
		"denied":       {after: time.Minute, want: contract.Denied},
		"not decided":  {want: contract.Pending},
		"too late":     {after: 6 * time.Minute, approve: true, want: contract.Pending},
		"just in time": {after: 5*time.Minute - time.Second, approve: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &fake{}
				var notified []string
				gate := &approval.Gate{
					Store: store, OnRequest: func(r approval.Request, _ approval.Shown) { notified = append(notified, r.ID) },
					Page: func(id string) string { return "https://remit.example/" + id },
				}
				open := func(_ context.Context, q approval.Request, _ approval.Shown) (approval.Answer, error) {
					if c.after > 0 {
						time.AfterFunc(c.after, func() { decide(t, store, q.ID, approval.Verdict{Approve: c.approve, By: "console:ada"}) })
					}
					return approval.Opened, nil
				}
				_, err := gate.Pass(t.Context(), subject(), open)
				if kind := kindOf(err); kind != c.want {
					t.Fatalf("error of kind %q, want %q: %v", kind, c.want, err)
				}
				if len(notified) != 1 {
					t.Errorf("%d notifications about new requests, want 1", len(notified))
				}
				if c.want == contract.Pending && !strings.Contains(err.Error(), "in the console (https://remit.example/"+pendingID(t, err)+")") {
					t.Errorf("%v does not name the page", err)
				}
				time.Sleep(2 * time.Minute) // a late person decides now
			})
		})
	}
}
