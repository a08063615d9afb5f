// Package stats counts calls by tool and outcome, with how long they took, and how long
// sessions lasted.
package stats

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Other stands for every tool beyond the first MaxSeries pairs of tool and outcome.
const Other = "_OTHER"

// MaxSeries bounds the memory and the length of a report, whatever names are
// observed. It is far more than the tools there are have outcomes.
const MaxSeries = 2000

// Stats counts without locks, so that calls never wait for one another. Its zero
// value is ready. A pair that is seen for the first time copies the table.
type Stats struct {
	table    atomic.Pointer[map[series]*histogram]
	growing  sync.Mutex // held while the table is copied
	sessions histogram
}

type series struct{ tool, outcome string }

// Observe counts one call.
func (s *Stats) Observe(tool, outcome string, took time.Duration) {
	s.of(series{tool, outcome}).add(callBounds[:], took)
}

// ObserveSession counts one session that has ended.
func (s *Stats) ObserveSession(lasted time.Duration) {
	s.sessions.add(sessionBounds[:], lasted)
}

func (s *Stats) of(wanted series) *histogram {
	if table := s.table.Load(); table != nil {
		if h, ok := (*table)[wanted]; ok {
			return h
		}
	}
	return s.grow(wanted)
}

// grow adds a pair to a copy of the table, since others read the table meanwhile.
func (s *Stats) grow(wanted series) *histogram {
	s.growing.Lock()
	defer s.growing.Unlock()
	var old map[series]*histogram
	if table := s.table.Load(); table != nil {
		old = *table
	}
	if old[wanted] == nil && len(old) >= MaxSeries {
		wanted = series{Other, Other}
	}
	if h := old[wanted]; h != nil {
		return h // another call was faster, or the table is full
	}
	h, table := &histogram{}, make(map[series]*histogram, len(old)+1)
	maps.Copy(table, old)
	table[wanted] = h
	s.table.Store(&table)
	return h
}

// Line sums up one tool with one outcome.
type Line struct {
	Tool, Outcome string
	Calls         uint64
	P50, P95, P99 time.Duration // upper bounds, exact to the width of a bucket
	Took          Distribution
}

// Snapshot returns what was counted so far, by tool and outcome.
func (s *Stats) Snapshot() []Line {
	table := s.table.Load()
	if table == nil {
		return nil
	}
	lines := make([]Line, 0, len(*table))
	for of, h := range *table {
		took := h.snapshot(callBounds[:])
		lines = append(lines, Line{
			Tool: of.tool, Outcome: of.outcome, Calls: took.Total(), Took: took,
			P50: took.Below(.50), P95: took.Below(.95), P99: took.Below(.99),
		})
	}
	slices.SortFunc(lines, func(a, b Line) int {
		return cmp.Or(cmp.Compare(a.Tool, b.Tool), cmp.Compare(a.Outcome, b.Outcome))
	})
	return lines
}

// Sessions returns how long the sessions that have ended lasted.
func (s *Stats) Sessions() Distribution { return s.sessions.snapshot(sessionBounds[:]) }
