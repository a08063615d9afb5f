package sqlstore_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"remit/internal/contract"
	"remit/internal/engine/approval"
	"remit/internal/engine/approval/approvaltest"
	"remit/internal/engine/jobs"
)

func TestApprovals(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, url func(t *testing.T) string) {
		approvaltest.Suite(t, func(t *testing.T) approval.Store {
			return open(t, url(t)).Approvals()
		})
	})
}

func TestProcessesRaceForApprovals(t *testing.T) {
	engines(t, func(t *testing.T, url func(t *testing.T) string) {
		at := url(t)
		store := open(t, at).Approvals()
		for i := range approvalsToTake {
			if err := approve(t.Context(), store, fmt.Sprint("r", i), keyOf(i)); err != nil {
				t.Fatal(err)
			}
		}
		winners := map[string]int{}
		for i, c := range spawnTogether(t, 4, "take", at) {
			got := c.lines(t)
			t.Logf("process %d took %d", i, len(got))
			for _, id := range got {
				winners[id]++
			}
		}
		for i := range approvalsToTake {
			if n := winners[fmt.Sprint("r", i)]; n != 1 {
				t.Errorf("%d processes got approval %d, want 1", n, i)
			}
		}
	})
}

func TestDecisionsSurviveSIGKILL(t *testing.T) {
	engines(t, func(t *testing.T, url func(t *testing.T) string) {
		at := url(t)
		c := spawn(t, "decide", at)
		c.start.Close()
		var decided []string
		for c.out.Scan() { // includes what was printed between the kill and the end
			if decided = append(decided, c.out.Text()); len(decided) == 25 {
				if err := c.cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := c.cmd.Wait(); err == nil {
			t.Fatal("the child ended by itself")
		}
		store := open(t, at).Approvals()
		for _, id := range decided {
			r, err := store.Get(t.Context(), id)
			if err != nil || r.State != approval.Approved || r.DecidedBy != "grace" {
				t.Errorf("an acknowledged decision is lost: %s is %q by %q, error %v", id, r.State, r.DecidedBy, err)
			}
		}
		if len(decided) < 25 {
			t.Errorf("the child was killed after %d decisions, want 25", len(decided))
		}
	})
}

func TestApprovalsSurviveReopening(t *testing.T) {
	engines(t, func(t *testing.T, url func(t *testing.T) string) {
		at := url(t)
		db := open(t, at)
		if err := approve(t.Context(), db.Approvals(), "r1", "key"); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		r, found, err := open(t, at).Approvals().Take(t.Context(), "key", "", noon().Add(time.Minute))
		if err != nil || !found || r.ID != "r1" {
			t.Errorf("took %q, error %v", r.ID, err)
		}
	})
}

// TestAnyText checks text with U+0000: callers can send it, but TEXT in PostgreSQL cannot hold it.
func TestAnyText(t *testing.T) {
	engines(t, func(t *testing.T, url func(t *testing.T) string) {
		const odd = "nul \x00, no UTF-8 \xff, \\x00 as it stands"
		db := open(t, url(t))
		asked := approval.Request{ID: "r1", Key: "k", Summary: odd, Arguments: []byte(odd), CreatedAt: noon(), ExpiresAt: noon().Add(time.Hour)}
		if r, err := db.Approvals().Ask(t.Context(), asked); err != nil || r.Summary != odd || string(r.Arguments) != odd {
			t.Errorf("asked %q, error %v", r.Summary, err)
		}
		if r, err := db.Approvals().Decide(t.Context(), "r1", approval.Verdict{Reason: odd}, noon(), noon().Add(time.Hour)); err != nil || r.Reason != odd {
			t.Errorf("decided with reason %q, error %v", r.Reason, err)
		}
		task := jobs.Task{ID: "t1", Client: odd, Message: odd, Arguments: []byte("{}"), Status: jobs.Working, CreatedAt: noon(), UpdatedAt: noon(), TTL: time.Hour}
		if err := db.Jobs().Add(t.Context(), task); err != nil {
			t.Error(err)
		}
		if got, err := db.Jobs().Get(t.Context(), "t1"); err != nil || got.Client != odd || got.Message != odd {
			t.Errorf("a task of %q says %q, error %v", got.Client, got.Message, err)
		}
		for _, id := range []string{odd, "\x00", "\xff"} {
			if _, err := db.Approvals().Get(t.Context(), id); contract.AsError(err).Kind != contract.NotFound {
				t.Errorf("request %q: %v", id, err)
			}
			if _, err := db.Approvals().Decide(t.Context(), id, approval.Verdict{}, noon(), noon()); contract.AsError(err).Kind != contract.NotFound {
				t.Errorf("decide about %q: %v", id, err)
			}
			if _, err := db.Jobs().Get(t.Context(), id); contract.AsError(err).Kind != contract.NotFound {
				t.Errorf("task %q: %v", id, err)
			}
		}
	})
}

func BenchmarkApprovals(b *testing.B) {
	store := open(b, "sqlite://"+filepath.Join(b.TempDir(), "remit.db")).Approvals()
	b.Run("take nothing", func(b *testing.B) {
		for b.Loop() {
			if _, _, err := store.Take(b.Context(), "key", "", noon()); err != nil {
				b.Fatal(err)
			}
		}
	})
	n := 0
	b.Run("ask, decide, take", func(b *testing.B) {
		for b.Loop() {
			n++
			if err := approve(b.Context(), store, fmt.Sprint(n), keyOf(n)); err != nil {
				b.Fatal(err)
			}
			if _, found, err := store.Take(b.Context(), keyOf(n), "", noon()); err != nil || !found {
				b.Fatal(found, err)
			}
		}
	})
}
