package otlp

import (
	"log/slog"
	"time"

	"remit/internal/engine/telemetry"
)

// envelope is what every request has around its things: the resource, and the scope
// that they come from.
type envelope struct {
	resource []slog.Attr
	version  string // of the program, which is the scope
}

// scopeName says who observed: the program itself.
const scopeName = "remit"

// wrap writes a request. The three signals number these fields alike.
func (e *envelope) wrap(s sheet, signal *signal, things func()) {
	s.messages(field{1, signal.resources}, 1, func(int) {
		s.message(field{1, "resource"}, func() { attributes(s, field{1, "attributes"}, e.resource) })
		s.messages(field{2, signal.scopes}, 1, func(int) {
			s.message(field{1, "scope"}, func() {
				s.text(field{1, "name"}, scopeName)
				s.text(field{2, "version"}, e.version)
			})
			things()
		})
	})
}

func (e *envelope) spans(s sheet, spans []telemetry.Span) {
	e.wrap(s, &traces, func() {
		s.messages(field{2, "spans"}, len(spans), func(i int) { span(s, &spans[i]) })
	})
}

func (e *envelope) logs(s sheet, records []telemetry.Record) {
	e.wrap(s, &logs, func() {
		s.messages(field{2, "logRecords"}, len(records), func(i int) { record(s, &records[i]) })
	})
}

func (e *envelope) metrics(s sheet, all []telemetry.Metric) {
	e.wrap(s, &metrics, func() {
		s.messages(field{2, "metrics"}, len(all), func(i int) { metric(s, &all[i]) })
	})
}

// attributes writes pairs. Values are of the kinds that telemetry promises.
func attributes(s sheet, f field, attrs []slog.Attr) {
	if len(attrs) == 0 {
		return
	}
	s.messages(f, len(attrs), func(i int) {
		s.text(field{1, "key"}, attrs[i].Key)
		s.message(field{2, "value"}, func() { value(s, attrs[i].Value) })
	})
}

func value(s sheet, v slog.Value) {
	switch v.Kind() {
	case slog.KindBool:
		s.truth(field{2, "boolValue"}, v.Bool())
	case slog.KindInt64:
		s.whole(field{3, "intValue"}, v.Int64())
	case slog.KindFloat64:
		s.fraction(field{4, "doubleValue"}, v.Float64())
	default:
		s.text(field{1, "stringValue"}, v.String())
	}
}

func stamp(s sheet, f field, at time.Time) { s.fixed64(f, max(at.UnixNano(), 0)) }

// Numbers of the protocol.
const (
	kindServer    = 2
	statusError   = 2
	hasRemote     = 0x100 // the flag that says whether the parent's place is known
	parentRemote  = 0x200 // the parent is in another program
	deltaPoints   = 1
	allPoints     = 2
	infoSeverity  = 9 // that of slog's level 0
	severityLimit = 24
)

func span(s sheet, v *telemetry.Span) {
	s.id(field{1, "traceId"}, v.Trace[:])
	s.id(field{2, "spanId"}, v.ID[:])
	if v.State != "" {
		s.text(field{3, "traceState"}, v.State)
	}
	flags := uint32(v.Flags) | hasRemote
	if v.Parent != (telemetry.SpanID{}) {
		s.id(field{4, "parentSpanId"}, v.Parent[:])
		flags |= parentRemote
	}
	s.text(field{5, "name"}, v.Name)
	s.small(field{6, "kind"}, kindServer)
	stamp(s, field{7, "startTimeUnixNano"}, v.Start)
	stamp(s, field{8, "endTimeUnixNano"}, v.End)
	attributes(s, field{9, "attributes"}, v.Attrs)
	if v.Failed {
		s.message(field{15, "status"}, func() { s.small(field{3, "code"}, statusError) })
	}
	s.fixed32(field{16, "flags"}, flags)
}

func record(s sheet, r *telemetry.Record) {
	stamp(s, field{1, "timeUnixNano"}, r.Time)
	severity := min(max(int(r.Level)+infoSeverity, 1), severityLimit)
	s.small(field{2, "severityNumber"}, uint32(severity))
	s.text(field{3, "severityText"}, r.Level.String())
	s.message(field{5, "body"}, func() { s.text(field{1, "stringValue"}, r.Body) })
	attributes(s, field{6, "attributes"}, r.Attrs)
	if r.Trace != (telemetry.TraceID{}) {
		s.fixed32(field{8, "flags"}, uint32(r.Flags))
		s.id(field{9, "traceId"}, r.Trace[:])
		s.id(field{10, "spanId"}, r.Span[:])
	}
	stamp(s, field{11, "observedTimeUnixNano"}, r.Time)
}

func metric(s sheet, m *telemetry.Metric) {
	s.text(field{1, "name"}, m.Name)
	s.text(field{2, "description"}, m.Help)
	s.text(field{3, "unit"}, m.Unit)
	temporality := uint32(allPoints)
	if m.Delta {
		temporality = deltaPoints
	}
	points := func(one func(sheet, *telemetry.Point)) {
		s.messages(field{1, "dataPoints"}, len(m.Points), func(i int) { one(s, &m.Points[i]) })
	}
	switch m.Kind {
	case telemetry.KindHistogram:
		s.message(field{9, "histogram"}, func() {
			points(distribution)
			s.small(field{2, "aggregationTemporality"}, temporality)
		})
	case telemetry.KindCounter, telemetry.KindLevel:
		s.message(field{7, "sum"}, func() {
			points(number)
			s.small(field{2, "aggregationTemporality"}, temporality)
			s.truth(field{3, "isMonotonic"}, m.Kind == telemetry.KindCounter)
		})
	default:
		s.message(field{5, "gauge"}, func() { points(number) })
	}
}

func number(s sheet, p *telemetry.Point) {
	if !p.Start.IsZero() {
		stamp(s, field{2, "startTimeUnixNano"}, p.Start)
	}
	stamp(s, field{3, "timeUnixNano"}, p.Time)
	if p.Value.Kind() == slog.KindInt64 {
		s.fixed64(field{6, "asInt"}, p.Value.Int64())
	} else {
		s.fraction(field{4, "asDouble"}, p.Value.Float64())
	}
	attributes(s, field{7, "attributes"}, p.Attrs)
}

func distribution(s sheet, p *telemetry.Point) {
	stamp(s, field{2, "startTimeUnixNano"}, p.Start)
	stamp(s, field{3, "timeUnixNano"}, p.Time)
	s.fixed64(field{4, "count"}, int64(p.Took.Total()))
	s.fraction(field{5, "sum"}, p.Took.Sum.Seconds())
	s.fixed64s(field{6, "bucketCounts"}, p.Took.Counts)
	bounds := make([]float64, len(p.Took.Bounds))
	for i, bound := range p.Took.Bounds {
		bounds[i] = bound.Seconds()
	}
	s.fractions(field{7, "explicitBounds"}, bounds)
	if e := p.Exemplar; e != nil {
		s.messages(field{8, "exemplars"}, 1, func(int) {
			stamp(s, field{2, "timeUnixNano"}, e.Time)
			s.fraction(field{3, "asDouble"}, e.Took.Seconds())
			s.id(field{4, "spanId"}, e.Span[:])
			s.id(field{5, "traceId"}, e.Trace[:])
		})
	}
	attributes(s, field{9, "attributes"}, p.Attrs)
}
