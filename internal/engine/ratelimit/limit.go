// Package ratelimit keeps each caller of each tool within the rate that the
// contract states.
//
// The algorithm is GCRA, a token bucket that needs one number a key. With a
// rate of N requests per P, and T = P/N rounded up to a nanosecond, it promises:
//
//   - a caller who has been quiet for N*T may send N requests at one instant;
//   - between two requests that pass, d apart, both included, no more than
//     N + d/T pass: a burst of N and then one each T. In a window of length P
//     that is up to 2N, never more, and N per P in the long run;
//   - whoever is refused and comes back exactly when told passes, unless
//     another request of the same key took the slot; a nanosecond earlier it
//     does not.
//
// Rounding up is what makes "never more" hold where N does not divide P: a
// caller is at most one nanosecond a request slower than the contract says.
package ratelimit

import (
	"context"
	"fmt"
	"time"
)

// Rate is how many requests may pass in how long. The zero Rate is no limit.
type Rate struct {
	Requests int
	Per      time.Duration
}

// Step is the time in which one slot becomes free.
func (r Rate) Step() time.Duration {
	n := time.Duration(r.Requests)
	return (r.Per-1)/n + 1
}

// Check refuses a rate that makes no sense.
func (r Rate) Check() error {
	if r.Requests <= 0 || r.Per <= 0 {
		return fmt.Errorf("rate of %d requests per %s: both must be positive", r.Requests, r.Per)
	}
	return nil
}

// Skew is how far apart the clock readings of concurrent calls can be. A limiter goes
// by the latest reading it has seen, unless that is further ahead: then a clock was set
// back.
const Skew = time.Second

// ReplicaSkew is Skew for a limiter that several machines share. Were it shorter than
// their clocks are apart, whoever calls one after the other would never be refused for
// long: to each, the other's clock would be one that was set back.
const ReplicaSkew = time.Minute

// Limiter counts requests by key.
type Limiter interface {
	// Allow returns zero if a request of this key may pass at now, and counts
	// it. Otherwise it returns how long to wait for the next free slot and
	// counts nothing. An error means that the request could not be judged.
	// Safe for concurrent use.
	Allow(ctx context.Context, key string, r Rate, now time.Time) (wait time.Duration, err error)
}

// admit is GCRA: full is the instant, in Unix nanoseconds, at which the bucket
// of a key is full again. It returns the new one and the time to wait.
func admit(full int64, r Rate, now int64) (int64, time.Duration) {
	step := int64(r.Step())
	size := step * int64(r.Requests)
	// No call leaves more behind than an empty bucket, so anything beyond that
	// comes from a clock that was set back, or from a rate that was higher.
	// Without this, an hour back would lock callers out for that hour.
	full = min(full, now+size)
	next := max(full, now) + step
	if wait := next - size - now; wait > 0 {
		return full, time.Duration(wait)
	}
	return next, 0
}
