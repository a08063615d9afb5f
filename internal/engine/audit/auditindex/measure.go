package auditindex

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"
)

// Times are how long calls took: half of them at most P50, and so on. They are exact,
// and of all calls that were measured, refused ones too; zero if none was.
type Times struct{ P50, P95, P99 time.Duration }

// Tool is what the calls of one tool came to.
type Tool struct {
	Tool     string
	Calls    int
	Failures int
	Limited  int            // refused by a rate limit
	Kinds    map[string]int // by the kind of failure
	Times
}

// Bucket is what a stretch of time came to.
type Bucket struct {
	Start    time.Time
	Calls    int
	Failures int
	Times
}

// Measures are what calls came to.
type Measures struct {
	Sums
	Tools   []Tool // most called first
	Buckets []Bucket
}

// Measure measures the calls of each tool, and those of each of so many stretches of the
// same length, which the time of the filter is cut into. From and To may be left out:
// then it goes from the first call until now.
func (x *Index) Measure(ctx context.Context, f Filter, stretches int) (Measures, error) {
	t, err := x.tally(ctx, f.From)
	sums := t.sums(&f)
	if err != nil || t.store == nil {
		return Measures{}, err
	}
	if f.From.IsZero() {
		if f.From, err = t.store.First(ctx); err != nil || f.From.IsZero() {
			return Measures{}, err
		}
	}
	until := f.To
	if until.IsZero() {
		until = x.Now().Add(time.Microsecond)
	}
	m := newMeasure(&t, f.From, until, stretches)
	if q := t.query(&f); len(q.Kinds) > 0 {
		if err := t.store.Times(ctx, q, m.add); err != nil {
			return Measures{}, err
		}
	}
	tools, buckets := m.result()
	return Measures{sums, tools, buckets}, nil
}

// measure gathers what the calls of tools, and of stretches of time, came to.
type measure struct {
	from, to, width int64 // in microseconds
	tools           []Tool
	kinds           map[int64]*measured
	buckets         []Bucket
	byTool, byTime  [][]int64 // how long calls took, in microseconds
}

// measured is what is known of the calls of a kind.
type measured struct {
	outcome string
	failed  bool
	tool    int // its index
	calls   int
}

func newMeasure(t *tallies, from, to time.Time, stretches int) *measure {
	m := &measure{from: from.UnixMicro(), to: to.UnixMicro(), width: 1, kinds: map[int64]*measured{}}
	byName := map[string]int{}
	for id, kind := range t.kinds {
		at, known := byName[kind.Tool]
		if !known {
			at = len(m.tools)
			byName[kind.Tool] = at
			m.tools = append(m.tools, Tool{Tool: kind.Tool})
		}
		m.kinds[id] = &measured{outcome: kind.Outcome, failed: IsFailure(kind.Outcome), tool: at}
	}
	if stretches > 0 && m.to > m.from {
		m.width = max((m.to-m.from+int64(stretches)-1)/int64(stretches), 1)
		m.buckets = make([]Bucket, stretches)
	}
	for i := range m.buckets {
		m.buckets[i].Start = time.UnixMicro(m.from + int64(i)*m.width).UTC()
	}
	m.byTool, m.byTime = make([][]int64, len(m.tools)), make([][]int64, len(m.buckets))
	return m
}

func (m *measure) add(c Timed) {
	kind := m.kinds[c.Kind]
	if kind == nil {
		return // it appeared after the kinds were read
	}
	kind.calls++
	measured := c.Took > 0 // zero is that of what was not measured, such as signing in
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
		m.tools[i].Times = timesOf(m.byTool[i])
	}
	for i := range m.buckets {
		m.buckets[i].Times = timesOf(m.byTime[i])
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

// timesOf measures durations; it changes their order.
func timesOf(micros []int64) Times {
	if len(micros) == 0 {
		return Times{}
	}
	rank := func(percent int) int { return (len(micros)*percent + 99) / 100 }
	p99, p95, p50 := rank(99), rank(95), rank(50)
	// Each leaves what is smaller to its left, so the next looks at less.
	at := func(within, rank int) time.Duration {
		return time.Duration(nth(micros[:within], rank-1)) * time.Microsecond
	}
	t := Times{P99: at(len(micros), p99)}
	t.P95 = at(p99, p95)
	t.P50 = at(p95, p50)
	return t
}

// nth puts the number that would be at k, if all were sorted, there, with no greater one
// before it and no smaller one after it. That takes a third of the time of sorting;
// numbers chosen to make it slow are sorted after all.
func nth(list []int64, k int) int64 {
	for rounds := 0; len(list) > 16 && rounds < 64; rounds++ {
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

// partition cuts a list of several in two, neither empty, so that no number before the cut
// is greater than any after it.
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
