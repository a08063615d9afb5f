package auditindex

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"remit/internal/engine/audit"
)

// Percentiles are percentiles of durations: half of the calls took at most P50, and so on. They are
// exact, and include all calls with a duration, also rejected ones; zero if there are none.
type Percentiles struct{ P50, P95, P99 time.Duration }

// Tool sums up the calls of one tool.
type Tool struct {
	Tool     string
	Calls    int
	Failures int
	Limited  int            // rejected by a rate limit
	Kinds    map[string]int // by the kind of failure
	Percentiles
}

// Bucket sums up the calls of an interval.
type Bucket struct {
	Start    time.Time
	Calls    int
	Failures int
	Percentiles
}

// Measures sums up calls by tool and by time.
type Measures struct {
	Sums
	Tools   []Tool // most calls first
	Buckets []Bucket
}

// Measure measures the calls of each tool, and those of each of a number of equal intervals that
// divide the time of the filter. Without From and To the time is from the first call until now.
func (x *Index) Measure(ctx context.Context, f Filter, intervals int) (Measures, error) {
	t, err := x.count(ctx, f.From)
	sums := t.sums(&f)
	if err != nil || t.store == nil {
		return Measures{}, err
	}
	if f.From.IsZero() {
		if f.From, err = t.store.First(ctx, slices.Sorted(maps.Keys(t.kinds))); err != nil || f.From.IsZero() {
			return Measures{}, err
		}
	}
	until := f.To
	if until.IsZero() {
		until = x.Now().Add(time.Microsecond)
	}
	m := newMeasure(&t, f.From, until, intervals)
	if q := t.query(&f); len(q.Kinds) > 0 {
		if err := t.store.Times(ctx, q, m.add); err != nil {
			return Measures{}, err
		}
	}
	tools, buckets := m.result()
	return Measures{sums, tools, buckets}, nil
}

// measure collects the calls by tool and by interval.
type measure struct {
	from, to, width int64 // in microseconds
	tools           []Tool
	kinds           map[int64]*measured
	buckets         []Bucket
	byTool, byTime  [][]int64 // durations in microseconds
}

// measured counts the calls of a kind.
type measured struct {
	outcome string
	failed  bool
	tool    int // its index
	calls   int
}

func newMeasure(t *counts, from, to time.Time, intervals int) *measure {
	m := &measure{from: from.UnixMicro(), to: to.UnixMicro(), width: 1, kinds: map[int64]*measured{}}
	byName := map[string]int{}
	for id, kind := range t.kinds {
		at, known := byName[kind.Tool]
		if !known {
			at = len(m.tools)
			byName[kind.Tool] = at
			m.tools = append(m.tools, Tool{Tool: kind.Tool})
		}
		m.kinds[id] = &measured{outcome: kind.Outcome, failed: audit.IsFailure(kind.Outcome), tool: at}
	}
	if intervals > 0 && m.to > m.from {
		m.width = max((m.to-m.from+int64(intervals)-1)/int64(intervals), 1)
		m.buckets = make([]Bucket, intervals)
	}
	for i := range m.buckets {
		m.buckets[i].Start = time.UnixMicro(m.from + int64(i)*m.width).UTC()
	}
	m.byTool, m.byTime = make([][]int64, len(m.tools)), make([][]int64, len(m.buckets))
	return m
}

func (m *measure) add(c CallDuration) {
	kind := m.kinds[c.Kind]
	if kind == nil {
		return // it was added after the kinds were read
	}
	kind.calls++
	measured := c.Took > 0 // zero means not measured, such as for signing in
	if measured {
		m.byTool[kind.tool] = append(m.byTool[kind.tool], c.Took)
	}
	if len(m.buckets) == 0 || c.At < m.from || c.At >= m.to {
		return
	}
	at := int((c.At - m.from) / m.width)
	m.buckets[at].Calls++
	if kind.failed {
		m.buckets[at].Failures++
	}
	if measured {
		m.byTime[at] = append(m.byTime[at], c.Took)
	}
}

func (m *measure) result() ([]Tool, []Bucket) {
	for _, kind := range m.kinds {
		tool := &m.tools[kind.tool]
		tool.Calls += kind.calls
		if kind.failed && kind.calls > 0 {
			tool.fail(kind.outcome, kind.calls)
		}
	}
	for i := range m.tools {
		m.tools[i].Percentiles = timesOf(m.byTool[i])
	}
	for i := range m.buckets {
		m.buckets[i].Percentiles = timesOf(m.byTime[i])
	}
	tools := slices.DeleteFunc(m.tools, func(t Tool) bool { return t.Calls == 0 })
	slices.SortFunc(tools, func(a, b Tool) int { return cmp.Or(b.Calls-a.Calls, strings.Compare(a.Tool, b.Tool)) })
	return tools, m.buckets
}

func (t *Tool) fail(kind string, calls int) {
	if t.Kinds == nil {
		t.Kinds = map[string]int{}
	}
	t.Failures += calls
	t.Kinds[kind] += calls
	if kind == "limited" {
		t.Limited += calls
	}
}

// timesOf returns the percentiles of durations; it changes their order.
func timesOf(micros []int64) Percentiles {
	if len(micros) == 0 {
		return Percentiles{}
	}
	rank := func(percent int) int { return (len(micros)*percent + 99) / 100 }
	p99, p95, p50 := rank(99), rank(95), rank(50)
	// Each call moves smaller values to the left, so the next one needs only those.
	at := func(within, rank int) time.Duration {
		return time.Duration(nth(micros[:within], rank-1)) * time.Microsecond
	}
	t := Percentiles{P99: at(len(micros), p99)}
	t.P95 = at(p99, p95)
	t.P50 = at(p95, p50)
	return t
}

// nth moves the number that would be at k if all were sorted to k, with no greater one before it
// and no smaller one after it, and returns it. That takes a third of the time of sorting. Input
// that makes it slow is sorted after all.
func nth(list []int64, k int) int64 {
	for tries := 0; len(list) > 16 && tries < 64; tries++ {
		cut := partition(list)
		if k < cut {
			list = list[:cut]
		} else {
			list, k = list[cut:], k-cut
		}
	}
	slices.Sort(list)
	return list[k]
}

// partition splits a list of several numbers into two non-empty parts, so that no number in the
// first is greater than any in the second.
func partition(list []int64) (cut int) {
	first, middle, last := list[0], list[len(list)/2], list[len(list)-1]
	pivot := max(min(first, middle), min(max(first, middle), last))
	i, j := 0, len(list)-1
	for {
		for list[i] < pivot {
			i++
		}
		for list[j] > pivot {
			j--
		}
		if i >= j {
			return i
		}
		list[i], list[j] = list[j], list[i]
		i++
		j--
	}
}
