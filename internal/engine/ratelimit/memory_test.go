package ratelimit

import (
	"fmt"
	"testing"
	"time"
)

func TestIdleKeysAreDropped(t *testing.T) {
	m, rate := NewMemory(), Rate{Requests: 2, Per: time.Second}
	now := time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
	// A key is busy for half a second, and there is a new one each millisecond.
	const busyAtOnce = 500
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
		n += len(m.shards[i].full)
	}
	return n
}
