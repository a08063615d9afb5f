// Package ratelimittest provides a test suite for implementations of ratelimit.Limiter.
package ratelimittest

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"remit/internal/engine/ratelimit"
)

// maxBurst bounds a burst in the suite, because a limiter in a database is slow.
const maxBurst = 1000

// Suite tests a limiter. skew is the difference up to which the limiter takes two clock readings
// for those of clocks that differ. fresh returns a limiter without any keys.
func Suite(t *testing.T, skew time.Duration, fresh func(t *testing.T) ratelimit.Limiter) {
	tests := []struct {
		name string
		run  func(t *testing.T, l ratelimit.Limiter)
	}{
		{"boundary", boundary},
		{"high rates", bounded},
		{"rejected calls cost nothing", rejectedCallsCostNothing},
		{"keys are independent", keysAreIndependent},
		{"keys of any bytes", keysOfAnyBytes},
		{"no limit and invalid rates", noLimitAndInvalid},
		{"agrees with the reference", agreesWithReference},
		{"clock goes back", func(t *testing.T, l ratelimit.Limiter) { clockGoesBack(t, l, skew) }},
		{"clocks that differ", func(t *testing.T, l ratelimit.Limiter) { clocksDiffer(t, l, skew) }},
		{"readings out of order", readingsOutOfOrder},
		{"exactly N concurrent requests", func(t *testing.T, l ratelimit.Limiter) { ExactlyN(t, l) }},
		{"a lower rate later", lowerRateLater},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) { tc.run(t, fresh(t)) })
	}
}

func noon() time.Time { return time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC) }

// rates holds rates that divide evenly and rates that do not.
func rates() []ratelimit.Rate {
	return []ratelimit.Rate{
		{Requests: 1, Per: time.Second},
		{Requests: 60, Per: time.Minute},
		{Requests: 7, Per: time.Second},
		{Requests: 3, Per: 10 * time.Nanosecond},
		{Requests: 1000, Per: 999 * time.Nanosecond},
		{Requests: 100_000_000, Per: 24 * time.Hour},
		{Requests: 1, Per: 365 * 24 * time.Hour},
	}
}

func boundary(t *testing.T, l ratelimit.Limiter) {
	for i, rate := range rates() {
		t.Run(fmt.Sprint(rate), func(t *testing.T) {
			key := fmt.Sprint(rate)
			rate.Requests = min(rate.Requests, maxBurst)
			// Keys may share a clock, which must not go back.
			now := noon().AddDate(3*i, 0, 0)
			for range 2 { // the window slides: after the wait, all slots are free again
				for i := range rate.Requests {
					if wait := allow(t, l, key, rate, now); wait != 0 {
						t.Fatalf("request %d of a burst of %d must wait %s", i+1, rate.Requests, wait)
					}
				}
				if wait := allow(t, l, key, rate, now); wait != rate.Per {
					t.Fatalf("one request too many must wait %s, want %s", wait, rate.Per)
				}
				if early := allow(t, l, key, rate, now.Add(rate.Per-1)); early != 1 {
					t.Errorf("a nanosecond early: must wait %s, want 1ns", early)
				}
				now = now.Add(rate.Per)
			}
		})
	}
}

// bounded checks rates that are too high to be stored exactly: in no window do more requests pass
// than the rate says, a slot becomes free soon after it should, and the returned wait is right.
func bounded(t *testing.T, l ratelimit.Limiter) {
	rate, now := ratelimit.Rate{Requests: 400, Per: time.Second}, noon()
	var passed []time.Time
	for range 3 * rate.Requests {
		wait := allow(t, l, "key", rate, now)
		if wait > rate.Per+rate.Grain() {
			t.Fatalf("must wait %s, longer than %s", wait, rate.Per+rate.Grain())
		}
		if wait > 0 {
			if early := allow(t, l, "key", rate, now.Add(wait-1)); early != 1 {
				t.Fatalf("a nanosecond early: must wait %s, want 1ns", early)
			}
			if now = now.Add(wait); allow(t, l, "key", rate, now) != 0 {
				t.Fatal("must wait again after the wait")
			}
		}
		passed = append(passed, now)
		now = now.Add(rate.Per / time.Duration(2*rate.Requests))
	}
	checkBound(t, rate, passed)
}

func rejectedCallsCostNothing(t *testing.T, l ratelimit.Limiter) {
	rate, now := ratelimit.Rate{Requests: 2, Per: time.Second}, noon()
	allow(t, l, "key", rate, now)
	allow(t, l, "key", rate, now)
	for i := range 300 {
		if wait := allow(t, l, "key", rate, now.Add(time.Duration(i))); wait != time.Second-time.Duration(i) {
			t.Fatalf("rejection %d moved the free slot: wait %s", i, wait)
		}
	}
}

func keysAreIndependent(t *testing.T, l ratelimit.Limiter) {
	rate := ratelimit.Rate{Requests: 1, Per: time.Hour}
	for i := range 300 {
		if wait := allow(t, l, fmt.Sprint("key ", i), rate, noon()); wait != 0 {
			t.Fatalf("key %d: wait %s", i, wait)
		}
	}
}

// keysOfAnyBytes checks that keys may hold any bytes: a key contains the name of the caller, which
// may be anything.
func keysOfAnyBytes(t *testing.T, l ratelimit.Limiter) {
	rate := ratelimit.Rate{Requests: 1, Per: time.Hour}
	long := string(make([]byte, 1<<16))
	for _, key := range []string{"", "ada\x00tasks/add_task", "ada", "\xff\xfe", "ädä 🙂", long, long + "x"} {
		if wait := allow(t, l, key, rate, noon()); wait != 0 {
			t.Errorf("%.20q, of %d bytes, is taken for another key: wait %s", key, len(key), wait)
		}
		if wait := allow(t, l, key, rate, noon()); wait != time.Hour {
			t.Errorf("%.20q, of %d bytes, again: wait %s, want 1h", key, len(key), wait)
		}
	}
}

func noLimitAndInvalid(t *testing.T, l ratelimit.Limiter) {
	for range 300 {
		if wait := allow(t, l, "key", ratelimit.Rate{}, noon()); wait != 0 {
			t.Fatalf("no limit must wait %s", wait)
		}
	}
	for _, rate := range []ratelimit.Rate{{Requests: 1}, {Per: time.Second}, {Requests: -1, Per: time.Second}, {Requests: 1, Per: -1}} {
		if _, err := l.Allow(t.Context(), "key", rate, noon()); err == nil {
			t.Errorf("%v was accepted as a rate", rate)
		}
	}
}

// lowerRateLater checks that a lower rate does not lock out a caller that used a higher one before.
func lowerRateLater(t *testing.T, l ratelimit.Limiter) {
	now := noon()
	for range 10 {
		allow(t, l, "key", ratelimit.Rate{Requests: 10, Per: time.Hour}, now)
	}
	lower := ratelimit.Rate{Requests: 1, Per: time.Minute}
	if wait := allow(t, l, "key", lower, now); wait != time.Minute {
		t.Errorf("must wait %s, want one minute", wait)
	}
	if wait := allow(t, l, "key", lower, now.Add(time.Minute)); wait != 0 {
		t.Errorf("after that wait: must wait %s more", wait)
	}
}

// record is the reference implementation: the times of all requests that passed.
type record []time.Time

func (r *record) allow(rate ratelimit.Rate, now time.Time) time.Duration {
	if n := len(*r); n >= rate.Requests {
		if wait := (*r)[n-rate.Requests].Add(rate.Per).Sub(now); wait > 0 {
			return wait
		}
	}
	*r = append(*r, now)
	return 0
}

func agreesWithReference(t *testing.T, l ratelimit.Limiter) {
	attempt := 0
	rapid.Check(t, func(t *rapid.T) {
		attempt++
		key := fmt.Sprint("attempt ", attempt)
		rate := ratelimit.Rate{
			Requests: rapid.IntRange(1, 20).Draw(t, "requests"),
			Per:      time.Duration(rapid.Int64Range(1, 1000).Draw(t, "per")),
		}
		// A limiter may have one clock for all keys.
		now := noon().Add(time.Duration(attempt) * time.Hour)
		var ref record
		for i, pause := range rapid.SliceOfN(rapid.Int64Range(0, 300), 1, 100).Draw(t, "pauses") {
			now = now.Add(time.Duration(pause))
			got, want := allow(t, l, key, rate, now), ref.allow(rate, now)
			if got != want {
				t.Fatalf("request %d: wait %s, reference %s", i, got, want)
			}
		}
		checkBound(t, rate, ref)
	})
}

// checkBound checks that no window of the length of the period holds more requests than the rate
// allows.
func checkBound(t interface{ Fatalf(string, ...any) }, rate ratelimit.Rate, passed []time.Time) {
	for i := rate.Requests; i < len(passed); i++ {
		if d := passed[i].Sub(passed[i-rate.Requests]); d < rate.Per {
			t.Fatalf("%d requests passed in %s, promised at most %v", rate.Requests+1, d, rate)
		}
	}
}

func clockGoesBack(t *testing.T, l ratelimit.Limiter, skew time.Duration) {
	attempt := 0
	rapid.Check(t, func(t *rapid.T) {
		attempt++
		key := fmt.Sprint("attempt ", attempt)
		rate := ratelimit.Rate{
			Requests: rapid.IntRange(1, 5).Draw(t, "requests"),
			Per:      time.Duration(rapid.Int64Range(1, int64(time.Hour)).Draw(t, "per")),
		}
		now := noon().Add(time.Duration(attempt) * time.Hour)
		for _, jump := range rapid.SliceOf(rapid.Int64Range(-int64(48*time.Hour), int64(time.Hour))).Draw(t, "jumps") {
			now = now.Add(time.Duration(jump))
			wait := allow(t, l, key, rate, now)
			if limit := rate.Per + skew; wait > limit {
				t.Fatalf("must wait %s, which is longer than %s", wait, limit)
			}
			now = now.Add(wait)
			if wait == 0 {
				continue
			}
			if wait := allow(t, l, key, rate, now); wait != 0 {
				t.Fatalf("after that wait: must wait %s more", wait)
			}
		}
	})
}

// clocksDiffer checks that two callers that alternate, with clocks that differ, pass no more
// requests than one caller with the clock that is ahead.
func clocksDiffer(t *testing.T, l ratelimit.Limiter, skew time.Duration) {
	rate, now := ratelimit.Rate{Requests: 100, Per: 10 * skew}, noon()
	passed := 0
	for i := range 4 * rate.Requests {
		if allow(t, l, "key", rate, now.Add(-skew*time.Duration(i%2))) == 0 {
			passed++
		}
	}
	if passed != rate.Requests {
		t.Errorf("%d passed, want %d", passed, rate.Requests)
	}
}

// readingsOutOfOrder checks a burst whose clock readings arrive in any order, because concurrent
// calls read the clock before the limiter counts them.
func readingsOutOfOrder(t *testing.T, l ratelimit.Limiter) {
	rate, now := ratelimit.Rate{Requests: 60, Per: time.Minute}, noon()
	for i := range rate.Requests {
		if wait := allow(t, l, "key", rate, now.Add(-time.Duration(i)*time.Millisecond)); wait != 0 {
			t.Fatalf("request %d of a burst of %d must wait %s", i+1, rate.Requests, wait)
		}
	}
	late := now.Add(-100 * time.Millisecond)
	wait := allow(t, l, "key", rate, late)
	if wait != time.Minute+100*time.Millisecond {
		t.Errorf("one too many, with a late reading: must wait %s, want 1m0.1s", wait)
	}
	if early := allow(t, l, "key", rate, late.Add(wait-1)); early != 1 {
		t.Errorf("a nanosecond early: must wait %s, want 1ns", early)
	}
	if wait := allow(t, l, "key", rate, late.Add(wait)); wait != 0 {
		t.Errorf("after that wait: must wait %s more", wait)
	}
}

// ExactlyN makes many concurrent requests, spread over limiters that share their counts, and checks
// that exactly as many pass as a single limiter would allow.
func ExactlyN(t *testing.T, limiters ...ratelimit.Limiter) {
	t.Helper()
	rate := ratelimit.Rate{Requests: 50, Per: time.Minute}
	for attempt := range 10 {
		key := fmt.Sprint("attempt ", attempt)
		var passed atomic.Int64
		var wg sync.WaitGroup
		start := make(chan struct{})
		for i := range 4 * rate.Requests {
			wg.Go(func() {
				<-start
				// Clock readings that arrive out of order neither free a slot nor take one.
				at := noon().Add(-time.Duration(i) * time.Microsecond)
				if allow(t, limiters[i%len(limiters)], key, rate, at) == 0 {
					passed.Add(1)
				}
			})
		}
		close(start)
		wg.Wait()
		if n := passed.Load(); n != int64(rate.Requests) {
			t.Fatalf("%d passed, want %d", n, rate.Requests)
		}
	}
}

func allow(t interface{ Errorf(string, ...any) }, l ratelimit.Limiter, key string, rate ratelimit.Rate, now time.Time) time.Duration {
	wait, err := l.Allow(context.Background(), key, rate, now)
	if err != nil {
		t.Errorf("allow: %v", err)
	}
	return wait
}
