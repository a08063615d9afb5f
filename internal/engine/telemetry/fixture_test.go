package telemetry_test

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"remit/internal/engine/stats"
	"remit/internal/engine/telemetry"
)

// sink stores what is exported, unless fail returns an error.
type sink struct {
	mu      sync.Mutex
	batches []tracetest.SpanStubs
	records []sdklog.Record
	metrics [][]metricdata.Metrics
	scopes  []metricdata.ScopeMetrics
	tries   int
	fail    func(ctx context.Context, try int) error // nil: never
	warned  text                                     // the log
	stats   stats.Stats
}

// text is a buffer that can be read while it is written.
type text struct {
	mu  sync.Mutex
	all []byte
}

func (x *text) Write(p []byte) (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.all = append(x.all, p...)
	return len(p), nil
}

func (x *text) String() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return string(x.all)
}

func (s *sink) try(ctx context.Context, keep func()) error {
	s.mu.Lock()
	s.tries++
	try := s.tries
	s.mu.Unlock()
	if s.fail != nil {
		if err := s.fail(ctx, try); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	keep()
	return nil
}

type spanSink struct{ *sink }

func (s spanSink) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	return s.try(ctx, func() { s.batches = append(s.batches, tracetest.SpanStubsFromReadOnlySpans(spans)) })
}

func (spanSink) Shutdown(context.Context) error { return nil }

type logSink struct{ *sink }

func (s logSink) Export(ctx context.Context, records []sdklog.Record) error {
	return s.try(ctx, func() {
		for i := range records {
			s.records = append(s.records, records[i].Clone())
		}
	})
}

func (logSink) Shutdown(context.Context) error { return nil }

func (logSink) ForceFlush(context.Context) error { return nil }

type metricSink struct{ *sink }

func (s metricSink) Export(ctx context.Context, all *metricdata.ResourceMetrics) error {
	return s.try(ctx, func() {
		s.scopes = append(s.scopes, all.ScopeMetrics...)
		s.metrics = append(s.metrics, all.ScopeMetrics[0].Metrics)
	})
}

func (metricSink) Temporality(kind sdkmetric.InstrumentKind) metricdata.Temporality {
	return sdkmetric.CumulativeTemporalitySelector(kind) // telemetry uses its own preference
}

func (metricSink) Aggregation(kind sdkmetric.InstrumentKind) sdkmetric.Aggregation {
	return sdkmetric.DefaultAggregationSelector(kind)
}

func (metricSink) Shutdown(context.Context) error { return nil }

func (metricSink) ForceFlush(context.Context) error { return nil }

// options returns options that export all signals to the sink.
func (s *sink) options(env map[string]string) telemetry.Options {
	reader := &telemetry.Env{Lookup: lookup(env), Warn: func(string, string) {}}
	return telemetry.Options{
		Config: telemetry.ReadConfig(reader, "1.2.3", "here"),
		Spans:  spanSink{s}, Logs: logSink{s}, Metrics: metricSink{s},
		Source: telemetry.Source{
			Version: "1.2.3", Started: time.Now(), Stats: &s.stats, Now: time.Now, Log: slog.New(slog.NewTextHandler(&s.warned, nil)),
		},
	}
}

// start starts telemetry that exports only spans.
func (s *sink) start(t *testing.T, env map[string]string) *telemetry.Telemetry {
	t.Helper()
	o := s.options(env)
	o.Logs, o.Metrics = nil, nil
	return telemetry.New(o)
}

// sent returns the exported batches.
func (s *sink) sent() []tracetest.SpanStubs {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.batches
}

// spans returns all exported spans.
func (s *sink) spans() tracetest.SpanStubs { return slices.Concat(s.sent()...) }

func lookup(env map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		value, ok := env[name]
		return value, ok
	}
}

// call records a call that has just ended.
func call(t *telemetry.Telemetry, parent string, change ...func(*telemetry.Call)) {
	c := telemetry.Call{
		Method: "tools/call", Tool: "demo/look", Outcome: "ok", Version: "1.0.0", Caller: "ada", Frontend: "stdio",
		Started: time.Now(), Took: time.Millisecond, Bytes: 12,
	}
	for _, f := range change {
		f(&c)
	}
	t.End(t.Begin(context.Background(), parent), &c)
}

// attrs returns attributes by key, as text.
func attrs(list []attribute.KeyValue) map[string]string {
	all := map[string]string{}
	for _, a := range list {
		all[string(a.Key)] = a.Value.String()
	}
	return all
}

// recordAttrs returns the attributes of a record.
func recordAttrs(r sdklog.Record) map[string]string {
	var list []attribute.KeyValue
	r.WalkAttributes(func(a attribute.KeyValue) bool {
		list = append(list, a)
		return true
	})
	return attrs(list)
}
