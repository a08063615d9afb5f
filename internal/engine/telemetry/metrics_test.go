package telemetry_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"remit/internal/engine/telemetry"
)

// metering starts telemetry that exports metrics and spans.
func (s *sink) metering(env map[string]string) *telemetry.Telemetry {
	o := s.options(env)
	o.Logs = nil
	return telemetry.New(o)
}

// find returns a metric of an export.
func (s *sink) find(export int, name string) metricdata.Metrics {
	for _, m := range s.metrics[export] {
		if m.Name == name {
			return m
		}
	}
	return metricdata.Metrics{}
}

// format returns the points without their times; labels are sorted by name.
func format(m metricdata.Metrics) string {
	var all []string
	write := func(set attribute.Set, value string) {
		var labels []string
		for _, a := range set.ToSlice() {
			labels = append(labels, a.Value.String())
		}
		all = append(all, strings.Join(labels, " ")+": "+value)
	}
	switch data := m.Data.(type) {
	case metricdata.Histogram[float64]:
		for _, p := range data.DataPoints {
			write(p.Attributes, fmt.Sprintf("%d in %gs", p.Count, p.Sum))
		}
	case metricdata.Sum[int64]:
		for _, p := range data.DataPoints {
			write(p.Attributes, fmt.Sprint(p.Value))
		}
	case metricdata.Gauge[float64]:
		for _, p := range data.DataPoints {
			write(p.Attributes, fmt.Sprint(p.Value))
		}
	}
	return strings.Join(all, "; ")
}

func TestMetrics(t *testing.T) {
	for _, tc := range []struct {
		preference          string
		calls, second       string // in the first minute, and in the second
		took, secondTook    string
		sessions, sessions2 string
		delta, cpuDelta     bool
	}{
		{
			"", "look ok demo: 2; look denied demo: 1", "look ok demo: 3; look denied demo: 1",
			"execute_tool look tools/call: 2 in 2s; tool_error execute_tool look tools/call: 1 in 1s; resources/read: 1 in 1s",
			"execute_tool look tools/call: 3 in 3s; tool_error execute_tool look tools/call: 1 in 1s; resources/read: 1 in 1s",
			": 1 in 60s", ": 1 in 60s", false, false,
		},
		{
			"delta", "look ok demo: 2; look denied demo: 1", "look ok demo: 1",
			"execute_tool look tools/call: 2 in 2s; tool_error execute_tool look tools/call: 1 in 1s; resources/read: 1 in 1s",
			"execute_tool look tools/call: 1 in 1s",
			": 1 in 60s", "", true, true,
		},
		{
			"lowmemory", "look ok demo: 2; look denied demo: 1", "look ok demo: 1",
			"execute_tool look tools/call: 2 in 2s; tool_error execute_tool look tools/call: 1 in 1s; resources/read: 1 in 1s",
			"execute_tool look tools/call: 1 in 1s",
			": 1 in 60s", "", true, false,
		},
	} {
		t.Run("preference "+tc.preference, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &sink{}
				started := time.Now()
				tel := s.metering(map[string]string{"OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE": tc.preference})
				for outcome, n := range map[string]int{"ok": 2, "denied": 1} {
					for range n {
						s.stats.Observe("demo/look", outcome, time.Second)
					}
				}
				s.stats.Observe("resources/read", "ok", time.Second)
				s.stats.ObserveSession(time.Minute)
				time.Sleep(time.Minute)
				synctest.Wait()
				s.stats.Observe("demo/look", "ok", time.Second)
				tel.Close()
				if len(s.metrics) != 2 {
					t.Fatalf("%d exports, want one a minute and one at the end", len(s.metrics))
				}
				order := func(text string) string { // denied comes before ok
					parts := strings.Split(text, "; ")
					if len(parts) > 1 {
						parts[0], parts[1] = parts[1], parts[0]
					}
					return strings.Join(parts, "; ")
				}
				for i, want := range []struct{ calls, took, sessions string }{
					{tc.calls, tc.took, tc.sessions},
					{tc.second, tc.secondTook, tc.sessions2},
				} {
					if got := format(s.find(i, "remit.calls")); got != order(want.calls) {
						t.Errorf("calls %d: got %s, want %s", i, got, order(want.calls))
					}
					if got := format(s.find(i, "mcp.server.operation.duration")); got != order(want.took) {
						t.Errorf("durations %d: got %s, want %s", i, got, order(want.took))
					}
					if got := format(s.find(i, "mcp.server.session.duration")); got != want.sessions {
						t.Errorf("sessions %d: got %s, want %s", i, got, want.sessions)
					}
				}
				start := started
				if tc.delta {
					start = started.Add(time.Minute)
				}
				calls, _ := s.find(1, "remit.calls").Data.(metricdata.Sum[int64])
				if !calls.IsMonotonic || (calls.Temporality == metricdata.DeltaTemporality) != tc.delta ||
					!calls.DataPoints[0].StartTime.Equal(start) {
					t.Errorf("got %+v", calls)
				}
				if cpu, ok := s.find(1, "process.cpu.time").Data.(metricdata.Sum[float64]); ok &&
					(cpu.Temporality == metricdata.DeltaTemporality) != tc.cpuDelta {
					t.Errorf("cpu: got %+v", cpu)
				}
				if up := s.find(0, "process.uptime"); format(up) != ": 60" {
					t.Errorf("uptime %s", format(up))
				}
			})
		})
	}
}

// TestDifferencesAreNotLost checks that the next export contains what could not be exported.
func TestDifferencesAreNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sink{fail: func(_ context.Context, try int) error {
			if try == 1 {
				return errDown
			}
			return nil
		}}
		tel := s.metering(map[string]string{
			"OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE": "delta",
			"OTEL_METRIC_EXPORT_INTERVAL":                       "1000",
		})
		s.stats.Observe("demo/look", "ok", time.Second)
		time.Sleep(time.Second)
		synctest.Wait()
		s.stats.Observe("demo/look", "ok", time.Second)
		time.Sleep(time.Second)
		tel.Close()
		if got := format(s.find(0, "remit.calls")); got != "look ok demo: 2" || !strings.Contains(s.warned.String(), "signal=metrics") {
			t.Errorf("got %s; logged %q", got, &s.warned)
		}
	})
}

// partialSink is a collector that rejects a part of each export.
type partialSink struct{ metricSink }

func (p partialSink) Export(ctx context.Context, all *metricdata.ResourceMetrics) error {
	return errors.Join(p.metricSink.Export(ctx, all), errors.New("OTLP partial success: too old (1 metric data points rejected)"))
}

// TestAcceptedOnce checks that what a collector accepted is not sent again, although it rejected
// the rest.
func TestAcceptedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sink{}
		o := s.options(map[string]string{"OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE": "delta"})
		o.Spans, o.Logs = nil, nil
		o.Metrics = partialSink{metricSink{s}}
		tel := telemetry.New(o)
		s.stats.Observe("demo/look", "ok", time.Second)
		time.Sleep(time.Minute)
		synctest.Wait()
		s.stats.Observe("demo/look", "denied", time.Second)
		tel.Close()
		if first, second := format(s.find(0, "remit.calls")), format(s.find(1, "remit.calls")); first != "look ok demo: 1" ||
			second != "look denied demo: 1" {
			t.Errorf("first %s, then %s", first, second)
		}
		if warned := s.warned.String(); !strings.Contains(warned, "lost=1 ") {
			t.Errorf("logged %q", warned)
		}
	})
}

// TestExemplars checks that a histogram contains the trace id of a call.
func TestExemplars(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sink{}
		tel := s.metering(nil)
		s.stats.Observe("demo/look", "ok", time.Millisecond)
		s.stats.Observe("demo/other", "ok", time.Millisecond)
		call(tel, ignored)
		call(tel, parent)
		tel.Close()
		took, _ := s.find(0, "mcp.server.operation.duration").Data.(metricdata.Histogram[float64])
		points := took.DataPoints
		if len(points) != 2 || len(points[0].Exemplars) != 1 || len(points[1].Exemplars) != 0 {
			t.Fatalf("got %+v", points)
		}
		got, span := points[0].Exemplars[0], s.spans()[0].SpanContext.SpanID()
		if hex.EncodeToString(got.TraceID) != traceID || !bytes.Equal(got.SpanID, span[:]) || got.Value != .001 {
			t.Errorf("got %+v", got)
		}
	})
}

func TestGauges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sink{}
		tel := s.metering(nil)
		waiting := 3.0
		tel.Watch(telemetry.Gauge{
			Name: "remit.approvals.waiting", Unit: "{approval}",
			Value: func(context.Context) (float64, bool) { return waiting, waiting > 0 },
		})
		time.Sleep(time.Minute)
		synctest.Wait()
		waiting = -1
		tel.Close()
		m := s.find(0, "remit.approvals.waiting")
		if _, gauge := m.Data.(metricdata.Gauge[float64]); format(m) != ": 3" || !gauge || m.Unit != "{approval}" {
			t.Errorf("got %+v", m)
		}
		if m := s.find(1, "remit.approvals.waiting"); m.Name != "" {
			t.Errorf("an unknown number is exported: %+v", m)
		}
		if scope := s.scopes[0].Scope; scope.Name != "remit" || scope.Version != "1.2.3" || len(s.scopes) != 2 {
			t.Errorf("scope %+v", scope)
		}
	})
}
