// Package stats counts calls by tool and outcome, with how long they took.
package stats

import (
	"math/bits"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Stats counts without locks, so that calls never wait for one another.
type Stats struct {
	counters sync.Map // of *counter by key
}

type key struct{ tool, outcome string }

// counter holds the calls of one tool with one outcome. Bucket i counts those
// that took less than 2^i microseconds (and at least half of that).
type counter struct {
	buckets [40]atomic.Uint64
}

// Observe counts one call.
func (s *Stats) Observe(tool, outcome string, took time.Duration) {
	found, ok := s.counters.Load(key{tool, outcome})
	if !ok {
		found, _ = s.counters.LoadOrStore(key{tool, outcome}, &counter{})
	}
	c := found.(*counter)
	i := min(bits.Len64(uint64(max(took.Microseconds(), 0))), len(c.buckets)-1)
	c.buckets[i].Add(1)
}

// Line sums up one tool with one outcome.
type Line struct {
	Tool, Outcome string
	Calls         uint64
	P50, P95, P99 time.Duration // upper bounds, exact to a factor of two
}

// Snapshot returns what was counted so far, by tool and outcome.
func (s *Stats) Snapshot() []Line {
	var lines []Line
	s.counters.Range(func(k, v any) bool {
		lines = append(lines, v.(*counter).line(k.(key)))
		return true
	})
	slices.SortFunc(lines, func(a, b Line) int {
		return strings.Compare(a.Tool+" "+a.Outcome, b.Tool+" "+b.Outcome)
	})
	return lines
}

func (c *counter) line(k key) Line {
	var counts [len(c.buckets)]uint64
	l := Line{Tool: k.tool, Outcome: k.outcome}
	for i := range c.buckets {
		counts[i] = c.buckets[i].Load()
		l.Calls += counts[i]
	}
	below := func(share float64) time.Duration {
		var seen uint64
		for i, n := range counts {
			if seen += n; float64(seen) >= share*float64(l.Calls) {
				return time.Duration(1<<i) * time.Microsecond
			}
		}
		return 0
	}
	l.P50, l.P95, l.P99 = below(.50), below(.95), below(.99)
	return l
}
