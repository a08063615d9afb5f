// Package ratelimit limits how often each caller may call each tool, to the rate that the contract
// states. It decides only; the engine rejects the call.
//
// The algorithm is GCRA, a token bucket that stores one number per key. With a rate of N requests
// per P, and T = P/N rounded up to a nanosecond, it promises:
//
//   - a caller that sent nothing for N*T may send N requests at one instant;
//   - in an interval of length d that begins and ends with a request that passes, at most N + d/T
//     requests pass: a burst of N and then one each T. In a window of length P that is at most 2N,
//     and N per P in the long run;
//   - a rejected request passes when it is repeated exactly after the returned wait, unless another
//     request of the same key took the slot. A nanosecond earlier it does not pass.
//
// T is rounded up so that these bounds hold even if N does not divide P. A caller is then at most
// one nanosecond per request slower than the contract says.
package ratelimit

import (
	"context"
	"fmt"
	"time"
)

// Rate is a number of requests per period. The zero Rate means no limit.
type Rate struct {
	Requests int
	Per      time.Duration
}

// Step returns the time after which one more slot becomes free.
func (r Rate) Step() time.Duration {
	n := time.Duration(r.Requests)
	return (r.Per-1)/n + 1
}

// Check returns an error unless both fields are positive.
func (r Rate) Check() error {
	if r.Requests <= 0 || r.Per <= 0 {
		return fmt.Errorf("rate of %d requests per %s: both must be positive", r.Requests, r.Per)
	}
	return nil
}

// Skew is how far apart the clock readings of concurrent calls can be. A limiter uses the latest
// reading that it has seen. If that reading is more than Skew ahead, the clock was set back, and
// the limiter uses the new reading.
const Skew = time.Second

// ReplicaSkew is Skew for a limiter that several machines share. It must exceed the difference of
// their clocks. Otherwise a caller that alternates between two machines would never be limited for
// long: each machine would take the other's clock for one that was set back.
const ReplicaSkew = time.Minute

// Limiter counts requests by key.
type Limiter interface {
	// Allow returns zero if a request of this key may pass at now, and counts it. Otherwise it
	// returns how long to wait for the next free slot, and counts nothing. It returns an error if
	// the limit could not be checked. Safe for concurrent use.
	Allow(ctx context.Context, key string, r Rate, now time.Time) (wait time.Duration, err error)
}

// admit implements GCRA. full is the instant, in Unix nanoseconds, at which the bucket of a key is
// full again. admit returns the new instant and the time to wait.
func admit(full int64, r Rate, now int64) (int64, time.Duration) {
	step := int64(r.Step())
	size := step * int64(r.Requests)
	// No call makes the bucket emptier than empty, so a later instant comes from a clock that was
	// set back, or from a rate that was lowered. Without this line, a clock that is set back by an
	// hour would lock callers out for that hour.
	full = min(full, now+size)
	next := max(full, now) + step
	if wait := next - size - now; wait > 0 {
		return full, time.Duration(wait)
	}
	return next, 0
}
