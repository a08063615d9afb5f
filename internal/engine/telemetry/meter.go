package telemetry

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync"
	"time"

	"remit/internal/engine/stats"
)

// Gauge is a number that somebody else keeps, and gives when it is asked for.
type Gauge struct {
	Name, Unit, Help string
	// Value must be safe for concurrent use; it is false if the number cannot be had now.
	Value func(context.Context) (float64, bool)
}

// meter exports numbers from time to time.
type meter struct {
	every, timeout time.Duration
	temporality    Temporality
	export         func(context.Context, []Metric) error
	source         Source
	losses         *losses
	closing        chan struct{}
	once           sync.Once

	mu        sync.Mutex
	gauges    []Gauge
	exemplars map[Operation]Exemplar

	sent reading // what the collector has heard of, if it wants differences
}

// reading is what was counted at some moment.
type reading struct {
	at       time.Time
	lines    []stats.Line
	sessions stats.Distribution
	process  stats.Process
}

func newMeter(o Options) *meter {
	return &meter{
		every: o.Every, timeout: o.MetricTimeout, temporality: o.Temporality, export: o.Metrics, source: o.Source,
		losses: &losses{signal: "metrics", log: o.Log, now: o.Now}, closing: make(chan struct{}),
		exemplars: map[Operation]Exemplar{}, sent: reading{at: o.Started},
	}
}

// run exports until close, and then once more.
func (m *meter) run(ctx context.Context) {
	ticker := time.NewTicker(m.every)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			m.send(ctx)
			m.losses.tell(false)
		case <-m.closing:
			m.send(ctx)
			m.losses.tell(true)
			return
		}
	}
}

func (m *meter) close() {
	if m != nil {
		m.once.Do(func() { close(m.closing) })
	}
}

func (m *meter) watch(g Gauge) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.gauges = append(m.gauges, g)
}

// remember keeps the latest call of each operation as an example of it.
func (m *meter) remember(c *Call, p place) {
	operation := c.operation()
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, known := m.exemplars[operation]; known || len(m.exemplars) < stats.MaxSeries {
		m.exemplars[operation] = Exemplar{Time: c.Started.Add(c.Took), Took: max(c.Took, 0), Trace: p.trace, Span: p.span}
	}
}

// send reads everything and exports it. Differences are to what was last exported, so
// that one which was lost is part of the next. What a collector refused for good is not
// sent again: it took the rest.
func (m *meter) send(ctx context.Context) {
	now := reading{at: m.source.Now(), process: stats.ReadProcess(os.DirFS("/proc/self"))}
	if m.source.Stats != nil {
		now.lines, now.sessions = m.source.Stats.Snapshot(), m.source.Stats.Sessions()
	}
	metrics := m.metrics(ctx, &now)
	err := persist(ctx, m.timeout, m.closing, m.source.Random, func(ctx context.Context) error { return m.export(ctx, metrics) })
	points := 0
	for i := range metrics {
		points += len(metrics[i].Points)
	}
	m.losses.countError(points, err)
	var rejected *RejectedError
	if err == nil || errors.As(err, &rejected) {
		m.sent = now
	}
}

// takeExemplars gives the examples since the last time.
func (m *meter) takeExemplars() map[Operation]Exemplar {
	m.mu.Lock()
	defer m.mu.Unlock()
	taken := m.exemplars
	m.exemplars = map[Operation]Exemplar{}
	return taken
}

func (m *meter) watched() []Gauge {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.gauges)
}

// since gives what was counted after another reading of the same counters.
func since(now, before []stats.Line) []stats.Line {
	type key struct{ tool, outcome string }
	known := make(map[key]*stats.Line, len(before))
	for i := range before {
		known[key{before[i].Tool, before[i].Outcome}] = &before[i]
	}
	var changed []stats.Line
	for _, l := range now {
		if old := known[key{l.Tool, l.Outcome}]; old != nil {
			l.Took, l.Calls = difference(l.Took, old.Took), l.Calls-old.Calls
		}
		if l.Calls > 0 {
			changed = append(changed, l)
		}
	}
	return changed
}

func difference(now, before stats.Distribution) stats.Distribution {
	now.Counts = slices.Clone(now.Counts)
	for i, n := range before.Counts {
		now.Counts[i] -= n
	}
	now.Sum -= before.Sum
	return now
}
