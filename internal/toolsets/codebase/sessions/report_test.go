package sessions_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"remit/internal/batchwriter"
	"remit/internal/engine"
	"remit/internal/toolsets/codebase/sessions"
)

// reported returns what Report reports to a caller: the keys of sessions and, after a bar, the ids
// of removed ones.
func (r *rig) reported(c engine.Caller) string {
	r.t.Helper()
	reported := "nothing"
	err := r.Report(r.t.Context(), c, func(_ context.Context, change sessions.Change) error {
		var keys []string
		for _, s := range change.Active {
			keys = append(keys, strings.ReplaceAll(s.Key, "\x00", "/"))
		}
		slices.Sort(keys)
		reported = strings.Join(keys, " ") + "|" + strings.Join(change.Gone, " ")
		return nil
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return reported
}

func (r *rig) expectReported(c engine.Caller, want string) {
	r.t.Helper()
	if got := r.reported(c); got != want {
		r.t.Errorf("reported %q, want %q", got, want)
	}
}

var third = engine.Caller{Principal: "eve", Frontend: "stdio", Client: "agent/1", Connection: "c3"}

// TestReport: Report reports the sessions of others, and again when they continue.
func TestReport(t *testing.T) {
	timed(t, func(t *testing.T, r *rig) {
		r.read("a")
		r.saw(passing, "context/read_file", `{"path":"b"}`, `{}`)
		r.expectReported(third, "ann/http/curl/8 c1|")
		r.pass(5 * time.Second)
		r.read("c")
		r.expectReported(third, "nothing")
		r.pass(2 * time.Minute)
		// Active in the last minute before the previous report.
		r.expectReported(third, "ann/http/curl/8 c1|")
		r.read("d")
		r.pass(10 * time.Second)
		r.expectReported(third, "ann/http/curl/8 c1|")
		r.pass(10 * time.Second)
		r.expectReported(third, "c1|")
	})
}

// TestReportOmitsOwnSession: Report never reports the caller's own session, even if it has just
// begun, but reports it to others later.
func TestReportOmitsOwnSession(t *testing.T) {
	timed(t, func(t *testing.T, r *rig) {
		r.saw(passing, "context/read_file", `{"path":"a"}`, `{}`)
		r.pass(time.Second)
		r.read("a")
		r.expectReported(wired, "ann/http/curl/8|")
		r.saw(third, "context/read_file", `{"path":"a"}`, `{}`)
		r.pass(time.Hour)
		r.expectReported(third, "ann/http/curl/8 c1|")
	})
	timed(t, func(t *testing.T, r *rig) { // others do more meanwhile
		r.read("a")
		r.pass(5 * time.Minute)
		r.saw(passing, "context/read_file", `{"path":"a"}`, `{}`)
		r.expectReported(wired, "ann/http/curl/8|")
		r.pass(10 * time.Second)
		r.expectReported(third, "ann/http/curl/8 c1|")
	})
	timed(t, func(t *testing.T, r *rig) {
		r.saw(passing, "context/read_file", `{"path":"a"}`, `{}`)
		r.expectReported(passing, "nothing")
		if r.Own(t.Context(), passing) == "" {
			t.Error("it has no session")
		}
	})
}

// TestReportReportsLateSessions: sessions written late by another process, or with another clock,
// are reported too.
func TestReportReportsLateSessions(t *testing.T) {
	timed(t, func(t *testing.T, r *rig) {
		r.read("a")
		r.pass(time.Second)
		r.expectReported(third, "c1|")
		add := func(key string, ago time.Duration) {
			r.store.mu.Lock()
			defer r.store.mu.Unlock()
			r.store.all = append(r.store.all, sessions.Session{ID: key, Key: key, Last: time.Now().Add(-ago)})
			slices.SortFunc(r.store.all, func(a, b sessions.Session) int { return a.Last.Compare(b.Last) })
		}
		add("late", 30*time.Second)
		add("ahead", -time.Hour)
		r.pass(10 * time.Second)
		r.expectReported(third, "ahead c1 late|")
		add("new", 0)
		r.pass(10 * time.Second)
		r.expectReported(third, "ahead c1 late new|")
	})
}

// TestReportAgain: what the callback failed to process is reported again soon.
func TestReportAgain(t *testing.T) {
	timed(t, func(t *testing.T, r *rig) {
		r.store.pruned = []string{"x", "y"}
		r.read("a")
		err := r.Report(t.Context(), third, func(context.Context, sessions.Change) error { return errors.New("no index") })
		if err == nil {
			t.Error("the failure is not returned")
		}
		r.expectReported(third, "nothing")
		r.pass(time.Second)
		r.expectReported(third, "c1|x y")
		r.pass(10 * time.Second)
		r.expectReported(third, "c1|")
		r.pass(10 * time.Second)
		r.store.setFail(errors.New("no disk"))
		if err := r.Report(t.Context(), third, nil); err == nil {
			t.Error("the failure of the store is not returned")
		}
	})
}

// TestReportDoesNotWait: Report waits for the writer only until its deadline, and not at all if
// nothing is due.
func TestReportDoesNotWait(t *testing.T) {
	timed(t, func(t *testing.T, r *rig) {
		r.store.hang()
		r.read("a")
		r.pass(batchwriter.DefaultDelay) // it is being written
		for _, want := range []time.Duration{100 * time.Millisecond, 0} {
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			before := time.Now()
			_ = r.Report(ctx, third, func(context.Context, sessions.Change) error { return nil })
			if took := time.Since(before); took != want {
				t.Errorf("took %v, want %v", took, want)
			}
			cancel()
		}
	})
}
