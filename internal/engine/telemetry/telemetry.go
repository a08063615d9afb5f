// Package telemetry passes spans, metrics and log records of calls to OpenTelemetry exporters. No
// call waits for an export. The exporters themselves come from the caller.
package telemetry

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/contrib/bridges/otelslog"
	"go.opentelemetry.io/otel"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"remit/internal/engine/stats"
)

// Options configure New. A nil exporter disables its signal.
type Options struct {
	Config
	Spans   sdktrace.SpanExporter
	Logs    sdklog.Exporter
	Metrics sdkmetric.Exporter
	Release func()   // called when the exporters are no longer used; may be nil
	Secrets []string // removed from errors before they are logged
	Source
}

// Source is where the data comes from.
type Source struct {
	Version string    // of the program
	Started time.Time // when the program started
	Stats   *stats.Stats
	Now     func() time.Time
	Log     *slog.Logger // receives warnings about lost data; must not be one that Tee returned
}

// Telemetry records calls and exports them in the background. A nil *Telemetry is off and costs
// nothing.
type Telemetry struct {
	tracer  trace.Tracer
	now     func() time.Time
	spans   bool         // spans are exported
	export  slog.Handler // nil if logs are not exported
	meter   *meter       // nil if metrics are not exported
	secrets *secrets

	outboxes  []*outbox
	shutdowns []func(context.Context) error
	stop      context.CancelFunc
	release   func()
}

// scopeName is the name of the instrumentation scope.
const scopeName = "remit"

// New starts telemetry. The caller must call Close.
func New(o Options) *Telemetry {
	ctx, stop := context.WithCancel(context.Background())
	t := &Telemetry{now: o.Now, secrets: newSecrets(), stop: stop, release: o.Release}
	t.startSpans(ctx, &o)
	if o.Logs != nil {
		t.startLogs(ctx, &o)
	}
	if o.Metrics != nil {
		t.startMetrics(ctx, &o)
	}
	// Outboxes count failed exports, which do not get here.
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		if !errors.Is(err, context.Canceled) { // Close has interrupted the collection of metrics
			o.Log.Warn("telemetry", "error", err)
		}
	}))
	otel.SetLogger(logr.FromSlogHandler(o.Log.Handler()))
	return t
}

// startSpans creates the provider even if spans are not exported, because log records contain their
// ids.
func (t *Telemetry) startSpans(ctx context.Context, o *Options) {
	limits := sdktrace.NewSpanLimits()
	limits.AttributeValueLengthLimit = o.ValueLimit
	options := []sdktrace.TracerProviderOption{
		sdktrace.WithResource(o.Resource), sdktrace.WithSampler(o.Sampler), sdktrace.WithRawSpanLimits(limits),
	}
	if o.Spans != nil {
		t.spans = true
		b, box := o.Config.Spans, t.newOutbox(ctx, o, "traces", o.Config.Spans.Queue)
		batcher := sdktrace.NewBatchSpanProcessor(spanExporter{o.Spans, box}, sdktrace.WithMaxQueueSize(b.Queue),
			sdktrace.WithMaxExportBatchSize(b.Batch), sdktrace.WithBatchTimeout(b.Delay), sdktrace.WithExportTimeout(b.Timeout))
		options = append(options, sdktrace.WithSpanProcessor(spanProcessor{batcher, box}))
	}
	provider := sdktrace.NewTracerProvider(options...)
	t.shutdowns = append(t.shutdowns, provider.Shutdown)
	t.tracer = provider.Tracer(scopeName, trace.WithInstrumentationVersion(o.Version))
}

func (t *Telemetry) startLogs(ctx context.Context, o *Options) {
	b, box := o.Config.Logs, t.newOutbox(ctx, o, "logs", o.Config.Logs.Queue)
	batcher := sdklog.NewBatchProcessor(logExporter{o.Logs, box}, sdklog.WithMaxQueueSize(b.Queue),
		sdklog.WithExportMaxBatchSize(b.Batch), sdklog.WithExportInterval(b.Delay), sdklog.WithExportTimeout(b.Timeout))
	provider := sdklog.NewLoggerProvider(sdklog.WithResource(o.Resource), sdklog.WithProcessor(logProcessor{batcher, box}),
		sdklog.WithAttributeValueLengthLimit(o.ValueLimit))
	t.shutdowns = append(t.shutdowns, provider.Shutdown)
	t.export = otelslog.NewHandler(scopeName, otelslog.WithLoggerProvider(provider), otelslog.WithVersion(o.Version))
}

func (t *Telemetry) startMetrics(ctx context.Context, o *Options) {
	box := t.newOutbox(ctx, o, "metrics", 0)
	t.meter = newMeter(o)
	reader := sdkmetric.NewPeriodicReader(metricExporter{o.Metrics, box, t.meter},
		sdkmetric.WithInterval(o.Every), sdkmetric.WithTimeout(o.MetricTimeout), sdkmetric.WithProducer(t.meter))
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithResource(o.Resource), sdkmetric.WithReader(reader))
	t.shutdowns = append(t.shutdowns, provider.Shutdown)
}

func (t *Telemetry) newOutbox(ctx context.Context, o *Options, signal string, limit int) *outbox {
	var hide []string
	for _, secret := range o.Secrets {
		hide = append(hide, secret, masked)
	}
	box := &outbox{signal: signal, limit: limit, log: o.Log, now: o.Now, hide: strings.NewReplacer(hide...), stopped: ctx}
	t.outboxes = append(t.outboxes, box)
	return box
}

// Begin starts a span in the trace of the caller, or in a new trace. parent is a result of Parent.
// If telemetry is off, Begin returns ctx.
func (t *Telemetry) Begin(ctx context.Context, parent string) context.Context {
	if t == nil {
		return ctx
	}
	ctx, _ = t.tracer.Start(withCaller(ctx, parent), toolsCall, trace.WithSpanKind(trace.SpanKindServer), trace.WithTimestamp(t.now()))
	return ctx
}

// End ends the span that Begin started. It does not block.
func (t *Telemetry) End(ctx context.Context, c *Call) {
	if t == nil || !t.spans {
		return
	}
	span := trace.SpanFromContext(ctx)
	if !span.IsRecording() {
		return
	}
	operation := c.operation()
	c.end(span, operation)
	if t.meter != nil {
		t.meter.remember(c, operation, span.SpanContext())
	}
}

// Watch adds a gauge to the exported metrics.
func (t *Telemetry) Watch(g Gauge) {
	if t != nil && t.meter != nil {
		t.meter.mu.Lock()
		defer t.meter.mu.Unlock()
		t.meter.gauges = append(t.meter.gauges, g)
	}
}

// closeTimeout bounds the last exports.
const closeTimeout = 5 * time.Second

// Close exports what is left, and returns after closeTimeout at the latest.
func (t *Telemetry) Close() {
	if t == nil {
		return
	}
	for _, box := range t.outboxes {
		box.close()
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	var working sync.WaitGroup
	for _, shutdown := range t.shutdowns {
		working.Go(func() { _ = shutdown(ctx) }) // the outbox logs what was lost
	}
	working.Wait()
	for _, box := range t.outboxes {
		box.finish()
	}
	t.stop()
	if t.release != nil {
		t.release()
	}
}
