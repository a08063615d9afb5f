package sqlstore_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"remit/internal/engine/audit"
	"remit/internal/engine/audit/auditindex"
	"remit/internal/engine/audit/auditindex/auditindextest"
)

func TestCalls(t *testing.T) {
	engines(t, func(t *testing.T, url func(*testing.T) string) {
		auditindextest.Suite(t, func(t *testing.T) func() auditindex.Store {
			db, n := open(t, url(t)), 0
			return func() auditindex.Store {
				n++
				return db.AuditIndex(fmt.Sprint("records ", n))
			}
		})
	})
}

// TestLostCalls checks that the index is rebuilt from the records, whichever part of it is dropped
// or emptied.
func TestLostCalls(t *testing.T) {
	engines(t, func(t *testing.T, url func(*testing.T) string) {
		address := url(t)
		db := open(t, address)
		b := auditindextest.NewFolder()
		for i := range 1200 {
			b.Add("a/b", fmt.Sprint(i%100), "ok", time.Millisecond)
		}
		b.Pass(24 * time.Hour)
		b.Add("a/b", "last", "ok", time.Millisecond)
		x := auditindextest.IndexOf(b, audit.Folder{FS: b}, db.AuditIndex("audit"))
		seen := func() string {
			t.Helper()
			b.Pass(time.Second)
			for ok := true; ok; ok = x.Status().Loading {
				if err := x.Refresh(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			page, err := x.Page(t.Context(), auditindex.Filter{Caller: "7"}, "", 10)
			if err != nil {
				t.Fatal(err)
			}
			for i := range page.Calls {
				page.Calls[i].KindID = 0 // the ids may differ
			}
			return fmt.Sprint(page)
		}
		before := seen()
		for _, loss := range []string{
			"DROP TABLE calls", "DROP TABLE call_days", "DROP TABLE call_kinds", "DROP TABLE call_counts", "DROP TABLE call_sources",
			"DELETE FROM calls", "DELETE FROM call_days",
		} {
			behind(t, address, loss)
			if after := seen(); after != before {
				t.Errorf("after %q:\n%s\nbefore:\n%s", loss, after, before)
			}
		}
	})
}

// TestCallsOfManyWorkspaces checks that a database holds the calls of 255 workspaces, and returns
// an error for one more.
func TestCallsOfManyWorkspaces(t *testing.T) {
	db := open(t, newFile(t))
	batch := auditindex.Batch{Day: "2026-08-01", To: 1}
	for i := range 255 {
		if _, err := db.AuditIndex(fmt.Sprint(i)).Append(context.Background(), batch); err != nil {
			t.Fatal(i, err)
		}
	}
	if added, err := db.AuditIndex("one more").Append(context.Background(), batch); err == nil || added {
		t.Errorf("one more: %v, %v", added, err)
	}
	if days, err := db.AuditIndex("0").Days(t.Context()); err != nil || len(days) != 1 {
		t.Errorf("the first has %v, %v", days, err)
	}
}
