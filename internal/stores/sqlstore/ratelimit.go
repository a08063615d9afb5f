package sqlstore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sync/atomic"
	"time"

	"remit/internal/engine/ratelimit"
)

// limiter counts requests for all processes that share the database.
type limiter struct {
	source  Source
	pruneAt atomic.Int64 // when to delete idle keys next
}

// Limiter returns rate limits that hold for all processes that share a PostgreSQL database. They
// survive a restart of Remit, but not a crash of the database.
func (s Source) Limiter() ratelimit.Limiter { return &limiter{source: s} }

// admitRequest is the rule of ratelimit.Memory in one statement, so that no other request can come
// between its read and its write. clock is the latest time seen for the key by any process (see
// ratelimit.ReplicaSkew); passes after it count as made at it. gone is how many have expired:
// width_bucket searches a sorted array. OFFSET 0 keeps PostgreSQL from computing a value once per
// use. $1 is the key, $2 now, $3 the period, $4 the number of requests, $5 the grain and $6 the
// skew; times are nanoseconds.
const admitRequest = `
INSERT INTO rate_limits AS r (key, passes, counts, base, seen_at, wait, idle_at)
VALUES ($1, ARRAY[$2::bigint], ARRAY[1], 0, $2, 0, $2::bigint + $3::bigint)
ON CONFLICT (key) DO UPDATE SET (passes, counts, base, seen_at, wait, idle_at) = (
	SELECT CASE WHEN is_full THEN p WHEN merges THEN p[gone + 1:size - 1] || clock ELSE p[gone + 1:] || clock END,
		CASE WHEN is_full THEN c WHEN merges THEN c[gone + 1:size - 1] || c[size] + 1 ELSE c[gone + 1:] || c[size] + 1 END,
		CASE WHEN is_full THEN r.base ELSE before END,
		clock,
		CASE WHEN is_full THEN p[width_bucket(c[size] - $4, c) + 1] + $3 - $2 ELSE 0 END,
		CASE WHEN is_full THEN least(r.idle_at, clock + $3) ELSE clock + $3 END
	FROM (SELECT CASE WHEN r.seen_at - $2 BETWEEN 0 AND $6 THEN r.seen_at ELSE $2 END AS clock, cardinality(r.passes) AS held OFFSET 0) AS t,
		LATERAL (SELECT width_bucket(clock, r.passes) AS past OFFSET 0) AS u,
		LATERAL (SELECT CASE WHEN past < held THEN r.passes[:past] || clock ELSE r.passes END AS p,
			CASE WHEN past < held THEN r.counts[:past] || r.counts[held] ELSE r.counts END AS c, least(held, past + 1) AS size OFFSET 0) AS v,
		LATERAL (SELECT width_bucket(clock - $3, p) AS gone OFFSET 0) AS w,
		LATERAL (SELECT CASE WHEN gone > 0 THEN c[gone] ELSE r.base END AS before OFFSET 0) AS x,
		LATERAL (SELECT c[size] - before >= $4 AS is_full, gone < size AND p[size] / $5::bigint = clock / $5 AS merges OFFSET 0) AS y)
RETURNING wait`

// A key whose requests have all expired is equivalent to a key never seen.
const pruneLimits = `
DELETE FROM rate_limits WHERE key IN (
	SELECT key FROM rate_limits WHERE idle_at <= $1 LIMIT 10000 FOR UPDATE SKIP LOCKED)`

// pruneInterval is how long idle keys may stay, because deleting them costs more than a call.
const pruneInterval = time.Minute

// Allow implements ratelimit.Limiter.
func (l *limiter) Allow(ctx context.Context, key string, r ratelimit.Rate, now time.Time) (time.Duration, error) {
	if r == (ratelimit.Rate{}) {
		return 0, nil
	}
	if err := r.Check(); err != nil {
		return 0, err
	}
	ctx, cancel := withTimeout(ctx)
	defer cancel()
	db, err := l.source(ctx)
	if err != nil {
		return 0, err
	}
	l.prune(ctx, db, now)
	// Hashed, because a caller's name may hold bytes that TEXT cannot.
	sum := sha256.Sum256([]byte(key))
	var wait int64
	_, err = findOne(ctx, db.reader(ctx), admitRequest, into(&wait),
		hex.EncodeToString(sum[:]), now.UnixNano(), int64(r.Per), r.Requests, int64(r.Grain()), int64(ratelimit.ReplicaSkew))
	if err != nil {
		return 0, fmt.Errorf("count a request: %w", err)
	}
	return time.Duration(wait), nil
}

// prune deletes idle keys now and then. If it fails, the call is still served.
func (l *limiter) prune(ctx context.Context, db *DB, now time.Time) {
	due := l.pruneAt.Load()
	if now.UnixNano() < due || !l.pruneAt.CompareAndSwap(due, now.Add(pruneInterval).UnixNano()) {
		return
	}
	_, _ = db.reader(ctx).ExecContext(ctx, pruneLimits, now.Add(-ratelimit.ReplicaSkew).UnixNano())
}
