package sqlstore

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"remit/internal/engine/approval"
)

// TestWaitingReadsNoRows checks that the ids of the open requests are read from an index: the rows
// hold the arguments, which may be large, and pages ask twice a second.
func TestWaitingReadsNoRows(t *testing.T) {
	db := opened(t, "sqlite://"+filepath.Join(t.TempDir(), "remit.db"))
	var id, parent, unused int
	var plan string
	row := db.read.QueryRowContext(t.Context(), "EXPLAIN QUERY PLAN "+waitingIDsInFile, 0)
	if err := row.Scan(&id, &parent, &unused, &plan); err != nil || !strings.Contains(plan, "USING COVERING INDEX approvals_open") {
		t.Errorf("plan %q, error %v", plan, err)
	}
}

// BenchmarkWaiting reads the ids of 1,000 open requests, among as many that have expired.
func BenchmarkWaiting(b *testing.B) {
	db := opened(b, "sqlite://"+filepath.Join(b.TempDir(), "remit.db"))
	store, now := db.Approvals(), time.Now()
	for i := range 2000 {
		r := approval.Request{
			ID: fmt.Sprintf("r%09d", i), Key: fmt.Sprint(i), Principal: fmt.Sprint(i / 90), Arguments: make([]byte, 8<<10),
			State: approval.Pending, CreatedAt: now, ExpiresAt: now.Add(time.Hour),
		}
		if i < 1000 {
			r.CreatedAt, r.ExpiresAt = now.Add(-2*time.Hour), now.Add(-time.Hour)
		}
		if _, err := store.Ask(b.Context(), r); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if ids, err := store.WaitingIDs(b.Context(), now); err != nil || len(ids) != 1000 {
			b.Fatal(len(ids), err)
		}
	}
}
