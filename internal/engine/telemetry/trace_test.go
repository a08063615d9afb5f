package telemetry_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	otrace "go.opentelemetry.io/otel/trace"

	"remit/internal/engine/telemetry"
)

const (
	traceID = "4bf92f3577b34da6a3ce929d0e0e4736"
	spanID  = "00f067aa0ba902b7"
	parent  = "00-" + traceID + "-" + spanID + "-01"
	ignored = "00-" + traceID + "-" + spanID + "-00"
)

// TestParent checks that the parent of a span is the caller if its trace context is valid, and that
// there is none otherwise.
func TestParent(t *testing.T) {
	for _, tc := range []struct{ name, traceparent, tracestate, want string }{
		{"sound", parent, "", parent},
		{"with state", parent, "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE", parent + " rojo=00f067aa0ba902b7,congo=t61rcWkgMzE"},
		{"spaces around", " " + parent + "\t", " a=b ", parent + " a=b"},
		{"not sampled", ignored, "", ignored},
		{"of a later version", "cc-" + traceID + "-" + spanID + "-01-what-comes", "", parent},
		{"a state that is too long", parent, strings.Repeat("a", 513), parent},
		{"a state with a line break", parent, "a=b\r\nX: y", parent},
		{"nothing", "", "a=b", ""},
		{"no version", "ff-" + traceID + "-" + spanID + "-01", "", ""},
		{"capitals", strings.ToUpper(parent), "", ""},
		{"a trace of zeros", "00-00000000000000000000000000000000-" + spanID + "-01", "", ""},
		{"a span of zeros", "00-" + traceID + "-0000000000000000-01", "", ""},
		{"too short", parent[:54], "", ""},
		{"version 00 with more", parent + "-more", "", ""},
		{"a later version with more that is not parted", "01-" + traceID + "-" + spanID + "-01x", "", ""},
		{"no digits", "00-" + strings.Repeat("g", 32) + "-" + spanID + "-01", "", ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &sink{}
			o := s.options(map[string]string{"OTEL_TRACES_SAMPLER": "always_on"})
			o.Logs, o.Metrics = nil, nil
			tel := telemetry.New(o)
			call(tel, telemetry.Parent(tc.traceparent, tc.tracestate))
			tel.Close()
			got, caller := "", s.spans()[0].Parent
			if caller.IsValid() {
				got = strings.TrimSpace(fmt.Sprintf("00-%s-%s-%s %s", caller.TraceID(), caller.SpanID(), caller.TraceFlags(),
					caller.TraceState()))
			}
			if got != tc.want {
				t.Errorf("%s: got %q, want %q", tc.name, got, tc.want)
			}
		})
	}
}

func TestSpansStandBeneathTheirParent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sink{}
		tel := s.start(t, nil)
		call(tel, telemetry.Parent(parent, "rojo=1"))
		call(tel, "nonsense")
		tel.Close()
		spans := s.spans()
		if len(spans) != 2 {
			t.Fatalf("%d spans, want 2", len(spans))
		}
		below, root := spans[0], spans[1]
		if got := below.SpanContext.TraceID().String(); got != traceID {
			t.Errorf("trace %s, want that of the parent", got)
		}
		if got, own := below.Parent.SpanID().String(), below.SpanContext; got != spanID || own.TraceState().String() != "rojo=1" ||
			own.TraceFlags() != 1 ||
			own.SpanID() == below.Parent.SpanID() || !below.Parent.IsRemote() {
			t.Errorf("parent %s, own %+v", got, own)
		}
		if root.Parent.IsValid() || !root.SpanContext.IsValid() || root.SpanContext.TraceID() == below.SpanContext.TraceID() ||
			!root.SpanContext.IsSampled() {
			t.Errorf("a call without a parent: %+v", root)
		}
	})
}

func TestSamplers(t *testing.T) {
	const low = "00-" + "0000000000000001" + "0000000000000001" + "-" + spanID + "-"
	const high = "00-" + "0000000000000001" + "ffffffffffffffff" + "-" + spanID + "-"
	for _, tc := range []struct {
		sampler, arg string
		// Without parent, with a sampled one, with one that is not, with a low and a high id that
		// are not.
		want string
	}{
		{"", "", "yyn nn"},
		{"parentbased_always_on", "", "yyn nn"},
		{"parentbased_always_off", "", "nyn nn"},
		{"parentbased_traceidratio", "0", "nyn nn"},
		{"parentbased_traceidratio", "1", "yyn nn"},
		{"always_on", "", "yyy yy"},
		{"always_off", "", "nnn nn"},
		{"traceidratio", "0.5", "??? yn"}, // the ids decide
		{"traceidratio", "0", "nnn nn"},
		{"traceidratio", "many", "yyy yy"},
		{"wrong", "", "yyn nn"},
	} {
		synctest.Test(t, func(t *testing.T) {
			got := ""
			for _, p := range []string{"", parent, ignored, " ", low + "00", high + "00"} {
				if p == " " {
					got += p
					continue
				}
				s := &sink{}
				tel := s.start(t, map[string]string{"OTEL_TRACES_SAMPLER": tc.sampler, "OTEL_TRACES_SAMPLER_ARG": tc.arg})
				call(tel, p)
				tel.Close()
				got += map[int]string{0: "n", 1: "y"}[len(s.spans())]
			}
			if tc.arg == "0.5" {
				got = "???" + got[3:]
			}
			if got != tc.want {
				t.Errorf("%s %s: got %q, want %q", tc.sampler, tc.arg, got, tc.want)
			}
		})
	}
}

// FuzzParent checks that there is a span whatever a caller sends, with a valid parent or none.
func FuzzParent(f *testing.F) {
	f.Add(parent, "rojo=1")
	f.Add("01-"+traceID+"-"+spanID+"-01-x", "a=b,c=d")
	f.Add("", "")
	f.Add(parent, "a=b\r\nX: y")
	s := &sink{}
	o := s.options(map[string]string{"OTEL_TRACES_SAMPLER": "always_on"})
	o.Spans, o.Metrics, o.Logs = nil, nil, nil
	tel := telemetry.New(o)
	f.Cleanup(tel.Close)
	f.Fuzz(func(t *testing.T, traceparent, tracestate string) {
		got := telemetry.Parent(traceparent, tracestate)
		if len(got) > 512+1+512 {
			t.Errorf("%q, %q gave %d bytes", traceparent, tracestate, len(got))
		}
		span, ok := otrace.SpanFromContext(tel.Begin(context.Background(), got)).(sdktrace.ReadOnlySpan)
		if !ok || !span.SpanContext().IsValid() || span.Parent().IsValid() && span.Parent().TraceID() != span.SpanContext().TraceID() {
			t.Fatalf("%q gave %+v", got, span)
		}
		if state := span.SpanContext().TraceState().String(); strings.ContainsFunc(state,
			func(r rune) bool { return r < ' ' || r > '~' }) || len(state) > 512 {
			t.Errorf("%q gave the state %q", got, state)
		}
	})
}
