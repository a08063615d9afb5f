// Package telemetry tells what calls came to, as spans, metrics and records of
// OpenTelemetry, to whoever exports them; no call waits for that.
package telemetry

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"remit/internal/engine/stats"
)

// Call is one call of a tool, reading of a resource or start of a prompt that has
// ended. Arguments and messages, which may quote them, are not part of it.
type Call struct {
	Method     string // of MCP, whichever face it came in by: tools/call, resources/read, prompts/get
	Tool       string // set/name of a tool, or the name of a prompt; "" for a resource
	Outcome    string // ok, asked, replayed, or the kind of failure
	Version    string // of the contract
	Caller     string // who called
	Face       string // the face it came in by
	Client     string // how the client names itself
	Connection string // tells the connection from others; never the id of a session, which is a secret
	Err        string // the code of the error in the words of its set, if there is one
	Started    time.Time
	Took       time.Duration
	Bytes      int // of the answer
}

// Options are what telemetry stands on. An exporter that is nil switches its signal off;
// one that fails with a RetryError is asked again.
type Options struct {
	Config
	Spans   func(context.Context, []Span) error
	Logs    func(context.Context, []Record) error
	Metrics func(context.Context, []Metric) error
	Source
}

// Source is what there is to tell of.
type Source struct {
	Version string    // of the program
	Started time.Time // when the program started
	Stats   *stats.Stats
	Now     func() time.Time
	Random  func() uint64 // for ids, and how long to wait before another try
	Log     *slog.Logger  // is told what was lost; not one that Tee gave
}

// Telemetry is told of calls, and tells exporters of them in the background. A nil
// one is off and costs nothing.
type Telemetry struct {
	sampler Sampler
	random  func() uint64
	secrets *secrets
	limit   int // characters of a value; 0 is no limit

	spans   *pipeline[ended]
	logs    *pipeline[Record]
	metrics *meter

	stop    context.CancelFunc
	working sync.WaitGroup
}

// New starts telemetry. Close ends it.
func New(o Options) *Telemetry {
	ctx, stop := context.WithCancel(context.Background())
	t := &Telemetry{sampler: o.Sampler, random: o.Random, secrets: newSecrets(), limit: o.ValueLimit, stop: stop}
	if o.Spans != nil {
		export := o.Spans
		t.spans = newPipeline("traces", o.Source, o.Config.Spans, func(ctx context.Context, calls []ended) error {
			return export(ctx, t.spansOf(calls))
		})
		t.working.Go(func() { t.spans.run(ctx) })
	}
	if o.Logs != nil {
		t.logs = newPipeline("logs", o.Source, o.Config.Logs, o.Logs)
		t.working.Go(func() { t.logs.run(ctx) })
	}
	if o.Metrics != nil {
		t.metrics = newMeter(o)
		t.working.Go(func() { t.metrics.run(ctx) })
	}
	return t
}

// ended is a call that waits to be exported as a span.
type ended struct {
	Call
	place place
}

func (e ended) size() int {
	const fixed = 400 // the struct, and attributes of a fixed length
	return fixed + len(e.Tool) + len(e.Caller) + len(e.Client) + len(e.Connection) + len(e.Err) + len(e.place.state)
}

// Begin gives what follows in a context a place in a trace: that of the caller, by what
// Parent gave, or a new one. If telemetry is off it gives the context back.
func (t *Telemetry) Begin(ctx context.Context, parent string) context.Context {
	if t == nil {
		return ctx
	}
	return context.WithValue(ctx, placeKey{}, t.placeIn(parent))
}

// Called is told of a call that has ended, in a context that Begin gave. It does not wait.
func (t *Telemetry) Called(ctx context.Context, c *Call) {
	if t == nil || t.spans == nil {
		return
	}
	p, ok := placeOf(ctx)
	if !ok || !p.sampled {
		return
	}
	t.spans.add(ended{*c, p})
	if t.metrics != nil {
		t.metrics.remember(c, p)
	}
}

// Watch has a number exported with the metrics, from now on.
func (t *Telemetry) Watch(g Gauge) {
	if t != nil && t.metrics != nil {
		t.metrics.watch(g)
	}
}

// flushTime is how long the last exports may take.
const flushTime = 5 * time.Second

// Close exports what is left, as far as that can be done in some seconds.
func (t *Telemetry) Close() {
	if t == nil {
		return
	}
	t.spans.close()
	t.logs.close()
	t.metrics.close()
	late := time.AfterFunc(flushTime, t.stop)
	t.working.Wait()
	late.Stop()
	t.stop()
}
