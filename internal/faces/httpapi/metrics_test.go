package httpapi_test

import (
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"remit/internal/contract"
	"remit/internal/engine/stats"
	"remit/internal/faces/httpapi"
)

// scrape reads metrics as Prometheus does.
func scrape(t *testing.T, m http.Handler) map[string]*dto.MetricFamily {
	t.Helper()
	recorder := httptest.NewRecorder()
	m.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody))
	if kind := recorder.Header().Get("Content-Type"); kind != string(expfmt.NewFormat(expfmt.TypeTextPlain))[:len(kind)] || recorder.Code != http.StatusOK {
		t.Errorf("%d %s", recorder.Code, kind)
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(recorder.Body)
	if err != nil {
		t.Fatal(err)
	}
	return families
}

// series are the samples of a metric by their labels, spelt in the order they came.
func series(family *dto.MetricFamily) map[string]*dto.Metric {
	found := map[string]*dto.Metric{}
	for _, m := range family.GetMetric() {
		var labels []string
		for _, l := range m.GetLabel() {
			labels = append(labels, l.GetName()+"="+l.GetValue())
		}
		found[strings.Join(labels, " ")] = m
	}
	return found
}

func TestOperationsAreSummedByTheConventions(t *testing.T) {
	var s stats.Stats
	for tool, outcomes := range map[string][]string{
		"demo/look":      {"ok", "ok", "asked", "replayed", "invalid", "denied"},
		"other/look":     {"ok"}, // another set, on another endpoint
		"resources/read": {"ok", "not_found"},
		"prompts/get":    {"ok"},
	} {
		for _, outcome := range outcomes {
			s.Observe(tool, outcome, 70*time.Microsecond)
		}
	}
	families := scrape(t, &httpapi.Metrics{Stats: &s})
	family := families["mcp_server_operation_duration_seconds"]
	got := map[string]uint64{}
	for labels, m := range series(family) {
		got[labels] = m.GetHistogram().GetSampleCount()
	}
	want := map[string]uint64{
		"mcp_method_name=tools/call gen_ai_operation_name=execute_tool gen_ai_tool_name=look":                       5,
		"mcp_method_name=tools/call gen_ai_operation_name=execute_tool gen_ai_tool_name=look error_type=tool_error": 2,
		"mcp_method_name=resources/read":                      1,
		"mcp_method_name=resources/read error_type=not_found": 1,
		"mcp_method_name=prompts/get":                         1,
	}
	if fmt.Sprint(got) != fmt.Sprint(want) || family.GetType() != dto.MetricType_HISTOGRAM || len(family.GetMetric()) != len(want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	calls := map[string]float64{}
	for labels, m := range series(families["remit_calls_total"]) {
		calls[labels] = m.GetCounter().GetValue()
	}
	wantCalls := map[string]float64{
		"toolset=demo tool=look outcome=ok": 2, "toolset=demo tool=look outcome=asked": 1, "toolset=demo tool=look outcome=replayed": 1, "toolset=demo tool=look outcome=invalid": 1,
		"toolset=demo tool=look outcome=denied": 1, "toolset=other tool=look outcome=ok": 1,
	}
	if fmt.Sprint(calls) != fmt.Sprint(wantCalls) {
		t.Errorf("got  %v\nwant %v", calls, wantCalls)
	}
}

// TestBuckets: those that OpenTelemetry advises are there, with finer ones below
// and, for sessions, coarser ones above; each holds all that is below it.
func TestBuckets(t *testing.T) {
	advised := []float64{.01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 30, 60, 120, 300}
	var s stats.Stats
	for _, took := range []time.Duration{time.Microsecond, 15 * time.Millisecond, 400 * time.Second} {
		s.Observe("demo/look", "ok", took)
		s.ObserveSession(took)
	}
	families := scrape(t, &httpapi.Metrics{Stats: &s})
	for name, all := range map[string]int{"mcp_server_operation_duration_seconds": 23 + 1, "mcp_server_session_duration_seconds": 19 + 1} {
		h := families[name].GetMetric()[0].GetHistogram()
		below := map[float64]uint64{}
		for _, b := range h.GetBucket() {
			below[b.GetUpperBound()] = b.GetCumulativeCount()
		}
		for _, bound := range advised {
			if _, there := below[bound]; !there {
				t.Errorf("%s has no bucket of %g s", name, bound)
			}
		}
		if below[.01] != 1 || below[.02] != 2 || below[300] != 2 || below[math.Inf(1)] != 3 || len(below) != all {
			t.Errorf("%s: %d buckets, %v", name, len(below), below)
		}
		if h.GetSampleCount() != 3 || math.Abs(h.GetSampleSum()-400.015001) > 1e-9 {
			t.Errorf("%s: %d in %g s", name, h.GetSampleCount(), h.GetSampleSum())
		}
	}
}

func TestGaugesAndProcess(t *testing.T) {
	m := &httpapi.Metrics{
		Stats: &stats.Stats{}, Version: "1.2\n\"3\"\\", Started: time.UnixMilli(1234567),
		Gauges: []httpapi.Gauge{{Name: "remit_sessions", Help: "Sessions \\ that are\nopen.", Value: func() float64 { return 7 }}},
	}
	families := scrape(t, m)
	if g := families["remit_sessions"]; g.GetMetric()[0].GetGauge().GetValue() != 7 || g.GetHelp() != "Sessions \\ that are\nopen." {
		t.Errorf("remit_sessions: %v", g)
	}
	if got := series(families["remit_build_info"]); got["version=1.2\n\"3\"\\ goversion="+runtime.Version()] == nil {
		t.Errorf("remit_build_info: %v", got)
	}
	if got := families["process_start_time_seconds"].GetMetric()[0].GetGauge().GetValue(); got != 1234.567 {
		t.Errorf("started at %v", got)
	}
	positive := []string{"go_goroutines", "go_memstats_heap_inuse_bytes", "go_memstats_alloc_bytes_total"}
	if runtime.GOOS == "linux" {
		positive = append(positive, "process_resident_memory_bytes", "process_open_fds")
		if families["process_cpu_seconds_total"] == nil {
			t.Error("no process_cpu_seconds_total")
		}
	}
	for _, name := range positive {
		sample := families[name].GetMetric()
		if len(sample) != 1 || sample[0].GetGauge().GetValue()+sample[0].GetCounter().GetValue() <= 0 {
			t.Errorf("%s: %v, want one above zero", name, sample)
		}
	}
}

// TestNamesOfCallersAreNoLabels: whatever is asked for, only tools there are get
// counted, and what text a label has does not break the format.
func TestNamesOfCallersAreNoLabels(t *testing.T) {
	r := newRig(t, nil)
	for i := range 50 {
		r.do(post(fmt.Sprintf("made_up_%d", i), ""))
		r.get(fmt.Sprintf("/tools/made_up_%d", i))
	}
	r.handler = func(context.Context, in) (out, error) { return out{}, contract.Errorf(contract.Conflict, "it changed") }
	r.do(post("look", ""))
	if got := series(scrape(t, r.api.Metrics)["remit_calls_total"]); len(got) != 1 || got["toolset=demo tool=look outcome=conflict"] == nil {
		t.Errorf("counted %v, want the one call of a tool", got)
	}
	var s stats.Stats
	s.Observe("demo/a\"\xff\n\\", "ok", 0)
	if got := series(scrape(t, &httpapi.Metrics{Stats: &s})["remit_calls_total"]); got["toolset=demo tool=a\"\ufffd\n\\ outcome=ok"] == nil {
		t.Errorf("counted %v", got)
	}
}

func TestMetricsAreServed(t *testing.T) {
	r := newRig(t, nil)
	response := r.get("/metrics").Result()
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || !strings.Contains(string(text), "# TYPE remit_calls_total counter\n") || response.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("%v: %s", err, text)
	}
	r.api.Metrics = nil
	mux := http.NewServeMux()
	r.api.Register(mux)
	recorder := httptest.NewRecorder()
	mux.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody))
	if recorder.Code != http.StatusNotFound {
		t.Errorf("%d without metrics, want 404", recorder.Code)
	}
}
