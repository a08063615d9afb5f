package telemetry

import (
	"context"
	"strings"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

const (
	traceparentLength = 55
	maxTracestate     = 512 // the length that W3C wants to be passed on at least
)

// Parent returns the W3C trace context that a caller sends in the form that Begin takes, or "" if
// there is none. Begin checks it: calls whose callers send one must cost nothing while telemetry is off.
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

// withCaller returns a context with the span of the caller, or with none if parent is not valid.
func withCaller(ctx context.Context, parent string) context.Context {
	ctx = trace.ContextWithSpanContext(ctx, trace.SpanContext{})
	if parent == "" {
		return ctx
	}
	traceparent, tracestate, _ := strings.Cut(parent, " ")
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{"traceparent": traceparent, "tracestate": tracestate})
}
