package telemetry_test

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"remit/internal/engine/stats"
	"remit/internal/engine/telemetry"
)

// sink keeps what is exported, unless fail says otherwise.
type sink struct {
	mu      sync.Mutex
	batches [][]telemetry.Span
	records []telemetry.Record
	metrics [][]telemetry.Metric
	tries   int
	fail    func(ctx context.Context, try int) error // nil: never
	told    text                                     // what the log was told
	stats   stats.Stats
}

// text is one that may be read while it is written.
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

// options export all signals to the sink.
func (s *sink) options(env map[string]string) telemetry.Options {
	random := rand.New(rand.NewPCG(1, 2))
	var mu sync.Mutex
	reader := &telemetry.Env{Lookup: lookup(env), Warn: func(string, string) {}}
	return telemetry.Options{
		Config: telemetry.ReadConfig(reader, "1.2.3", "here"),
		Spans: func(ctx context.Context, spans []telemetry.Span) error {
			return s.try(ctx, func() { s.batches = append(s.batches, spans) })
		},
		Logs: func(ctx context.Context, records []telemetry.Record) error {
			return s.try(ctx, func() { s.records = append(s.records, records...) })
		},
		Metrics: func(ctx context.Context, metrics []telemetry.Metric) error {
			return s.try(ctx, func() { s.metrics = append(s.metrics, metrics) })
		},
		Source: telemetry.Source{
			Version: "1.2.3", Started: time.Now(), Stats: &s.stats, Now: time.Now,
			Random: func() uint64 { mu.Lock(); defer mu.Unlock(); return random.Uint64() },
			Log:    slog.New(slog.NewTextHandler(&s.told, nil)),
		},
	}
}

// start exports spans alone.
func (s *sink) start(t *testing.T, env map[string]string) *telemetry.Telemetry {
	t.Helper()
	o := s.options(env)
	o.Logs, o.Metrics = nil, nil
	return telemetry.New(o)
}

// sent are the batches that have come.
func (s *sink) sent() [][]telemetry.Span {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.batches
}

// spans are all that have come.
func (s *sink) spans() []telemetry.Span { return slices.Concat(s.sent()...) }

func lookup(env map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		value, ok := env[name]
		return value, ok
	}
}

// call makes a call that has just ended.
func call(t *telemetry.Telemetry, parent string, change ...func(*telemetry.Call)) {
	c := telemetry.Call{
		Method: "tools/call", Tool: "demo/look", Outcome: "ok", Version: "1.0.0", Caller: "ada", Face: "stdio",
		Started: time.Now(), Took: time.Millisecond, Bytes: 12,
	}
	for _, f := range change {
		f(&c)
	}
	t.Called(t.Begin(context.Background(), parent), &c)
}

// attrs are attributes by key, as text.
func attrs(list []slog.Attr) map[string]string {
	all := map[string]string{}
	for _, a := range list {
		all[a.Key] = a.Value.String()
	}
	return all
}
