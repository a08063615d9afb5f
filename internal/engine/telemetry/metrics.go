package telemetry

import (
	"context"
	"log/slog"
	"runtime"
	"time"

	"remit/internal/engine/stats"
)

// Kind is what the points of a metric are.
type Kind int

// The kinds of metrics.
const (
	KindGauge     Kind = iota // a number as it is now
	KindCounter               // one that only grows
	KindLevel                 // one that grows and shrinks, and can be summed up over programs
	KindHistogram             // how long things took
)

// Metric is one metric with all its points.
type Metric struct {
	Name, Unit, Help string
	Kind             Kind
	Delta            bool // the points are differences to those before
	Points           []Point
}

// Point is one number, or one distribution.
type Point struct {
	Attrs       []slog.Attr
	Start, Time time.Time
	Value       slog.Value         // a whole number or a fraction
	Took        stats.Distribution // of a histogram
	Exemplar    *Exemplar          // a call that was counted in Took; nil if none is known
}

// Exemplar is an example of what was counted, that can be looked up as a trace.
type Exemplar struct {
	Time  time.Time
	Took  time.Duration
	Trace TraceID
	Span  SpanID
}

// Temporality is which counters are exported as differences.
type Temporality int

// The preferences of OpenTelemetry.
const (
	Cumulative Temporality = iota
	Delta                  // all that only grow
	LowMemory              // those that we count, not those that the system counts for us
)

// metrics words a reading.
func (m *meter) metrics(ctx context.Context, now *reading) []Metric {
	lines, sessions, start := now.lines, now.sessions, m.source.Started
	delta := m.temporality != Cumulative
	if delta {
		lines, sessions, start = since(lines, m.sent.lines), difference(sessions, m.sent.sessions), m.sent.at
	}
	interval := interval{start: start, now: now.at, delta: delta}
	metrics := []Metric{
		interval.operations(lines, m.takeExemplars()),
		interval.calls(lines),
		interval.sessions(sessions),
	}
	for _, g := range m.watched() {
		if value, ok := g.Value(ctx); ok {
			metrics = append(metrics, Metric{Name: g.Name, Unit: g.Unit, Help: g.Help, Points: []Point{{Time: now.at, Value: slog.Float64Value(value)}}})
		}
	}
	metrics = append(metrics, m.process(now)...)
	kept := metrics[:0]
	for _, metric := range metrics {
		if len(metric.Points) > 0 {
			kept = append(kept, metric)
		}
	}
	return kept
}

// interval is what points of counters cover.
type interval struct {
	start, now time.Time
	delta      bool
}

func (i interval) operations(lines []stats.Line, exemplars map[Operation]Exemplar) Metric {
	metric := Metric{
		Name: "mcp.server.operation.duration", Unit: "s", Kind: KindHistogram, Delta: i.delta,
		Help: "How long calls took, whichever face they came in by.",
	}
	order, took := Operations(lines)
	for _, o := range order {
		attrs := appendText([]slog.Attr{slog.String("mcp.method.name", o.Method)}, "gen_ai.operation.name", o.Name)
		attrs = appendText(appendText(attrs, "gen_ai.tool.name", o.Tool), "error.type", o.Error)
		point := Point{Attrs: attrs, Start: i.start, Time: i.now, Took: took[o]}
		if example, ok := exemplars[o]; ok {
			point.Exemplar = &example
		}
		metric.Points = append(metric.Points, point)
	}
	return metric
}

func (i interval) calls(lines []stats.Line) Metric {
	metric := Metric{
		Name: "remit.calls", Unit: "{call}", Kind: KindCounter, Delta: i.delta,
		Help: "Calls of tools by what they came to: ok, replayed, asked, or the kind of failure.",
	}
	for _, l := range lines {
		if IsMethod(l.Tool) {
			continue
		}
		set, tool := SplitTool(l.Tool)
		attrs := appendText([]slog.Attr{slog.String("gen_ai.tool.name", tool), slog.String("remit.outcome", l.Outcome)}, "remit.toolset", set)
		metric.Points = append(metric.Points, Point{Attrs: attrs, Start: i.start, Time: i.now, Value: slog.Int64Value(int64(l.Calls))})
	}
	return metric
}

func (i interval) sessions(lasted stats.Distribution) Metric {
	metric := Metric{
		Name: "mcp.server.session.duration", Unit: "s", Kind: KindHistogram, Delta: i.delta,
		Help: "How long sessions that have ended lasted.",
	}
	if lasted.Total() > 0 {
		metric.Points = []Point{{Start: i.start, Time: i.now, Took: lasted}}
	}
	return metric
}

// process tells of the program itself, as far as the system does.
func (m *meter) process(now *reading) []Metric {
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	level := func(name, unit, help string, value int64, attrs ...slog.Attr) Metric {
		return Metric{Name: name, Unit: unit, Help: help, Kind: KindLevel, Points: []Point{{Attrs: attrs, Start: m.source.Started, Time: now.at, Value: slog.Int64Value(value)}}}
	}
	used := level("go.memory.used", "By", "Memory that Go has from the system.", int64(memory.StackSys), slog.String("go.memory.type", "stack"))
	other := used.Points[0]
	other.Attrs, other.Value = []slog.Attr{slog.String("go.memory.type", "other")}, slog.Int64Value(int64(memory.Sys-memory.HeapReleased-memory.StackSys))
	used.Points = append(used.Points, other)
	metrics := []Metric{
		{
			Name: "process.uptime", Unit: "s", Help: "How long the program has run.",
			Points: []Point{{Time: now.at, Value: slog.Float64Value(now.at.Sub(m.source.Started).Seconds())}},
		},
		level("go.goroutine.count", "{goroutine}", "Goroutines there are now.", int64(runtime.NumGoroutine())),
		used,
	}
	if now.process.Known {
		metrics = append(metrics, m.cpu(now), level("process.memory.usage", "By", "Memory that is in RAM.", now.process.Resident))
	}
	if now.process.OpenFiles >= 0 {
		metrics = append(metrics, level("process.unix.file_descriptor.count", "{file_descriptor}", "Open file descriptors.", int64(now.process.OpenFiles)))
	}
	return metrics
}

func (m *meter) cpu(now *reading) Metric {
	metric := Metric{Name: "process.cpu.time", Unit: "s", Help: "CPU time spent.", Kind: KindCounter, Delta: m.temporality == Delta}
	start, before := m.source.Started, stats.Process{}
	if metric.Delta {
		start, before = m.sent.at, m.sent.process
	}
	for _, mode := range []struct {
		name    string
		seconds float64
	}{{"user", now.process.User - before.User}, {"system", now.process.System - before.System}} {
		metric.Points = append(metric.Points, Point{
			Attrs: []slog.Attr{slog.String("cpu.mode", mode.name)}, Start: start, Time: now.at, Value: slog.Float64Value(mode.seconds),
		})
	}
	return metric
}
