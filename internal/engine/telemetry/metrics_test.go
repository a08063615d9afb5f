package telemetry_test

import (
	"context"
	"encoding/hex"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"remit/internal/engine/telemetry"
)

// metering starts telemetry of metrics and spans.
func (s *sink) metering(env map[string]string) *telemetry.Telemetry {
	o := s.options(env)
	o.Logs = nil
	return telemetry.New(o)
}

// find gives a metric of an export.
func (s *sink) find(export int, name string) telemetry.Metric {
	for _, m := range s.metrics[export] {
		if m.Name == name {
			return m
		}
	}
	return telemetry.Metric{}
}

// spell writes points without their times.
func spell(m telemetry.Metric) string {
	var all []string
	for _, p := range m.Points {
		var labels []string
		for _, a := range p.Attrs {
			labels = append(labels, a.Value.String())
		}
		value := p.Value.String()
		if m.Kind == telemetry.KindHistogram {
			value = fmt.Sprintf("%d in %s", p.Took.Total(), p.Took.Sum)
		}
		all = append(all, strings.Join(labels, " ")+": "+value)
	}
	return strings.Join(all, "; ")
}

func TestMetrics(t *testing.T) {
	for _, tc := range []struct {
		preference          string
		calls, second       string // of the first minute, and of the second
		took, secondTook    string
		sessions, sessions2 string
		delta, cpuDelta     bool
	}{
		{
			"", "look ok demo: 2; look denied demo: 1", "look ok demo: 3; look denied demo: 1",
			"tools/call execute_tool look: 2 in 2s; tools/call execute_tool look tool_error: 1 in 1s; resources/read: 1 in 1s",
			"tools/call execute_tool look: 3 in 3s; tools/call execute_tool look tool_error: 1 in 1s; resources/read: 1 in 1s",
			": 1 in 1m0s", ": 1 in 1m0s", false, false,
		},
		{
			"delta", "look ok demo: 2; look denied demo: 1", "look ok demo: 1",
			"tools/call execute_tool look: 2 in 2s; tools/call execute_tool look tool_error: 1 in 1s; resources/read: 1 in 1s",
			"tools/call execute_tool look: 1 in 1s",
			": 1 in 1m0s", "", true, true,
		},
		{
			"lowmemory", "look ok demo: 2; look denied demo: 1", "look ok demo: 1",
			"tools/call execute_tool look: 2 in 2s; tools/call execute_tool look tool_error: 1 in 1s; resources/read: 1 in 1s",
			"tools/call execute_tool look: 1 in 1s",
			": 1 in 1m0s", "", true, false,
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
				order := func(text string) string { // by outcome, denied is before ok
					parts := strings.Split(text, "; ")
					if len(parts) > 1 {
						parts[0], parts[1] = parts[1], parts[0]
					}
					return strings.Join(parts, "; ")
				}
				for i, want := range []struct{ calls, took, sessions string }{{tc.calls, tc.took, tc.sessions}, {tc.second, tc.secondTook, tc.sessions2}} {
					if got := spell(s.find(i, "remit.calls")); got != order(want.calls) {
						t.Errorf("calls %d: got %s, want %s", i, got, order(want.calls))
					}
					if got := spell(s.find(i, "mcp.server.operation.duration")); got != order(want.took) {
						t.Errorf("durations %d: got %s, want %s", i, got, order(want.took))
					}
					if got := spell(s.find(i, "mcp.server.session.duration")); got != want.sessions {
						t.Errorf("sessions %d: got %s, want %s", i, got, want.sessions)
					}
				}
				start := started
				if tc.delta {
					start = started.Add(time.Minute)
				}
				calls := s.find(1, "remit.calls")
				if calls.Delta != tc.delta || !calls.Points[0].Start.Equal(start) || calls.Kind != telemetry.KindCounter {
					t.Errorf("got %+v, which began %s", calls, calls.Points[0].Start)
				}
				if cpu := s.find(1, "process.cpu.time"); len(cpu.Points) > 0 && cpu.Delta != tc.cpuDelta {
					t.Errorf("cpu: got %+v", cpu)
				}
				if up := s.find(0, "process.uptime"); spell(up) != ": 60" {
					t.Errorf("uptime %s", spell(up))
				}
			})
		})
	}
}

// TestDifferencesAreNotLost: what could not be exported is part of the next.
func TestDifferencesAreNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sink{fail: func(_ context.Context, try int) error {
			if try == 1 {
				return errDown
			}
			return nil
		}}
		tel := s.metering(map[string]string{"OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE": "delta", "OTEL_METRIC_EXPORT_INTERVAL": "1000"})
		s.stats.Observe("demo/look", "ok", time.Second)
		time.Sleep(time.Second)
		synctest.Wait()
		s.stats.Observe("demo/look", "ok", time.Second)
		time.Sleep(time.Second)
		tel.Close()
		if got := spell(s.find(0, "remit.calls")); got != "look ok demo: 2" || !strings.Contains(s.told.String(), "signal=metrics") {
			t.Errorf("got %s; told %q", got, &s.told)
		}
	})
}

// TestAcceptedOnce: what a collector took is not sent again, though it refused the rest.
func TestAcceptedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sink{}
		o := s.options(map[string]string{"OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE": "delta"})
		o.Spans, o.Logs = nil, nil
		o.Metrics = func(_ context.Context, metrics []telemetry.Metric) error {
			s.metrics = append(s.metrics, metrics)
			return &telemetry.RejectedError{Count: 1, Why: "too old"}
		}
		tel := telemetry.New(o)
		s.stats.Observe("demo/look", "ok", time.Second)
		time.Sleep(time.Minute)
		synctest.Wait()
		s.stats.Observe("demo/look", "denied", time.Second)
		tel.Close()
		if first, second := spell(s.find(0, "remit.calls")), spell(s.find(1, "remit.calls")); first != "look ok demo: 1" || second != "look denied demo: 1" {
			t.Errorf("first %s, then %s", first, second)
		}
		if told := s.told.String(); !strings.Contains(told, "lost=1 ") {
			t.Errorf("told %q", told)
		}
	})
}

// TestExemplars: a distribution leads to the trace of a call in it.
func TestExemplars(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sink{}
		tel := s.metering(nil)
		s.stats.Observe("demo/look", "ok", time.Millisecond)
		s.stats.Observe("demo/other", "ok", time.Millisecond)
		call(tel, ignored)
		call(tel, parent)
		tel.Close()
		points := s.find(0, "mcp.server.operation.duration").Points
		if len(points) != 2 || points[0].Exemplar == nil || points[1].Exemplar != nil {
			t.Fatalf("got %+v", points)
		}
		got := points[0].Exemplar
		if hex.EncodeToString(got.Trace[:]) != trace || got.Span != s.spans()[0].ID || got.Took != time.Millisecond {
			t.Errorf("got %+v", got)
		}
	})
}

func TestGauges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sink{}
		tel := s.metering(nil)
		waiting := 3.0
		tel.Watch(telemetry.Gauge{Name: "remit.approvals.waiting", Unit: "{approval}", Value: func(context.Context) (float64, bool) { return waiting, waiting > 0 }})
		time.Sleep(time.Minute)
		synctest.Wait()
		waiting = -1
		tel.Close()
		if m := s.find(0, "remit.approvals.waiting"); spell(m) != ": 3" || m.Kind != telemetry.KindGauge || m.Unit != "{approval}" {
			t.Errorf("got %+v", m)
		}
		if m := s.find(1, "remit.approvals.waiting"); m.Name != "" {
			t.Errorf("a number that cannot be had is told: %+v", m)
		}
		for _, m := range s.metrics[0] {
			for _, p := range m.Points {
				if kind := p.Value.Kind(); m.Kind != telemetry.KindHistogram && kind != slog.KindInt64 && kind != slog.KindFloat64 {
					t.Errorf("%s is a %s", m.Name, kind)
				}
			}
		}
	})
}
