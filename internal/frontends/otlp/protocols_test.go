package otlp_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	logspb "go.opentelemetry.io/proto/otlp/logs/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/testing/protocmp"

	"remit/internal/engine/telemetry"
	"remit/internal/frontends/otlp"
	"remit/internal/frontends/otlp/otlptest"
)

// TestEveryProtocol checks that the same, correct data arrives over every protocol, compressed or
// not.
func TestEveryProtocol(t *testing.T) {
	var first *otlptest.Collector
	for _, tc := range []struct{ protocol, compression string }{
		{"grpc", "none"},
		{"grpc", "gzip"},
		{"http/protobuf", "none"},
		{"http/protobuf", "gzip"},
	} {
		t.Run(tc.protocol+" "+tc.compression, func(t *testing.T) {
			c := &otlptest.Collector{}
			address := c.Serve(t, tc.protocol)
			log := export(t, map[string]string{
				"OTEL_EXPORTER_OTLP_ENDPOINT": address, "OTEL_EXPORTER_OTLP_PROTOCOL": tc.protocol, "OTEL_EXPORTER_OTLP_COMPRESSION": tc.compression,
				"OTEL_EXPORTER_OTLP_HEADERS": "api-key=a%20b,x-other=2", "OTEL_RESOURCE_ATTRIBUTES": "service.instance.id=here",
			})
			if log != "" || len(c.Errors) > 0 || len(c.Spans) != 1 || len(c.Metrics) != 1 || len(c.Logs) != 1 {
				t.Fatalf("log %q, wrong %q; %d of traces, %d of metrics, %d of logs", log, c.Errors, len(c.Spans), len(c.Metrics), len(c.Logs))
			}
			for _, header := range c.Headers {
				h := http.Header{}
				for name, values := range header {
					h[http.CanonicalHeaderKey(name)] = values
				}
				if h.Get("Api-Key") != "a b" || h.Get("X-Other") != "2" || !strings.HasPrefix(h.Get("User-Agent"), "remit/1.2.3") {
					t.Errorf("headers %v", header)
				}
			}
			if first == nil {
				first = c
				checkSpans(t, c)
				checkLogs(t, c)
				checkMetrics(t, c)
				return
			}
			// The values of the process differ in every run.
			process := protocmp.IgnoreOneofs(&metricspb.NumberDataPoint{}, "value")
			if diff := cmp.Diff(first.Spans[0], c.Spans[0], protocmp.Transform(), protocmp.IgnoreFields(&tracepb.Span{}, "trace_id", "span_id")); diff != "" {
				t.Errorf("spans differ from those over gRPC:\n%s", diff)
			}
			if diff := cmp.Diff(first.Logs[0], c.Logs[0], protocmp.Transform(), protocmp.IgnoreFields(&logspb.LogRecord{}, "time_unix_nano", "observed_time_unix_nano", "trace_id", "span_id")); diff != "" {
				t.Errorf("logs differ from those over gRPC:\n%s", diff)
			}
			if diff := cmp.Diff(first.Metrics[0], c.Metrics[0], protocmp.Transform(), process, protocmp.IgnoreFields(&metricspb.Exemplar{}, "trace_id", "span_id")); diff != "" {
				t.Errorf("metrics differ from those over gRPC:\n%s", diff)
			}
		})
	}
}

// values returns attributes by key.
func values(list []*common.KeyValue) map[string]any {
	all := map[string]any{}
	for _, kv := range list {
		switch v := kv.GetValue().GetValue().(type) {
		case *common.AnyValue_StringValue:
			all[kv.Key] = v.StringValue
		case *common.AnyValue_IntValue:
			all[kv.Key] = v.IntValue
		case *common.AnyValue_DoubleValue:
			all[kv.Key] = v.DoubleValue
		case *common.AnyValue_BoolValue:
			all[kv.Key] = v.BoolValue
		}
	}
	return all
}

func checkSpans(t *testing.T, c *otlptest.Collector) {
	t.Helper()
	resource := c.Spans[0].ResourceSpans[0]
	if has := values(resource.Resource.Attributes); has["service.name"] != "remit" || has["service.version"] != "1.2.3" || has["service.instance.id"] != "here" {
		t.Errorf("resource %v", has)
	}
	scope := resource.ScopeSpans[0]
	if scope.Scope.Name != "remit" || scope.Scope.Version != "1.2.3" || len(scope.Spans) != 2 {
		t.Fatalf("scope %v with %d spans", scope.Scope, len(scope.Spans))
	}
	below, root := scope.Spans[0], scope.Spans[1]
	if hex.EncodeToString(below.TraceId) != traceID || hex.EncodeToString(below.ParentSpanId) != "00f067aa0ba902b7" || below.TraceState != "rojo=1" || below.Flags != 0x301 ||
		len(below.SpanId) != 8 || below.Name != "tools/call look" || below.Kind != tracepb.Span_SPAN_KIND_SERVER || below.Status.GetCode() != tracepb.Status_STATUS_CODE_UNSET ||
		below.StartTimeUnixNano != uint64(fixedTime.UnixNano()) || below.EndTimeUnixNano != uint64(fixedTime.UnixNano())+3_000_000 {
		t.Errorf("got %v", below)
	}
	has := values(below.Attributes)
	if has["mcp.method.name"] != "tools/call" || has["remit.result.bytes"] != int64(12) || has["remit.client"] != "odd \uFFFD \"client\"\n" || has["network.transport"] != "pipe" {
		t.Errorf("attributes %v", has)
	}
	if len(root.ParentSpanId) != 0 || len(root.TraceId) != 16 || root.Flags != 0x101 || root.Status.GetCode() != tracepb.Status_STATUS_CODE_ERROR || values(root.Attributes)["error.type"] != "tool_error" {
		t.Errorf("got %v", root)
	}
}

func checkLogs(t *testing.T, c *otlptest.Collector) {
	t.Helper()
	records, span := c.Logs[0].ResourceLogs[0].ScopeLogs[0].LogRecords, c.Spans[0].ResourceSpans[0].ScopeSpans[0].Spans[0]
	if len(records) != 2 {
		t.Fatalf("%d records, want 2", len(records))
	}
	got := records[0]
	if !bytes.Equal(got.TraceId, span.TraceId) || !bytes.Equal(got.SpanId, span.SpanId) || got.Flags != 1 || got.SeverityNumber != 13 || got.SeverityText != "WARN" ||
		got.Body.GetStringValue() != "call" || got.TimeUnixNano == 0 || got.ObservedTimeUnixNano < got.TimeUnixNano {
		t.Errorf("got %v", got)
	}
	want := map[string]any{"tool": "demo/look", "bytes": int64(-12), "ok": true, "took": .003, "empty": "", "share": .25}
	if diff := cmp.Diff(want, values(got.Attributes)); diff != "" {
		t.Errorf("attributes (-want +got):\n%s", diff)
	}
}

func checkMetrics(t *testing.T, c *otlptest.Collector) {
	t.Helper()
	all := map[string]*metricspb.Metric{}
	for _, m := range c.Metrics[0].ResourceMetrics[0].ScopeMetrics[0].Metrics {
		all[m.Name] = m
	}
	took := all["mcp.server.operation.duration"].GetHistogram()
	if took.GetAggregationTemporality() != metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE || len(took.GetDataPoints()) != 2 {
		t.Fatalf("got %v", took)
	}
	point := took.DataPoints[1] // "ok" is sorted after "denied"
	if point.Count != 1 || point.GetSum() != .003 || len(point.BucketCounts) != len(point.ExplicitBounds)+1 || !slices.Contains(point.ExplicitBounds, .01) ||
		point.StartTimeUnixNano != uint64(fixedTime.Add(-time.Hour).UnixNano()) || point.TimeUnixNano != uint64(fixedTime.UnixNano()) {
		t.Errorf("got %v", point)
	}
	if e := point.Exemplars; len(e) != 1 || hex.EncodeToString(e[0].TraceId) != traceID || e[0].GetAsDouble() != .003 {
		t.Errorf("exemplars %v", e)
	}
	calls := all["remit.calls"].GetSum()
	if !calls.GetIsMonotonic() || len(calls.GetDataPoints()) != 2 || calls.DataPoints[0].GetAsInt() != 1 || values(calls.DataPoints[0].Attributes)["remit.outcome"] != "denied" {
		t.Errorf("got %v", calls)
	}
	if got := all["remit.approvals.waiting"].GetGauge(); len(got.GetDataPoints()) != 1 || got.DataPoints[0].GetAsDouble() != 2 || all["remit.approvals.waiting"].Unit != "{approval}" {
		t.Errorf("got %v", got)
	}
	if got := all["mcp.server.session.duration"].GetHistogram(); len(got.GetDataPoints()) != 1 || got.DataPoints[0].GetSum() != 60 {
		t.Errorf("got %v", got)
	}
	if got := all["process.uptime"].GetGauge(); len(got.GetDataPoints()) != 1 || got.DataPoints[0].GetAsDouble() != 3600 {
		t.Errorf("got %v", got)
	}
}

// TestDelta checks that the temporality preference is applied.
func TestDelta(t *testing.T) {
	c := &otlptest.Collector{}
	export(t, map[string]string{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": c.HTTP(t) + "/v1/metrics", "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE": "delta"})
	if len(c.Metrics) != 1 || len(c.Spans) != 0 {
		t.Fatalf("%d of metrics, %d of traces", len(c.Metrics), len(c.Spans))
	}
	for _, m := range c.Metrics[0].ResourceMetrics[0].ScopeMetrics[0].Metrics {
		if m.Name == "remit.calls" && m.GetSum().AggregationTemporality != metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_DELTA {
			t.Errorf("got %v", m)
		}
	}
}

// TestSpecialValues checks that special gauge values are exported.
func TestSpecialValues(t *testing.T) {
	for _, protocol := range []string{"grpc", "http/protobuf"} {
		c := &otlptest.Collector{}
		from, _ := source(&syncBuffer{})
		tel := otlp.Open(setenv(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": c.Serve(t, protocol), "OTEL_EXPORTER_OTLP_PROTOCOL": protocol}), from)
		odd := map[string]float64{"nan": math.NaN(), "up": math.Inf(1), "down": math.Inf(-1), "small": 5e-324, "zero": 0}
		for name, n := range odd {
			tel.Watch(telemetry.Gauge{Name: name, Value: func(context.Context) (float64, bool) { return n, true }})
		}
		tel.Close()
		if len(c.Errors) > 0 || len(c.Metrics) != 1 {
			t.Fatalf("%s: wrong %q", protocol, c.Errors)
		}
		for _, m := range c.Metrics[0].ResourceMetrics[0].ScopeMetrics[0].Metrics {
			want, mine := odd[m.Name]
			if got := m.GetGauge().GetDataPoints(); mine && (len(got) != 1 || fmt.Sprint(got[0].GetAsDouble()) != fmt.Sprint(want)) {
				t.Errorf("%s: %s: got %v, want %v", protocol, m.Name, got, want)
			}
		}
	}
}

// TestLargeBatch checks messages whose lengths take several bytes.
func TestLargeBatch(t *testing.T) {
	c := &otlptest.Collector{}
	from, _ := source(&syncBuffer{})
	tel := otlp.Open(setenv(t, map[string]string{"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://" + c.GRPC(t), "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}), from)
	for i := range 500 {
		tel.End(tel.Begin(context.Background(), ""), &telemetry.Call{Method: "tools/call", Tool: "demo/look", Client: strings.Repeat("x", i), Outcome: "ok", Started: fixedTime})
	}
	tel.Close()
	n := 0
	for _, request := range c.Spans {
		for _, s := range request.ResourceSpans[0].ScopeSpans[0].Spans {
			if text, _ := values(s.Attributes)["remit.client"].(string); len(text) != n {
				t.Errorf("span %d has a client of %d bytes", n, len(text))
			}
			n++
		}
	}
	if n != 500 {
		t.Errorf("%d spans, want 500", n)
	}
}
