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

// Parent checks the W3C trace context that a caller sends, and returns it in the form that Begin
// takes. It returns "" if traceparent is not valid; a tracestate that is not valid is left out.
func Parent(traceparent, tracestate string) string {
	traceparent = strings.Trim(traceparent, " \t")
	if len(traceparent) < traceparentLength {
		return ""
	}
	if len(tracestate) > maxTracestate {
		tracestate = ""
	}
	caller := callerOf(traceparent, strings.Trim(tracestate, " \t"))
	if !caller.IsValid() {
		return ""
	}
	traceparent = traceparent[:traceparentLength] // later versions may add fields, which mean nothing to us
	if state := caller.TraceState().String(); state != "" {
		return traceparent + " " + state
	}
	return traceparent
}

// callerOf returns the span of a caller by its W3C trace context.
func callerOf(traceparent, tracestate string) trace.SpanContext {
	ctx := propagation.TraceContext{}.Extract(context.Background(), &carrier{traceparent, tracestate})
	return trace.SpanContextFromContext(ctx)
}

// carrier gives the propagator the two values.
type carrier struct{ traceparent, tracestate string }

func (c *carrier) Get(key string) string {
	if key == "tracestate" {
		return c.tracestate
	}
	return c.traceparent
}

func (*carrier) Set(string, string) {}

func (*carrier) Keys() []string { return []string{"traceparent", "tracestate"} }
