// Package ratelimit limits how often each caller may call each tool, to the rate that the contract
// states. It decides only; the engine rejects the call.
//
// The window slides: with a rate of N requests per P it promises that
//
//   - in no window of length P do more than N requests pass;
//   - a caller that sent nothing for P may send N requests at one instant;
//   - a rejected request passes when it is repeated exactly after the returned wait, unless another
//     request of the same key took the slot. A nanosecond earlier it does not pass.
//
// Up to exactRequests per period, a slot becomes free exactly P after the request that took it. For
// higher rates, requests within P/exactRequests count as made at the time of the last of them, so
// that what is stored for a key stays small. A slot then becomes free at most that much later.
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

// exactRequests bounds what is stored for a key.
const exactRequests = 128

// Grain returns the length of the intervals within which requests count as simultaneous.
func (r Rate) Grain() time.Duration {
	if r.Requests <= exactRequests {
		return 1
	}
	return (r.Per-1)/exactRequests + 1
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

// window holds the requests of a key that passed within the last period.
type window struct {
	passes []pass // by time; those before first have expired
	first  int
	total  int   // how many requests the live passes stand for
	until  int64 // when the last pass expires
}

// pass is a number of requests that passed at an instant, in Unix nanoseconds.
type pass struct{ at, requests int64 }

// admit counts a request that may pass and returns how long it must wait otherwise.
func (w *window) admit(r Rate, now int64) time.Duration {
	w.expire(now, int64(r.Per))
	if w.total >= r.Requests {
		return time.Duration(w.freed(w.total-r.Requests+1) + int64(r.Per) - now)
	}
	w.add(now, int64(r.Grain()))
	w.until = now + int64(r.Per)
	return 0
}

// expire removes the passes that are older than the period. A pass in the future comes from a clock
// that was set back: it counts as made now, so that nobody waits longer than a period.
func (w *window) expire(now, period int64) {
	for i := len(w.passes) - 1; i >= w.first && w.passes[i].at > now; i-- {
		w.passes[i].at = now
	}
	for w.first < len(w.passes) && w.passes[w.first].at <= now-period {
		w.total -= int(w.passes[w.first].requests)
		w.first++
	}
}

// freed returns the time of the pass whose expiry frees the nth slot.
func (w *window) freed(n int) int64 {
	at := w.first
	for n -= int(w.passes[at].requests); n > 0; n -= int(w.passes[at].requests) {
		at++
	}
	return w.passes[at].at
}

// add counts a request at now. Requests within the same grain become one pass, at the latest time.
func (w *window) add(now, grain int64) {
	w.total++
	if last := len(w.passes) - 1; last >= w.first && w.passes[last].at/grain == now/grain {
		w.passes[last] = pass{now, w.passes[last].requests + 1}
		return
	}
	// Reuse the space of expired passes before more is allocated.
	if len(w.passes) == cap(w.passes) {
		w.passes, w.first = w.passes[:copy(w.passes, w.passes[w.first:])], 0
	}
	w.passes = append(w.passes, pass{now, 1})
}
