package telemetry

import (
	"context"
	"strings"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

const (
	traceparentLength = 55
	maxTracestate     = 512 // W3C requires to pass on at least this length
)

// Parent returns the W3C trace context of a caller in the form for Begin, or "" if there is none.
// Begin validates it, so that a trace context costs nothing while telemetry is off.
func Parent(traceparent, tracestate string) string {
	traceparent, tracestate = strings.Trim(traceparent, " \t"), strings.Trim(tracestate, " \t")
	if len(traceparent) < traceparentLength || len(traceparent) > maxTracestate {
		return ""
	}
	if tracestate == "" || len(tracestate) > maxTracestate {
		return traceparent
	}
	return traceparent + " " + tracestate
}

// withCaller returns a context with the span of the caller, or without a span if parent is invalid.
func withCaller(ctx context.Context, parent string) context.Context {
	ctx = trace.ContextWithSpanContext(ctx, trace.SpanContext{})
	if parent == "" {
		return ctx
	}
	traceparent, tracestate, _ := strings.Cut(parent, " ")
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{"traceparent": traceparent, "tracestate": tracestate})
}
