package codebase

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"remit/internal/engine"
	"remit/internal/toolsets/codebase/sessions"
)

// TestSessionsAreNotWaitedFor: a database that hangs delays one search for a moment, and the next
// not at all.
func TestSessionsAreNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		open := func(ctx context.Context) (sessions.Store, error) {
			<-ctx.Done()
			return nil, errors.New("it hangs")
		}
		log := slog.New(slog.DiscardHandler)
		tools := &Tools{Sessions: sessions.NewRecorder(open, log, time.Now), Log: log}
		for _, want := range []time.Duration{feedTimeout, 0} {
			before := time.Now()
			tools.feedSessions(t.Context(), engine.Caller{Connection: "c1"})
			if took := time.Since(before); took != want {
				t.Errorf("took %v, want %v", took, want)
			}
		}
	})
}

// TestSessionsOfTheIndex: the index receives what was done and which sessions were removed, but no
// sessions that only searched.
func TestSessionsOfTheIndex(t *testing.T) {
	did := []sessions.Item{{What: "a.go"}}
	sources := sourcesOf(sessions.Change{
		Active: []sessions.Session{{ID: "1", Client: "agent/1", Files: did}, {ID: "2", Searches: did}, {ID: "3", Tasks: did}},
		Gone:   []string{"4"},
	})
	var got []string
	for _, s := range sources {
		text := "gone"
		if !s.Gone {
			text = s.Chunks[0].Text
		}
		got = append(got, s.Path+": "+text)
	}
	want := []string{
		"session:1: Session of agent on 0001-01-01\nread a.go", "session:3: Session of a client on 0001-01-01\nworked on task a.go", "session:4: gone",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
