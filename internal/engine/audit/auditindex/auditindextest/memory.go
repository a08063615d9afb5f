package auditindextest

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"remit/internal/engine/audit/auditindex"
)

// Memory is a Store in memory, for tests. Its zero value is ready to use.
type Memory struct {
	mu    sync.Mutex
	days  map[string]auditindex.DayProgress
	ids   map[auditindex.Kind]int64
	calls []auditindex.Call
}

var _ auditindex.Store = (*Memory)(nil)

// Open returns the store itself, for the field of an Index.
func (m *Memory) Open(context.Context) (auditindex.Store, error) { return m, nil }

// Days implements auditindex.Store.
func (m *Memory) Days(context.Context) (list []auditindex.DayProgress, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, d := range m.days {
		list = append(list, d)
	}
	return list, nil
}

// Append implements auditindex.Store.
func (m *Memory) Append(_ context.Context, b auditindex.Batch) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	d, known := m.days[b.Day]
	if d.Next != b.From {
		return false, nil
	}
	if m.days == nil {
		m.days, m.ids = map[string]auditindex.DayProgress{}, map[auditindex.Kind]int64{}
	}
	if !known {
		m.remove(b.Day)
	}
	m.days[b.Day] = auditindex.DayProgress{Day: b.Day, Next: b.To, Calls: d.Calls + len(b.Calls), Broken: d.Broken + b.Broken, Complete: true}
	for _, c := range b.Calls {
		if m.ids[c.Kind] == 0 {
			m.ids[c.Kind] = int64(len(m.ids) + 1)
		}
		c.KindID = m.ids[c.Kind]
		m.calls = append(m.calls, c)
	}
	return true, nil
}

func (m *Memory) remove(day string) {
	m.calls = slices.DeleteFunc(m.calls, func(c auditindex.Call) bool { return c.Day == day })
}

// Remove implements auditindex.Store.
func (m *Memory) Remove(_ context.Context, day string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.remove(day)
	delete(m.days, day)
	return nil
}

// Kinds implements auditindex.Store.
func (m *Memory) Kinds(context.Context) (map[int64]auditindex.KnownKind, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	kinds := map[int64]auditindex.KnownKind{}
	for kind, id := range m.ids {
		kinds[id] = auditindex.KnownKind{Kind: kind}
	}
	for i := range m.calls {
		known := kinds[m.calls[i].KindID]
		if byPosition(known.Last, m.calls[i].Position) < 0 {
			known.Last = m.calls[i].Position
		}
		kinds[m.calls[i].KindID] = known
	}
	return kinds, nil
}

// Newest implements auditindex.Store.
func (m *Memory) Newest(context.Context) (map[string]auditindex.Position, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	newest := map[string]auditindex.Position{}
	for i := range m.calls {
		if c := &m.calls[i]; c.Outcome == "ok" && byPosition(newest[c.Tool], c.Position) < 0 {
			newest[c.Tool] = c.Position
		}
	}
	return newest, nil
}

func byPosition(a, b auditindex.Position) int {
	return cmp.Or(cmp.Compare(a.Day, b.Day), cmp.Compare(a.Offset, b.Offset))
}

// Counts implements auditindex.Store.
func (m *Memory) Counts(_ context.Context, from time.Time) (map[int64]int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	counts := map[int64]int{}
	for i := range m.calls {
		if !m.calls[i].Time.Before(from) {
			counts[m.calls[i].KindID]++
		}
	}
	return counts, nil
}

// First implements auditindex.Store.
func (m *Memory) First(_ context.Context, kinds []int64) (first time.Time, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range m.calls {
		if !slices.Contains(kinds, m.calls[i].KindID) {
			continue
		}
		if first.IsZero() || m.calls[i].Time.Before(first) {
			first = m.calls[i].Time
		}
	}
	return first, nil
}

// Page implements auditindex.Store.
func (m *Memory) Page(_ context.Context, q auditindex.Query) ([]auditindex.Call, error) {
	found := m.find(q)
	slices.SortFunc(found, func(a, b auditindex.Call) int { return byPosition(a.Position, b.Position) })
	if !q.OldestFirst {
		slices.Reverse(found)
	}
	found = found[:min(q.Limit, len(found))]
	for i := range found {
		found[i].Kind = auditindex.Kind{}
	}
	return found, nil
}

func (m *Memory) find(q auditindex.Query) (found []auditindex.Call) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range m.calls {
		c := m.calls[i]
		if slices.Contains(q.Kinds, c.KindID) && !c.Time.Before(q.From) && (q.To.IsZero() || c.Time.Before(q.To)) &&
			byPosition(c.Position, q.After) > 0 && (q.Before.Day == "" || byPosition(c.Position, q.Before) < 0) {
			found = append(found, c)
		}
	}
	return found
}

// Times implements auditindex.Store.
func (m *Memory) Times(_ context.Context, q auditindex.Query, visit func(auditindex.CallDuration)) error {
	q.After, q.Before = auditindex.Position{}, auditindex.Position{}
	for _, c := range m.find(q) {
		visit(auditindex.CallDuration{At: c.Time.UnixMicro(), Kind: c.KindID, Took: c.Took.Microseconds()})
	}
	return nil
}

// Cells implements auditindex.Store. Each call is a cell of its own.
func (m *Memory) Cells(_ context.Context, width time.Duration, from, to time.Time, visit func(auditindex.Cell)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range m.calls {
		c := &m.calls[i]
		if at := c.Time.Truncate(width); !at.Before(from) && at.Before(to) {
			visit(auditindex.Cell{At: at.UnixMicro(), Kind: c.KindID, Step: auditindex.StepOf(c.Took), Calls: 1})
		}
	}
	return nil
}
