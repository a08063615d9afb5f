// Package stats counts calls by tool and outcome and records their durations, and those of
// sessions. It keeps the counts in memory only.
package stats

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Other is the tool and outcome under which calls are counted once there are MaxSeries series.
const Other = "_OTHER"

// MaxSeries bounds the memory and the length of a report, whatever names are observed. All tools
// together have far fewer outcomes.
const MaxSeries = 2000

// Stats counts calls without locks, so that calls never wait for one another. Its zero value is
// ready to use. The first call of a new series copies the table.
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
		return h // another call added it, or the table is full
	}
	h, table := &histogram{}, make(map[series]*histogram, len(old)+1)
	maps.Copy(table, old)
	table[wanted] = h
	s.table.Store(&table)
	return h
}

// Series holds the counts of one tool with one outcome.
type Series struct {
	Tool, Outcome string
	Calls         uint64
	P50, P95, P99 time.Duration // upper bounds, exact to the width of a bucket
	Took          Distribution
}

// Snapshot returns the counts so far, sorted by tool and outcome.
func (s *Stats) Snapshot() []Series {
	table := s.table.Load()
	if table == nil {
		return nil
	}
	lines := make([]Series, 0, len(*table))
	for of, h := range *table {
		took := h.snapshot(callBounds[:])
		lines = append(lines, Series{
			Tool: of.tool, Outcome: of.outcome, Calls: took.Total(), Took: took,
			P50: took.Quantile(.50), P95: took.Quantile(.95), P99: took.Quantile(.99),
		})
	}
	slices.SortFunc(lines, func(a, b Series) int {
		return cmp.Or(cmp.Compare(a.Tool, b.Tool), cmp.Compare(a.Outcome, b.Outcome))
	})
	return lines
}

// Sessions returns the durations of the sessions that have ended.
func (s *Stats) Sessions() Distribution { return s.sessions.snapshot(sessionBounds[:]) }
