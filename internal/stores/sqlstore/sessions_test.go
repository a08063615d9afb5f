package sqlstore_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"remit/internal/toolsets/codebase/sessions"
	"remit/internal/toolsets/codebase/sessions/sessionstest"
)

func TestSessions(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, url func(t *testing.T) string) {
		at := url(t)
		sessionstest.Suite(t, func(t *testing.T) sessionstest.Stores {
			db := open(t, at)
			behind(t, at, "DELETE FROM client_sessions")
			behind(t, at, "DELETE FROM client_sessions_pruned")
			return sessionstest.Stores{Here: db.Sessions("here"), OtherProcess: open(t, at).Sessions("here"), OtherWorkspace: db.Sessions("elsewhere")}
		})
	})
}

// TestPrunedSessionsAreLimited checks that the list of pruned sessions does not grow without bound
// if no one reads it.
func TestPrunedSessionsAreLimited(t *testing.T) {
	engines(t, func(t *testing.T, url func(t *testing.T) string) {
		at := url(t)
		store := open(t, at).Sessions("here")
		note := func(id string) {
			t.Helper()
			if _, err := store.Note(t.Context(), sessions.Note{Key: id, NewID: id, At: time.Unix(1000, 0), Idle: time.Hour}); err != nil {
				t.Fatal(err)
			}
		}
		note("a")
		numbers := func(most int) string {
			return fmt.Sprintf("WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < %d) ", most)
		}
		behind(t, at, "INSERT INTO client_sessions (workspace, id, key, key_hash, principal, client, started_at, last_at, ended, files, searches, tasks) "+
			numbers(sessions.MaxSessions+9)+"SELECT workspace, id || n, key, key_hash, principal, client, started_at, n, TRUE, files, searches, tasks FROM client_sessions, numbers")
		behind(t, at, "INSERT INTO client_sessions_pruned (workspace, id, pruned_at) "+numbers(sessions.MaxPruned)+"SELECT 'here', 'p' || n, n FROM numbers")
		note("b")
		ids, err := store.Pruned(t.Context(), math.MaxInt32)
		if err != nil || len(ids) != sessions.MaxPruned || ids[0] != "p12" || ids[len(ids)-1] != "a9" {
			t.Errorf("error %v, %d are known, from %s to %s", err, len(ids), ids[0], ids[len(ids)-1])
		}
	})
}
