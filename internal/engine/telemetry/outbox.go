package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// The limits on bytes; the SDK limits only the number of items.
const (
	queueBytes = 8 << 20
	batchBytes = 2 << 20 // collectors reject messages over 4 MiB
)

var (
	errFull     = errors.New("the queue is full: the collector is slower than the calls, or cannot be reached")
	errShutdown = errors.New("the program is shutting down")
	errUnsent   = errors.New("the collector did not answer before the program ended")
)

// outbox limits what waits to be exported for one signal, and counts what is lost. It wraps the
// SDK's processor, which drops items silently, and its exporter.
type outbox struct {
	signal  string
	limit   int // of items
	log     *slog.Logger
	now     func() time.Time
	hide    *strings.Replacer
	stopped context.Context // its end interrupts exports

	mu               sync.Mutex
	items, bytes     int // waiting or being exported
	lost             int
	why              error
	warned           time.Time
	current          *export
	closed, finished bool
}

// admit reports whether there is room for an item, and counts it.
func (o *outbox) admit(size int) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return false
	}
	if o.items >= o.limit || o.bytes+size > queueBytes {
		o.lose(1, errFull)
		return false
	}
	o.items++
	o.bytes += size
	return true
}

// sendAll exports a batch that was admitted, in parts that collectors accept.
func sendAll[T any](ctx context.Context, o *outbox, batch []T, size func(T) int, send func(context.Context, []T) error) error {
	for len(batch) > 0 {
		n, bytes := 1, size(batch[0])
		for ; n < len(batch); n++ {
			next := size(batch[n])
			if bytes+next > batchBytes {
				break
			}
			bytes += next
		}
		part := batch[:n]
		_ = o.send(ctx, n, func(ctx context.Context) error { return send(ctx, part) })
		o.release(n, bytes)
		batch = batch[n:]
	}
	return nil // the outbox counts losses; the SDK would only log them
}

func (o *outbox) release(n, size int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.items -= n
	o.bytes -= size
}

// export is one call of an exporter, which may make several attempts.
type export struct {
	box     *outbox
	cancel  context.CancelCauseFunc
	waiting bool   // for the next attempt
	why     string // why the last attempt failed
}

type exportKey struct{}

// Attempt must be called by the transport of an exporter before each attempt. The transport must
// call failed if the attempt fails. During shutdown there is no time for another attempt.
func Attempt(ctx context.Context) (failed func(why string)) {
	e, ok := ctx.Value(exportKey{}).(*export)
	if !ok {
		return func(string) {}
	}
	e.set(false, "")
	return func(why string) { e.set(true, why) }
}

func (e *export) set(waiting bool, why string) {
	e.box.mu.Lock()
	defer e.box.mu.Unlock()
	e.waiting, e.why = waiting, why
	if waiting && e.box.closed {
		e.cancel(errShutdown)
	}
}

// send calls an exporter and counts what is lost. An error means that the collector accepted
// nothing.
func (o *outbox) send(ctx context.Context, items int, call func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(o.stopped, func() { cancel(errShutdown) })
	defer stop()
	e := &export{box: o, cancel: cancel}
	o.mu.Lock()
	o.current = e
	o.mu.Unlock()
	err := call(context.WithValue(ctx, exportKey{}, e))
	o.mu.Lock()
	defer o.mu.Unlock()
	o.current = nil
	if err == nil || o.finished {
		return err
	}
	if n, partial := rejected(err); partial {
		if n > 0 {
			o.lose(n, err)
		}
		return nil
	}
	if e.why != "" && !strings.Contains(err.Error(), e.why) {
		err = fmt.Errorf("%s: %w", e.why, err)
	}
	o.lose(items, err)
	return err
}

// rejected returns how many items the collector rejected of a batch that it accepted otherwise. The
// SDK has this number only in the text of an error of an internal type.
func rejected(err error) (n int, partial bool) {
	text := err.Error()
	if !strings.Contains(text, "OTLP partial success") {
		return 0, false
	}
	_, scanErr := fmt.Sscanf(text[strings.LastIndexByte(text, '(')+1:], "%d ", &n)
	return n, scanErr == nil
}

// warnInterval is the shortest time between two warnings.
const warnInterval = time.Minute

// lose counts lost items, and logs a warning at once and then at most once a minute. o.mu must be
// held.
func (o *outbox) lose(n int, why error) {
	o.lost += n
	// A full queue is only a consequence of another problem.
	if o.why == nil || !errors.Is(why, errFull) {
		o.why = why
	}
	if now := o.now(); o.warned.IsZero() || now.Sub(o.warned) >= warnInterval {
		o.warned = now
		o.warn()
	}
}

func (o *outbox) warn() {
	if o.lost > 0 {
		o.log.Warn("telemetry was not sent", "signal", o.signal, "lost", o.lost, "error", clip(o.hide.Replace(o.why.Error())))
	}
	o.lost, o.why = 0, nil
}

// clip shortens the message of a collector, and puts it on one line.
func clip(text string) string {
	const longest = 300
	text = strings.Join(strings.Fields(valid(text)), " ")
	if len(text) > longest {
		text = strings.ToValidUTF8(text[:longest], "") + " ..."
	}
	return text
}

// close rejects further items, and interrupts an export that waits for its next attempt.
func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	if o.current != nil && o.current.waiting {
		o.current.cancel(errShutdown)
	}
}

// finish logs what was lost, and what was not sent.
func (o *outbox) finish() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.items > 0 && !o.finished {
		o.lose(o.items, errUnsent)
	}
	o.finished = true
	o.warn()
}

type spanProcessor struct {
	sdktrace.SpanProcessor
	box *outbox
}

// OnEnd passes a span on if there is room for it.
func (p spanProcessor) OnEnd(s sdktrace.ReadOnlySpan) {
	if p.box.admit(spanSize(s)) {
		p.SpanProcessor.OnEnd(s)
	}
}

// spanSize estimates the size of a span in bytes.
func spanSize(s sdktrace.ReadOnlySpan) int {
	size := 400 + len(s.SpanContext().TraceState().String())
	for _, a := range s.Attributes() {
		size += len(a.Value.AsString())
	}
	return size
}

type spanExporter struct {
	sdktrace.SpanExporter
	box *outbox
}

// ExportSpans exports spans. It never fails.
func (e spanExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	return sendAll(ctx, e.box, spans, spanSize, e.SpanExporter.ExportSpans)
}

type logProcessor struct {
	sdklog.Processor
	box *outbox
}

// OnEmit passes a record on if there is room for it.
func (p logProcessor) OnEmit(ctx context.Context, r *sdklog.Record) error {
	if !p.box.admit(recordSize(*r)) {
		return nil
	}
	return p.Processor.OnEmit(ctx, r)
}

// recordSize estimates the size of a record in bytes.
func recordSize(r sdklog.Record) int {
	size := 150 + len(r.Body().AsString())
	r.WalkAttributes(func(a attribute.KeyValue) bool {
		size += 60 + len(a.Key) + len(a.Value.AsString())
		return true
	})
	return size
}

type logExporter struct {
	sdklog.Exporter
	box *outbox
}

// Export exports records. It never fails.
func (e logExporter) Export(ctx context.Context, records []sdklog.Record) error {
	return sendAll(ctx, e.box, records, recordSize, e.Exporter.Export)
}

type metricExporter struct {
	sdkmetric.Exporter
	box   *outbox
	meter *meter
}

// Export exports metrics. It never fails. The next differences are relative to those that were
// accepted.
func (e metricExporter) Export(ctx context.Context, metrics *metricdata.ResourceMetrics) error {
	err := e.box.send(ctx, e.meter.points(), func(ctx context.Context) error { return e.Exporter.Export(ctx, metrics) })
	if err == nil {
		e.meter.taken()
	}
	return nil
}
