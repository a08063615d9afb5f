package sqlstore_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"remit/internal/engine/ratelimit"
	"remit/internal/engine/ratelimit/ratelimittest"
	"remit/internal/stores/sqlstore"
)

// source returns a Source of a database that is already open.
func source(db *sqlstore.DB) sqlstore.Source {
	return func(context.Context) (*sqlstore.DB, error) { return db, nil }
}

func TestLimiter(t *testing.T) {
	t.Parallel()
	ratelimittest.Suite(t, ratelimit.ReplicaSkew, func(t *testing.T) ratelimit.Limiter { return source(open(t, newDatabase(t))).Limiter() })
}

// TestLimitsHoldAcrossReplicas checks that three replicas together admit as many requests as one
// would.
func TestLimitsHoldAcrossReplicas(t *testing.T) {
	url := newDatabase(t)
	var replicas []ratelimit.Limiter
	for range 3 {
		replicas = append(replicas, source(open(t, url)).Limiter())
	}
	ratelimittest.ExactlyN(t, replicas...)
}

func TestIdleLimitsAreDeleted(t *testing.T) {
	url := newDatabase(t)
	l := source(open(t, url)).Limiter()
	ask := func(key string, r ratelimit.Rate, now time.Time) {
		t.Helper()
		if _, err := l.Allow(t.Context(), key, r, now); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 50 {
		ask(fmt.Sprint("idle ", i), ratelimit.Rate{Requests: 1, Per: time.Second}, noon())
	}
	ask("busy", ratelimit.Rate{Requests: 1, Per: time.Hour}, noon())
	ask("new", ratelimit.Rate{Requests: 1, Per: time.Hour}, noon().Add(5*time.Minute))
	rows := 0
	raw(t, url, func(db *sql.DB) error {
		return db.QueryRowContext(t.Context(), "SELECT count(*) FROM rate_limits").Scan(&rows)
	})
	if rows != 2 {
		t.Errorf("%d keys are kept, want the busy one and the new one", rows)
	}
}
