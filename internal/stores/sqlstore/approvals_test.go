package sqlstore_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"remit/internal/engine/approval"
	"remit/internal/engine/approval/approvaltest"
)

func TestApprovals(t *testing.T) {
	approvaltest.Suite(t, func(t *testing.T) approval.Store {
		return open(t, "sqlite://"+filepath.Join(t.TempDir(), "remit.db")).Approvals()
	})
}

func TestProcessesRaceForApprovals(t *testing.T) {
	url := "sqlite://" + filepath.Join(t.TempDir(), "remit.db")
	store := open(t, url).Approvals()
	for i := range approvalsToTake {
		if err := approve(t.Context(), store, fmt.Sprint("r", i), keyOf(i)); err != nil {
			t.Fatal(err)
		}
	}
	winners := map[string]int{}
	for i, c := range spawnTogether(t, 4, "take", url) {
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
}

func TestDecisionsSurviveSIGKILL(t *testing.T) {
	url := "sqlite://" + filepath.Join(t.TempDir(), "remit.db")
	c := spawn(t, "decide", url)
	c.start.Close()
	var decided []string
	for c.out.Scan() { // also what was printed between the kill and the end
		if decided = append(decided, c.out.Text()); len(decided) == 25 {
			if err := c.cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := c.cmd.Wait(); err == nil {
		t.Fatal("the child ended by itself")
	}
	store := open(t, url).Approvals()
	for _, id := range decided {
		r, err := store.Get(t.Context(), id)
		if err != nil || r.State != approval.Approved || r.DecidedBy != "grace" {
			t.Errorf("an acknowledged decision is lost: %s is %q by %q, error %v", id, r.State, r.DecidedBy, err)
		}
	}
	if len(decided) < 25 {
		t.Errorf("the child was killed after %d decisions, want 25", len(decided))
	}
}

func TestApprovalsSurviveReopening(t *testing.T) {
	url := "sqlite://" + filepath.Join(t.TempDir(), "remit.db")
	db := open(t, url)
	if err := approve(t.Context(), db.Approvals(), "r1", "key"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	r, found, err := open(t, url).Approvals().Take(t.Context(), "key", noon().Add(time.Minute))
	if err != nil || !found || r.ID != "r1" {
		t.Errorf("took %q, error %v", r.ID, err)
	}
}

func BenchmarkApprovals(b *testing.B) {
	store := open(b, "sqlite://"+filepath.Join(b.TempDir(), "remit.db")).Approvals()
	b.Run("take nothing", func(b *testing.B) {
		for b.Loop() {
			if _, _, err := store.Take(b.Context(), "key", noon()); err != nil {
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
			if _, found, err := store.Take(b.Context(), keyOf(n), noon()); err != nil || !found {
				b.Fatal(found, err)
			}
		}
	})
}
