package auditindex_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine/audit"
	"remit/internal/engine/audit/auditindex"
	"remit/internal/engine/audit/auditindex/auditindextest"
)

// addRaw adds records without their last members.
func addRaw(b *auditindextest.Folder, records ...string) {
	for _, record := range records {
		line := audit.Seal(b.Last, []byte(record))
		b.Last = audit.HashOf(line)
		b.Raw(string(line) + "\n")
	}
}

// story are the records of a call that needed approval, among others.
var story = []string{
	`{"time":"2026-01-09T00:00:00.000000Z","principal":"a","tool":"s/write","arguments":{},"outcome":"pending","request":"req1"}`,
	`{"time":"2026-01-09T00:00:01.000000Z","principal":"a","tool":"s/read","arguments":{},"outcome":"ok"}`,
	`{"time":"2026-01-09T00:00:02.000000Z","principal":"p","tool":"approvals/approve","arguments":{"request":"req1"},"outcome":"ok"}`,
	`{"time":"2026-01-09T00:00:03.000000Z","principal":"a","tool":"s/write","arguments":{},"outcome":"begun","approved":"req1","call":"c1","effect":{"x":1}}`,
	`{"time":"2026-01-09T00:00:03.000000Z","principal":"a","tool":"s/write","arguments":{},"outcome":"ok","approved":"req1","call":"c1"}`,
	`{"time":"2026-01-09T00:00:04.000000Z","principal":"b","tool":"s/write","arguments":{},"outcome":"ok","approved":"auto","call":"c2"}`,
}

func text(r jsontree.Value, key string) string {
	field := r.Field(key)
	return field.Text
}

func TestTrace(t *testing.T) {
	b := auditindextest.NewFolder()
	addRaw(b, story...)
	x := indexOf(b)
	whole, err := x.Trace(t.Context(), "req1")
	if err != nil || len(whole) != 4 {
		t.Fatalf("%d records of req1, %v", len(whole), err)
	}
	outcomes := ""
	for _, r := range whole {
		outcomes += text(r, "tool") + " " + text(r, "outcome") + "; "
		for _, id := range []string{text(r, "id"), "c1"} {
			again, err := x.Trace(t.Context(), id)
			if err != nil || len(again) != 4 {
				t.Errorf("%d records of %s, %v", len(again), id, err)
			}
		}
	}
	if want := "s/write pending; approvals/approve ok; s/write begun; s/write ok; "; outcomes != want {
		t.Errorf("%s, want %s", outcomes, want)
	}
	if alone, err := x.Trace(t.Context(), "c2"); err != nil || len(alone) != 1 {
		t.Errorf("%d records of c2, %v", len(alone), err)
	}
	for _, id := range []string{"", "auto", "req2", "2026-01-09.0.00000000"} {
		if _, err := x.Trace(t.Context(), id); contract.AsError(err).Kind != contract.NotFound {
			t.Errorf("%q: %v", id, err)
		}
	}
}

// TestTraceRepeats checks that a call with an idempotency key and its repeats belong together, and
// that a text in the arguments is no link.
func TestTraceRepeats(t *testing.T) {
	b := auditindextest.NewFolder()
	addRaw(b,
		`{"time":"2026-01-09T00:00:00.000000Z","tool":"s/write","arguments":{},"outcome":"ok","key":"k1","call":"c1"}`,
		`{"time":"2026-01-09T00:00:01.000000Z","tool":"s/write","arguments":{"text":"k1"},"outcome":"ok","key":"k2","call":"c2"}`,
		`{"time":"2026-01-09T00:00:02.000000Z","tool":"s/write","arguments":{},"outcome":"replayed","key":"k1"}`)
	x := indexOf(b)
	found, err := x.Trace(t.Context(), "c1")
	if err != nil || len(found) != 2 || !strings.Contains(auditindex.PartOf(&found[1]), "repeated") {
		t.Fatalf("%d records of c1, %v", len(found), err)
	}
	if again, err := x.Trace(t.Context(), text(found[1], "id")); err != nil || len(again) != 2 {
		t.Errorf("%d records of the repeat, %v", len(again), err)
	}
}

// TestLatestOfATime checks that calls before and after the filter's time are left out, with the
// index and without.
func TestLatestOfATime(t *testing.T) {
	b := auditindextest.NewFolder()
	addRaw(b, story...)
	at := func(second int) time.Time { return time.Date(2026, 1, 9, 0, 0, second, 0, time.UTC) }
	for name, x := range map[string]*auditindex.Index{"records": indexOf(b), "index": indexed(t, b)} {
		for _, tc := range []struct {
			f    auditindex.Filter
			want int
		}{
			{auditindex.Filter{From: at(2)}, 3},
			{auditindex.Filter{To: at(2)}, 2},
			{auditindex.Filter{From: at(1), To: at(3)}, 2},
			{auditindex.Filter{From: at(1), Caller: "b"}, 1},
			{auditindex.Filter{From: at(9)}, 0},
			{auditindex.Filter{From: at(0).AddDate(0, 0, 1)}, 0},
		} {
			if found, err := x.Latest(t.Context(), tc.f, 100); err != nil || len(found) != tc.want {
				t.Errorf("%s, %+v: %d calls, %v, want %d", name, tc.f, len(found), err, tc.want)
			}
		}
	}
}

// TestWatch checks that only new records that match are passed on, and each of them once.
func TestWatch(t *testing.T) {
	b := auditindextest.NewFolder()
	addRaw(b, story[:2]...)
	ctx, cancel := context.WithCancel(t.Context())
	tick, added := make(chan time.Time), 2
	var seen []string
	done := make(chan error)
	ends, err := indexOf(b).Ends(ctx)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		done <- indexOf(b).Watch(ctx, auditindex.Filter{Tool: "s/write"}, ends, tick, func(r jsontree.Value) error {
			seen = append(seen, text(r, "principal")+" "+text(r, "outcome"))
			if text(r, "id") == "" {
				t.Error("a record has no id")
			}
			return nil
		})
	}()
	for ; added < len(story); added++ {
		addRaw(b, story[added])
		tick <- time.Time{}
	}
	tick <- time.Time{}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if want := []string{"a ok", "b ok"}; !slices.Equal(seen, want) {
		t.Errorf("saw %s, want %s", strings.Join(seen, ", "), strings.Join(want, ", "))
	}
}
