package telemetry

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/procfs"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/semconv/v1.41.0/mcpconv"
	"go.opentelemetry.io/otel/trace"

	"remit/internal/engine/stats"
)

// Gauge is a number that its owner computes on demand.
type Gauge struct {
	Name, Unit, Help string
	// Value must be safe for concurrent use. It returns false if the number is unknown now.
	Value func(context.Context) (float64, bool)
}

// meter produces metrics from the counters of stats, which are faster than the instruments of the
// SDK and also serve the console and /metrics. The SDK does not apply its temporality to a
// producer, so meter does.
type meter struct {
	source      Source
	temporality sdkmetric.TemporalitySelector

	mu         sync.Mutex
	gauges     []Gauge
	exemplars  map[Operation]metricdata.Exemplar[float64]
	sent, last reading // what the collector has accepted; what was produced last
}

// reading holds the counters at one moment.
type reading struct {
	at       time.Time
	lines    []stats.Series
	sessions stats.Distribution
	cpu      [2]float64 // seconds in user mode and in system mode
	points   int
}

func newMeter(o *Options) *meter {
	return &meter{
		source: o.Source, temporality: o.Temporality, sent: reading{at: o.Started},
		exemplars: map[Operation]metricdata.Exemplar[float64]{},
	}
}

// remember keeps the latest call of each operation as its exemplar.
func (m *meter) remember(c *Call, o Operation, span trace.SpanContext) {
	traceID, spanID := span.TraceID(), span.SpanID()
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, known := m.exemplars[o]; known || len(m.exemplars) < stats.MaxSeries {
		took := max(c.Took, 0)
		m.exemplars[o] = metricdata.Exemplar[float64]{
			Time: c.Started.Add(took), Value: took.Seconds(), TraceID: traceID[:], SpanID: spanID[:],
		}
	}
}

// points returns how many points were produced last.
func (m *meter) points() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.last.points
}

// taken must be called when the collector has accepted what was produced last.
func (m *meter) taken() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sent = m.last
}

// Produce implements metric.Producer: it reads all counters. With delta temporality, it returns the
// difference to the last reading that the collector accepted, so that the next export includes the
// counts of a failed one.
func (m *meter) Produce(ctx context.Context) ([]metricdata.ScopeMetrics, error) {
	now := reading{at: m.source.Now()}
	if m.source.Stats != nil {
		now.lines, now.sessions = m.source.Stats.Snapshot(), m.source.Stats.Sessions()
	}
	m.mu.Lock()
	gauges, sent, exemplars := slices.Clone(m.gauges), m.sent, m.exemplars
	m.exemplars = map[Operation]metricdata.Exemplar[float64]{}
	m.mu.Unlock()
	s := &metricList{start: m.source.Started, now: now.at}
	s.counted(&now, &sent, m.temporality(sdkmetric.InstrumentKindHistogram), exemplars)
	for _, g := range gauges {
		if value, ok := g.Value(ctx); ok {
			s.gauge(g.Name, g.Unit, g.Help, value)
		}
	}
	s.runtime()
	s.process(&now, &sent, m.temporality(sdkmetric.InstrumentKindObservableCounter))
	now.points = s.points
	m.mu.Lock()
	m.last = now
	m.mu.Unlock()
	scope := instrumentation.Scope{Name: scopeName, Version: m.source.Version}
	return []metricdata.ScopeMetrics{{Scope: scope, Metrics: s.metrics}}, nil
}

// metricList collects metrics.
type metricList struct {
	start, now time.Time
	metrics    []metricdata.Metrics
	points     int
}

// add adds a metric, if it has points.
func (s *metricList) add(points int, name, unit, help string, data metricdata.Aggregation) {
	if points > 0 {
		s.metrics = append(s.metrics, metricdata.Metrics{Name: name, Unit: unit, Description: help, Data: data})
		s.points += points
	}
}

// counted adds the counters of stats.
func (s *metricList) counted(now, sent *reading, temporality metricdata.Temporality, exemplars map[Operation]metricdata.Exemplar[float64]) {
	lines, sessions, start := now.lines, now.sessions, s.start
	if temporality == metricdata.DeltaTemporality {
		lines, sessions, start = since(lines, sent.lines), difference(sessions, sent.sessions), sent.at
	}
	var took, lasted []metricdata.HistogramDataPoint[float64]
	order, distributions := Operations(lines)
	for _, o := range order {
		var attrs attributes
		attrs.addOperation(o)
		point := s.histogram(start, distributions[o], attrs)
		if exemplar, ok := exemplars[o]; ok {
			point.Exemplars = []metricdata.Exemplar[float64]{exemplar}
		}
		took = append(took, point)
	}
	if sessions.Total() > 0 {
		lasted = append(lasted, s.histogram(start, sessions, nil))
	}
	var calls []metricdata.DataPoint[int64]
	for _, l := range lines {
		if IsMethod(l.Tool) {
			continue
		}
		var attrs attributes
		set, tool := SplitTool(l.Tool)
		attrs.add("gen_ai.tool.name", tool)
		attrs.add("remit.outcome", l.Outcome)
		attrs.add("remit.toolset", set)
		calls = append(calls, point(start, s.now, int64(l.Calls), attrs...))
	}
	operation, session := mcpconv.ServerOperationDuration{}, mcpconv.ServerSessionDuration{}
	s.add(len(took), operation.Name(), operation.Unit(), "Duration of calls through all front ends.",
		metricdata.Histogram[float64]{Temporality: temporality, DataPoints: took})
	s.add(len(calls), "remit.calls", "{call}", "Tool calls by outcome: ok, replayed, asked, or the kind of failure.",
		metricdata.Sum[int64]{Temporality: temporality, IsMonotonic: true, DataPoints: calls})
	s.add(len(lasted), session.Name(), session.Unit(), "Duration of sessions that have ended.",
		metricdata.Histogram[float64]{Temporality: temporality, DataPoints: lasted})
}

func (s *metricList) histogram(start time.Time, d stats.Distribution, attrs attributes) metricdata.HistogramDataPoint[float64] {
	bounds := make([]float64, len(d.Bounds))
	for i, bound := range d.Bounds {
		bounds[i] = bound.Seconds()
	}
	return metricdata.HistogramDataPoint[float64]{
		Attributes: attribute.NewSet(attrs...), StartTime: start, Time: s.now,
		Count: d.Total(), Sum: d.Sum.Seconds(), Bounds: bounds, BucketCounts: d.Counts,
	}
}

func point[N int64 | float64](start, now time.Time, value N, attrs ...attribute.KeyValue) metricdata.DataPoint[N] {
	return metricdata.DataPoint[N]{Attributes: attribute.NewSet(attrs...), StartTime: start, Time: now, Value: value}
}

func (s *metricList) gauge(name, unit, help string, value float64) {
	s.add(1, name, unit, help, metricdata.Gauge[float64]{DataPoints: []metricdata.DataPoint[float64]{point(time.Time{}, s.now, value)}})
}

// level adds a number that grows and shrinks, and that can be summed over processes.
func (s *metricList) level(name, unit, help string, points ...metricdata.DataPoint[int64]) {
	s.add(len(points), name, unit, help, metricdata.Sum[int64]{Temporality: metricdata.CumulativeTemporality, DataPoints: points})
}

func (s *metricList) number(n int64, attrs ...attribute.KeyValue) metricdata.DataPoint[int64] {
	return point(s.start, s.now, n, attrs...)
}

// runtime adds metrics of the Go runtime.
func (s *metricList) runtime() {
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	s.gauge("process.uptime", "s", "Time since the program started.", s.now.Sub(s.start).Seconds())
	s.level("go.goroutine.count", "{goroutine}", "Number of goroutines.", s.number(int64(runtime.NumGoroutine())))
	s.level("go.memory.used", "By", "Memory that Go got from the system.",
		s.number(int64(memory.StackSys), attribute.String("go.memory.type", "stack")),
		s.number(int64(memory.Sys-memory.HeapReleased-memory.StackSys), attribute.String("go.memory.type", "other")))
}

// process adds metrics that Linux has about the process.
func (s *metricList) process(now, sent *reading, temporality metricdata.Temporality) {
	self, err := procfs.Self()
	if err != nil {
		return // not available on this system
	}
	if stat, err := self.Stat(); err == nil {
		const ticks = 100 // per second
		now.cpu = [2]float64{float64(stat.UTime) / ticks, float64(stat.STime) / ticks}
		start, before := s.start, [2]float64{}
		if temporality == metricdata.DeltaTemporality {
			start, before = sent.at, sent.cpu
		}
		s.add(2, "process.cpu.time", "s", "CPU time spent.", metricdata.Sum[float64]{
			Temporality: temporality, IsMonotonic: true, DataPoints: []metricdata.DataPoint[float64]{
				point(start, s.now, now.cpu[0]-before[0], attribute.String("cpu.mode", "user")),
				point(start, s.now, now.cpu[1]-before[1], attribute.String("cpu.mode", "system")),
			},
		})
		s.level("process.memory.usage", "By", "Resident memory.", s.number(int64(stat.ResidentMemory())))
	}
	if n, err := self.FileDescriptorsLen(); err == nil {
		s.level("process.unix.file_descriptor.count", "{file_descriptor}", "Open file descriptors.", s.number(int64(n)))
	}
}

// since returns the difference to an earlier reading of the same counters.
func since(now, before []stats.Series) []stats.Series {
	type key struct{ tool, outcome string }
	known := make(map[key]*stats.Series, len(before))
	for i := range before {
		known[key{before[i].Tool, before[i].Outcome}] = &before[i]
	}
	var changed []stats.Series
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
