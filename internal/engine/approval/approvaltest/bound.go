package approvaltest

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"remit/internal/contract"
	"remit/internal/contract/contracttest"
	"remit/internal/engine/approval"
)

// decideFor decides like decide, for a state that the person saw.
func decideFor(t *testing.T, s approval.Store, id, shown string, approve bool) approval.Request {
	t.Helper()
	at := noon.Add(time.Minute)
	got, err := s.Decide(t.Context(), id, approval.Verdict{Approve: approve, By: "grace", Shown: shown}, at, at.Add(time.Hour))
	if err != nil {
		t.Fatalf("decide %s: %v", id, err)
	}
	return got
}

func takeChanged(t *testing.T, s approval.Store) {
	for i, c := range []struct {
		shown, now string
		approve    bool
		want       approval.State
	}{
		{"v1", "v1", true, approval.Approved},
		{"v1", "v2", true, approval.Changed},
		{"", "v1", true, approval.Changed},
		{"v1", "", true, approval.Changed},
		{"v1", "v2", false, approval.Denied}, // a no is a no, whatever has changed
	} {
		id, key := fmt.Sprint("a", i), fmt.Sprint("k", i)
		ask(t, s, request(id, key))
		want := decideFor(t, s, id, c.shown, c.approve)
		if want.Shown != c.shown {
			t.Errorf("decided for %q, kept %q", c.shown, want.Shown)
		}
		got, found, err := s.Take(t.Context(), key, c.now, noon.Add(2*time.Minute))
		if err != nil || !found {
			t.Fatalf("take: found %v, error %v", found, err)
		}
		want.State, want.UsedAt = c.want, noon.Add(2*time.Minute)
		contracttest.Equal(t, got, want)
		contracttest.Equal(t, get(t, s, id), want)
		takeNothing(t, s, key, noon.Add(2*time.Minute))
		if again := ask(t, s, request(id+"b", key)); again.ID != id+"b" {
			t.Errorf("a used decision is still the question: %s", again.ID)
		}
	}
}

func decidedPeeks(t *testing.T, s approval.Store) {
	none := func(key string, now time.Time) {
		t.Helper()
		if got, found, err := s.Decided(t.Context(), key, now); found || err != nil {
			t.Errorf("decided %s: got %q, error %v, want nothing", key, got.ID, err)
		}
	}
	ask(t, s, request("a1", "k"))
	none("k", noon)
	want := decideFor(t, s, "a1", "v1", true)
	none("another key", noon)
	none("k", want.ExpiresAt)
	for range 2 { // it changes nothing
		got, found, err := s.Decided(t.Context(), "k", noon)
		if err != nil || !found {
			t.Fatalf("decided: found %v, error %v", found, err)
		}
		contracttest.Equal(t, got, want)
	}
	if _, found, err := s.Take(t.Context(), "k", "v1", noon); !found || err != nil {
		t.Fatalf("take: found %v, error %v", found, err)
	}
	none("k", noon)
}

func withdraw(t *testing.T, s approval.Store) {
	ask(t, s, request("a1", "k"))
	want := decideFor(t, s, "a1", "v1", true)
	at := noon.Add(3 * time.Minute)
	got, err := s.Withdraw(t.Context(), "a1", approval.Verdict{By: "hopper"}, at)
	if err != nil {
		t.Fatalf("withdraw: %v", err)
	}
	want.State, want.DecidedBy, want.DecidedAt = approval.Withdrawn, "hopper", at
	contracttest.Equal(t, got, want)
	contracttest.Equal(t, get(t, s, "a1"), want)
	takeNothing(t, s, "k", at)
	if _, found, err := s.Decided(t.Context(), "k", at); found || err != nil {
		t.Errorf("a withdrawn approval is still a decision (error %v)", err)
	}
	if again := ask(t, s, request("a2", "k")); again.ID != "a2" {
		t.Errorf("a withdrawn request is the question: %s", again.ID)
	}
}

func withdrawRejects(t *testing.T, s approval.Store) {
	refused := func(id string, now time.Time, kind contract.Kind, parts ...string) {
		t.Helper()
		_, err := s.Withdraw(t.Context(), id, approval.Verdict{By: "eve"}, now)
		contracttest.WantError(t, err, kind, parts...)
	}
	refused("nothing", noon, contract.NotFound, "nothing")
	ask(t, s, request("a1", "k"))
	refused("a1", noon, contract.Conflict, "a1")
	decideFor(t, s, "a1", "", false)
	refused("a1", noon, contract.Conflict, "a1", "denied")

	ask(t, s, request("b1", "k2"))
	expires := decideFor(t, s, "b1", "", true).ExpiresAt
	refused("b1", expires, contract.Conflict, "b1", "expired")
	take(t, s, "k2", noon)
	refused("b1", noon, contract.Conflict, "b1", "used")

	ask(t, s, request("c1", "k3"))
	decideFor(t, s, "c1", "", true)
	if _, err := s.Withdraw(t.Context(), "c1", approval.Verdict{By: "hopper"}, noon); err != nil {
		t.Fatal(err)
	}
	refused("c1", noon, contract.Conflict, "c1", "withdrawn")
}

func withdrawOrTake(t *testing.T, s approval.Store) {
	for i := range 8 {
		id, key := fmt.Sprint("a", i), fmt.Sprint("k", i)
		ask(t, s, request(id, key))
		decideFor(t, s, id, "", true)
		var winners atomic.Int32
		contracttest.Concurrently(8, func(i int) {
			if i%2 == 0 {
				if _, found, _ := s.Take(t.Context(), key, "", noon); found {
					winners.Add(1)
				}
			} else if _, err := s.Withdraw(t.Context(), id, approval.Verdict{By: "hopper"}, noon); err == nil {
				winners.Add(1)
			}
		})
		if n := winners.Load(); n != 1 {
			t.Errorf("attempt %d: %d calls and people got one approval, want 1", i, n)
		}
	}
}
