package ratelimit

import (
	"fmt"
	"testing"
	"time"
)

func TestIdleKeysAreDropped(t *testing.T) {
	m, rate := NewMemory(), Rate{Requests: 2, Per: time.Second}
	now := time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
	// A key is busy for a second, and there is a new one each millisecond.
	const busyAtOnce = 1000
	for i := range 200_000 {
		if _, err := m.Allow(t.Context(), fmt.Sprint("key ", i), rate, now); err != nil {
			t.Fatalf("allow: %v", err)
		}
		now = now.Add(time.Millisecond)
	}
	if n, most := held(m), 2*busyAtOnce+minSweep*len(m.shards); n > most {
		t.Errorf("%d keys held, want at most %d", n, most)
	}
}

// A busy key must survive the sweep: dropping it would give its caller a new burst.
func TestBusyKeysAreKept(t *testing.T) {
	m, rate := NewMemory(), Rate{Requests: 1, Per: time.Hour}
	now := time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
	const keys = 100_000
	for _, want := range []int{keys, 0} {
		passed := 0
		for i := range keys {
			if wait, _ := m.Allow(t.Context(), fmt.Sprint("key ", i), rate, now); wait == 0 {
				passed++
			}
		}
		if passed != want {
			t.Fatalf("%d keys passed at %s, want %d", passed, now, want)
		}
		now = now.Add(time.Minute)
	}
	if n := held(m); n != keys {
		t.Errorf("%d keys held, want %d", n, keys)
	}
}

func held(m *Memory) int {
	n := 0
	for i := range m.shards {
		n += len(m.shards[i].windows)
	}
	return n
}

// What is stored for a key does not grow with its rate, however its requests are spaced.
func TestWindowIsBounded(t *testing.T) {
	for _, n := range []int{1, exactRequests, exactRequests + 1, 6000, 1_000_000} {
		rate := Rate{Requests: n, Per: time.Minute}
		var w window
		now := time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC).UnixNano()
		for range 100_000 {
			w.admit(rate, now)
			now += 7_777_777
		}
		if most := 2 * (exactRequests + 2); cap(w.passes) > most {
			t.Errorf("%v: room for %d passes, want at most %d", rate, cap(w.passes), most)
		}
	}
}
