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
// ratelimit.ReplicaSkew). $1 is the key, $2 now, $3 the step, $4 the size of the bucket and $5 the
// skew, in nanoseconds.
const admitRequest = `
INSERT INTO rate_limits AS r (key, full_at, seen_at, passed) VALUES ($1, $2::bigint + $3::bigint, $2, TRUE)
ON CONFLICT (key) DO UPDATE SET (full_at, seen_at, passed) = (
	SELECT CASE WHEN next - $4 <= clock THEN next ELSE held END, clock, next - $4 <= clock
	FROM (SELECT CASE WHEN r.seen_at - $2 BETWEEN 0 AND $5 THEN r.seen_at ELSE $2 END AS clock) AS a,
		LATERAL (SELECT least(r.full_at, clock + $4::bigint) AS held) AS b,
		LATERAL (SELECT greatest(held, clock) + $3 AS next) AS c)
RETURNING full_at, passed`

// A full bucket is equivalent to a key never seen.
const pruneLimits = `
DELETE FROM rate_limits WHERE key IN (
	SELECT key FROM rate_limits WHERE full_at <= $1 LIMIT 10000 FOR UPDATE SKIP LOCKED)`

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
	sum := sha256.Sum256([]byte(key)) // hashed, because a caller's name may hold bytes that TEXT cannot
	step := int64(r.Step())
	size := step * int64(r.Requests)
	var full int64
	var passed bool
	_, err = findOne(ctx, db.reader(ctx), admitRequest, into(&full, &passed),
		hex.EncodeToString(sum[:]), now.UnixNano(), step, size, int64(ratelimit.ReplicaSkew))
	if err != nil {
		return 0, fmt.Errorf("count a request: %w", err)
	}
	if passed {
		return 0, nil
	}
	return time.Duration(full + step - size - now.UnixNano()), nil
}

// prune deletes idle keys now and then. If it fails, the call is still served.
func (l *limiter) prune(ctx context.Context, db *DB, now time.Time) {
	due := l.pruneAt.Load()
	if now.UnixNano() < due || !l.pruneAt.CompareAndSwap(due, now.Add(pruneInterval).UnixNano()) {
		return
	}
	_, _ = db.reader(ctx).ExecContext(ctx, pruneLimits, now.Add(-ratelimit.ReplicaSkew).UnixNano())
}
