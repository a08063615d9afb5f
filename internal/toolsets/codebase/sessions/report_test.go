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

// told is what Tell tells a caller: the keys of sessions and, after a bar, the ids of those that are gone.
func (r *rig) told(c engine.Caller) string {
	r.t.Helper()
	told := "nothing"
	err := r.Tell(r.t.Context(), c, func(_ context.Context, change sessions.Change) error {
		var keys []string
		for _, s := range change.Active {
			keys = append(keys, strings.ReplaceAll(s.Key, "\x00", "/"))
		}
		slices.Sort(keys)
		told = strings.Join(keys, " ") + "|" + strings.Join(change.Gone, " ")
		return nil
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return told
}

func (r *rig) expectTold(c engine.Caller, want string) {
	r.t.Helper()
	if got := r.told(c); got != want {
		r.t.Errorf("told is %q, want %q", got, want)
	}
}

var third = engine.Caller{Principal: "eve", Face: "stdio", Client: "agent/1", Connection: "c3"}

// Everybody is told what the others did, once in a while, and again when it goes on.
func TestTell(t *testing.T) {
	timed(t, func(t *testing.T, r *rig) {
		r.read("a")
		r.saw(passing, "context/read_file", `{"path":"b"}`, `{}`)
		r.expectTold(third, "ann/http/curl/8 c1|")
		r.pass(5 * time.Second)
		r.read("c")
		r.expectTold(third, "nothing")
		r.pass(2 * time.Minute)
		r.expectTold(third, "ann/http/curl/8 c1|") // of the last minute before they were told of
		r.read("d")
		r.pass(10 * time.Second)
		r.expectTold(third, "ann/http/curl/8 c1|")
		r.pass(10 * time.Second)
		r.expectTold(third, "c1|")
	})
}

// Nobody is told of their own session, not even if it began a moment ago, but the next one is, however much later.
func TestTellNotOfOneself(t *testing.T) {
	timed(t, func(t *testing.T, r *rig) {
		r.saw(passing, "context/read_file", `{"path":"a"}`, `{}`)
		r.pass(time.Second)
		r.read("a")
		r.expectTold(wired, "ann/http/curl/8|")
		r.saw(third, "context/read_file", `{"path":"a"}`, `{}`)
		r.pass(time.Hour)
		r.expectTold(third, "ann/http/curl/8 c1|")
	})
	timed(t, func(t *testing.T, r *rig) { // others do more meanwhile
		r.read("a")
		r.pass(5 * time.Minute)
		r.saw(passing, "context/read_file", `{"path":"a"}`, `{}`)
		r.expectTold(wired, "ann/http/curl/8|")
		r.pass(10 * time.Second)
		r.expectTold(third, "ann/http/curl/8 c1|")
	})
	timed(t, func(t *testing.T, r *rig) {
		r.saw(passing, "context/read_file", `{"path":"a"}`, `{}`)
		r.expectTold(passing, "nothing")
		if r.Own(t.Context(), passing) == "" {
			t.Error("it has no session")
		}
	})
}

// A session that another process writes late, or whose clock differs, is told of all the same.
func TestTellOfTheLate(t *testing.T) {
	timed(t, func(t *testing.T, r *rig) {
		r.read("a")
		r.pass(time.Second)
		r.expectTold(third, "c1|")
		add := func(key string, ago time.Duration) {
			r.store.mu.Lock()
			defer r.store.mu.Unlock()
			r.store.all = append(r.store.all, sessions.Session{ID: key, Key: key, Last: time.Now().Add(-ago)})
			slices.SortFunc(r.store.all, func(a, b sessions.Session) int { return a.Last.Compare(b.Last) })
		}
		add("late", 30*time.Second)
		add("ahead", -time.Hour)
		r.pass(10 * time.Second)
		r.expectTold(third, "ahead c1 late|")
		add("new", 0)
		r.pass(10 * time.Second)
		r.expectTold(third, "ahead c1 late new|")
	})
}

// What was not taken in is told again soon, of sessions and of those that are gone.
func TestTellAgain(t *testing.T) {
	timed(t, func(t *testing.T, r *rig) {
		r.store.pruned = []string{"x", "y"}
		r.read("a")
		err := r.Tell(t.Context(), third, func(context.Context, sessions.Change) error { return errors.New("no index") })
		if err == nil {
			t.Error("the failure is not told")
		}
		r.expectTold(third, "nothing")
		r.pass(time.Second)
		r.expectTold(third, "c1|x y")
		r.pass(10 * time.Second)
		r.expectTold(third, "c1|")
		r.pass(10 * time.Second)
		r.store.setFail(errors.New("no disk"))
		if err := r.Tell(t.Context(), third, nil); err == nil {
			t.Error("the failure of the store is not told")
		}
	})
}

// Who asks waits no longer than they have time for the one who writes, and not at all if there is nothing to look at yet.
func TestTellWaitsForNobody(t *testing.T) {
	timed(t, func(t *testing.T, r *rig) {
		r.store.hang()
		r.read("a")
		r.pass(batchwriter.DefaultDelay) // it is being written
		for _, want := range []time.Duration{100 * time.Millisecond, 0} {
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			before := time.Now()
			_ = r.Tell(ctx, third, func(context.Context, sessions.Change) error { return nil })
			if took := time.Since(before); took != want {
				t.Errorf("took %v, want %v", took, want)
			}
			cancel()
		}
	})
}
