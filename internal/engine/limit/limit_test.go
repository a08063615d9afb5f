package limit_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"remit/internal/engine/limit"
)

func noon() time.Time { return time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC) }

// rates holds rates that divide evenly and rates that do not.
func rates() []limit.Rate {
	return []limit.Rate{
		{Requests: 1, Per: time.Second},
		{Requests: 60, Per: time.Minute},
		{Requests: 7, Per: time.Second},
		{Requests: 3, Per: 10 * time.Nanosecond},
		{Requests: 1000, Per: 999 * time.Nanosecond},
		{Requests: 100_000_000, Per: 24 * time.Hour},
		{Requests: 1, Per: 365 * 24 * time.Hour},
	}
}

func TestBoundary(t *testing.T) {
	for _, rate := range rates() {
		t.Run(fmt.Sprint(rate), func(t *testing.T) {
			if rate.Requests > 10_000 {
				rate.Requests = 10_000
			}
			m, now := limit.NewMemory(), noon()
			for i := range rate.Requests {
				if wait := allow(t, m, rate, now); wait != 0 {
					t.Fatalf("request %d of a burst of %d was told to wait %s", i+1, rate.Requests, wait)
				}
			}
			for range 3 { // every slot that comes free, not only the first
				wait := allow(t, m, rate, now)
				if wait <= 0 {
					t.Fatal("one request too many passed")
				}
				if early := allow(t, m, rate, now.Add(wait-1)); early != 1 && wait > 1 {
					t.Errorf("a nanosecond early: told to wait %s, want 1ns", early)
				}
				now = now.Add(wait)
				if wait := allow(t, m, rate, now); wait != 0 {
					t.Errorf("after waiting as told: told to wait %s more", wait)
				}
			}
		})
	}
}

func TestRefusedCallsCostNothing(t *testing.T) {
	rate := limit.Rate{Requests: 2, Per: time.Second}
	m, now := limit.NewMemory(), noon()
	allow(t, m, rate, now)
	allow(t, m, rate, now)
	for i := range 1000 {
		if wait := allow(t, m, rate, now.Add(time.Duration(i))); wait != 500*time.Millisecond-time.Duration(i) {
			t.Fatalf("refusal %d moved the free slot: wait %s", i, wait)
		}
	}
}

func TestKeysAreIndependent(t *testing.T) {
	rate := limit.Rate{Requests: 1, Per: time.Hour}
	m := limit.NewMemory()
	for i := range 1000 {
		if wait, err := m.Allow(t.Context(), fmt.Sprint("key ", i), rate, noon()); wait != 0 || err != nil {
			t.Fatalf("key %d: wait %s, error %v", i, wait, err)
		}
	}
}

func TestNoLimitAndNonsense(t *testing.T) {
	m := limit.NewMemory()
	for range 1000 {
		if wait := allow(t, m, limit.Rate{}, noon()); wait != 0 {
			t.Fatalf("no limit told to wait %s", wait)
		}
	}
	for _, rate := range []limit.Rate{{Requests: 1}, {Per: time.Second}, {Requests: -1, Per: time.Second}, {Requests: 1, Per: -1}} {
		if _, err := m.Allow(t.Context(), "key", rate, noon()); err == nil {
			t.Errorf("%v was taken as a rate", rate)
		}
	}
}

// bucket is the reference: it holds time, and a request costs one step of it.
type bucket struct {
	step, size, level time.Duration
	last              time.Time
}

func newBucket(r limit.Rate, now time.Time) *bucket {
	step := r.Per / time.Duration(r.Requests)
	if r.Per%time.Duration(r.Requests) != 0 {
		step++
	}
	size := step * time.Duration(r.Requests)
	return &bucket{step: step, size: size, level: size, last: now}
}

func (b *bucket) allow(now time.Time) time.Duration {
	b.level = min(b.size, b.level+now.Sub(b.last))
	b.last = now
	if b.level < b.step {
		return b.step - b.level
	}
	b.level -= b.step
	return 0
}

func TestAgreesWithReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := limit.Rate{
			Requests: rapid.IntRange(1, 20).Draw(t, "requests"),
			Per:      time.Duration(rapid.Int64Range(1, 1000).Draw(t, "per")),
		}
		pauses := rapid.SliceOfN(rapid.Int64Range(0, 300), 1, 200).Draw(t, "pauses")
		m, now := limit.NewMemory(), noon()
		ref := newBucket(rate, now)
		var passed []time.Time
		for i, pause := range pauses {
			now = now.Add(time.Duration(pause))
			got, want := allow(t, m, rate, now), ref.allow(now)
			if got != want {
				t.Fatalf("request %d: wait %s, reference %s", i, got, want)
			}
			if got == 0 {
				passed = append(passed, now)
			}
		}
		neverMore(t, rate, ref.step, passed)
	})
}

// neverMore checks the promise of the package comment on every pair of requests.
func neverMore(t *rapid.T, rate limit.Rate, step time.Duration, passed []time.Time) {
	for i := range passed {
		for j := i; j < len(passed); j++ {
			d := passed[j].Sub(passed[i])
			if n, most := j-i+1, rate.Requests+int(d/step); n > most {
				t.Fatalf("%d requests passed in %s, promised at most %d", n, d, most)
			}
			if n := j - i + 1; d <= rate.Per && n > 2*rate.Requests {
				t.Fatalf("%d requests passed in %s, promised at most %d", n, rate.Per, 2*rate.Requests)
			}
		}
	}
}

func TestClockGoesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := limit.Rate{
			Requests: rapid.IntRange(1, 5).Draw(t, "requests"),
			Per:      time.Duration(rapid.Int64Range(1, int64(time.Hour)).Draw(t, "per")),
		}
		m, now := limit.NewMemory(), noon()
		for _, jump := range rapid.SliceOf(rapid.Int64Range(-int64(48*time.Hour), int64(time.Hour))).Draw(t, "jumps") {
			now = now.Add(time.Duration(jump))
			wait := allow(t, m, rate, now)
			if most := newBucket(rate, now).size + time.Second; wait > most {
				t.Fatalf("told to wait %s, which is longer than %s", wait, most)
			}
			now = now.Add(wait)
			if wait == 0 {
				continue
			}
			if wait := allow(t, m, rate, now); wait != 0 {
				t.Fatalf("after waiting as told: told to wait %s more", wait)
			}
		}
	})
}

// Concurrent calls read the clock before they are judged, so a burst arrives
// with readings in any order.
func TestReadingsOutOfOrder(t *testing.T) {
	rate := limit.Rate{Requests: 60, Per: time.Minute}
	m, now := limit.NewMemory(), noon()
	for i := range rate.Requests {
		if wait := allow(t, m, rate, now.Add(-time.Duration(i)*time.Millisecond)); wait != 0 {
			t.Fatalf("request %d of a burst of %d was told to wait %s", i+1, rate.Requests, wait)
		}
	}
	late := now.Add(-100 * time.Millisecond)
	wait := allow(t, m, rate, late)
	if wait != time.Second+100*time.Millisecond {
		t.Errorf("one too many, with a late reading: told to wait %s, want 1.1s", wait)
	}
	if early := allow(t, m, rate, late.Add(wait-1)); early != 1 {
		t.Errorf("a nanosecond early: told to wait %s, want 1ns", early)
	}
	if wait := allow(t, m, rate, late.Add(wait)); wait != 0 {
		t.Errorf("after waiting as told: told to wait %s more", wait)
	}
}

func TestExactlyNOfManyAtOnce(t *testing.T) {
	rate := limit.Rate{Requests: 50, Per: time.Minute}
	for range 20 {
		m, now := limit.NewMemory(), noon()
		var passed atomic.Int64
		var wg sync.WaitGroup
		start := make(chan struct{})
		for i := range 4 * rate.Requests {
			wg.Go(func() {
				<-start
				// Clock readings that arrive out of order neither free a slot nor take one.
				at := now.Add(-time.Duration(i) * time.Microsecond)
				if allow(t, m, rate, at) == 0 {
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

func TestKnownKeyAllocatesNothing(t *testing.T) {
	m, rate, ctx, now := limit.NewMemory(), limit.Rate{Requests: 5, Per: time.Minute}, t.Context(), noon()
	allow(t, m, rate, now)
	if n := testing.AllocsPerRun(1000, func() { _, _ = m.Allow(ctx, "key", rate, now) }); n != 0 {
		t.Errorf("%v allocations a call, want 0", n)
	}
}

func BenchmarkAllow(b *testing.B) {
	rate := limit.Rate{Requests: 1000, Per: time.Second}
	keys := make([]string, 4096)
	for i := range keys {
		keys[i] = fmt.Sprintf("principal-%d/learning-os/read_file", i)
	}
	for _, n := range []int{1, len(keys)} {
		b.Run(fmt.Sprintf("keys=%d", n), func(b *testing.B) {
			m, ctx, now := limit.NewMemory(), b.Context(), noon()
			b.ReportAllocs()
			for i := range b.N {
				_, _ = m.Allow(ctx, keys[i%n], rate, now.Add(time.Duration(i)))
			}
		})
		b.Run(fmt.Sprintf("keys=%d/parallel", n), func(b *testing.B) {
			m, ctx, now := limit.NewMemory(), b.Context(), noon()
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for i := 0; pb.Next(); i++ {
					_, _ = m.Allow(ctx, keys[i%n], rate, now.Add(time.Duration(i)))
				}
			})
		})
	}
}

func allow(t interface{ Errorf(string, ...any) }, m *limit.Memory, rate limit.Rate, now time.Time) time.Duration {
	wait, err := m.Allow(context.Background(), "key", rate, now)
	if err != nil {
		t.Errorf("allow: %v", err)
	}
	return wait
}
