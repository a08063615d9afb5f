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
	byTool, byTime  sample
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
	return m
}

func (m *measure) add(c Timed) {
	kind := m.kinds[c.Kind]
	if kind == nil {
		return // it appeared after the kinds were read
	}
	kind.calls++
	m.byTool.add(kind.tool, c.Took)
	if len(m.buckets) == 0 || c.At < m.from || c.At >= m.to {
		return
	}
	at := int((c.At - m.from) / m.width)
	m.buckets[at].Calls++
	if kind.failed {
		m.buckets[at].Failures++
	}
	m.byTime.add(at, c.Took)
}

func (m *measure) result() ([]Tool, []Bucket) {
	for _, kind := range m.kinds {
		tool := &m.tools[kind.tool]
		tool.Calls += kind.calls
		if kind.failed && kind.calls > 0 {
			tool.fail(kind.outcome, kind.calls)
		}
	}
	m.byTool.times(func(group int, t Times) { m.tools[group].Times = t })
	m.byTime.times(func(group int, t Times) { m.buckets[group].Times = t })
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

// sample holds durations in microseconds, each with its group in the upper bits.
type sample []uint64

const tookBits = 44 // half a year

// add adds a duration; zero is that of what was not measured, such as signing in.
func (s *sample) add(group int, micros int64) {
	if micros > 0 {
		*s = append(*s, uint64(group)<<tookBits|uint64(min(micros, 1<<tookBits-1)))
	}
}

// times measures each group.
func (s sample) times(each func(group int, t Times)) {
	slices.Sort(s)
	for len(s) > 0 {
		group := s[0] >> tookBits
		n, _ := slices.BinarySearch(s, (group+1)<<tookBits)
		at := func(percent int) time.Duration {
			return time.Duration(s[(n*percent+99)/100-1]&(1<<tookBits-1)) * time.Microsecond
		}
		each(int(group), Times{at(50), at(95), at(99)})
		s = s[n:]
	}
}
