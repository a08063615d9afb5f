package httpapi_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"remit/internal/contract"
	"remit/internal/engine/stats"
	"remit/internal/frontends/httpapi"
)

// scrape reads metrics as Prometheus does.
func scrape(t *testing.T, m http.Handler) map[string]*dto.MetricFamily {
	t.Helper()
	recorder := httptest.NewRecorder()
	m.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody))
	if kind := recorder.Header().Get("Content-Type"); !strings.HasPrefix(kind, string(expfmt.NewFormat(expfmt.TypeTextPlain))) || recorder.Code != http.StatusOK {
		t.Errorf("%d %s", recorder.Code, kind)
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(recorder.Body)
	if err != nil {
		t.Fatal(err)
	}
	return families
}

// series returns the samples of a metric by their labels, sorted by name.
func series(family *dto.MetricFamily) map[string]*dto.Metric {
	found := map[string]*dto.Metric{}
	for _, m := range family.GetMetric() {
		var labels []string
		for _, l := range m.GetLabel() {
			labels = append(labels, l.GetName()+"="+l.GetValue())
		}
		slices.Sort(labels)
		found[strings.Join(labels, " ")] = m
	}
	return found
}

func TestOperationSeries(t *testing.T) {
	var s stats.Stats
	for tool, outcomes := range map[string][]string{
		"demo/look":      {"ok", "ok", "asked", "replayed", "invalid", "denied"},
		"other/look":     {"ok"}, // the same name in another toolset
		"resources/read": {"ok", "not_found"},
		"prompts/get":    {"ok"},
	} {
		for _, outcome := range outcomes {
			s.Observe(tool, outcome, 70*time.Microsecond)
		}
	}
	families := scrape(t, httpapi.Metrics(&s, "1"))
	family := families["mcp_server_operation_duration_seconds"]
	got := map[string]uint64{}
	for labels, m := range series(family) {
		got[labels] = m.GetHistogram().GetSampleCount()
	}
	want := map[string]uint64{
		"gen_ai_operation_name=execute_tool gen_ai_tool_name=look mcp_method_name=tools/call":                       5,
		"error_type=tool_error gen_ai_operation_name=execute_tool gen_ai_tool_name=look mcp_method_name=tools/call": 2,
		"mcp_method_name=resources/read":                      1,
		"error_type=not_found mcp_method_name=resources/read": 1,
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
		"outcome=ok tool=look toolset=demo": 2, "outcome=asked tool=look toolset=demo": 1, "outcome=replayed tool=look toolset=demo": 1, "outcome=invalid tool=look toolset=demo": 1,
		"outcome=denied tool=look toolset=demo": 1, "outcome=ok tool=look toolset=other": 1,
	}
	if fmt.Sprint(calls) != fmt.Sprint(wantCalls) {
		t.Errorf("got  %v\nwant %v", calls, wantCalls)
	}
}

// TestBuckets checks that the buckets advised by OpenTelemetry exist, with finer ones below and,
// for sessions, coarser ones above, and that they are cumulative.
func TestBuckets(t *testing.T) {
	advised := []float64{.01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 30, 60, 120, 300}
	var s stats.Stats
	for _, took := range []time.Duration{time.Microsecond, 15 * time.Millisecond, 400 * time.Second} {
		s.Observe("demo/look", "ok", took)
		s.ObserveSession(took)
	}
	families := scrape(t, httpapi.Metrics(&s, "1"))
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
	more := prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "remit_sessions", Help: "Sessions \\ that are\nopen."}, func() float64 { return 7 })
	m := httpapi.Metrics(&stats.Stats{}, "1.2\n\"3\"\\", more)
	families := scrape(t, m)
	if g := families["remit_sessions"]; g.GetMetric()[0].GetGauge().GetValue() != 7 || g.GetHelp() != "Sessions \\ that are\nopen." {
		t.Errorf("remit_sessions: %v", g)
	}
	if got := series(families["remit_build_info"]); got["goversion="+runtime.Version()+" version=1.2\n\"3\"\\"] == nil {
		t.Errorf("remit_build_info: %v", got)
	}
	positive := []string{"go_goroutines", "go_memstats_heap_alloc_bytes", "go_memstats_heap_inuse_bytes", "go_memstats_sys_bytes", "go_memstats_alloc_bytes_total", "go_gc_cycles_total"}
	runtime.GC()
	if runtime.GOOS == "linux" {
		positive = append(positive, "process_resident_memory_bytes", "process_open_fds", "process_start_time_seconds")
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

// TestNamesAndLabels checks the names that dashboards rely on; the Prometheus clients may add
// others.
func TestNamesAndLabels(t *testing.T) {
	var s stats.Stats
	s.Observe("demo/look", "denied", time.Millisecond)
	s.Observe("resources/read", "ok", time.Millisecond)
	families := scrape(t, httpapi.Metrics(&s, "1"))
	got := map[string]string{}
	for name, family := range families {
		labels := map[string]bool{}
		for _, m := range family.GetMetric() {
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = true
			}
		}
		got[name] = fmt.Sprint(family.GetType(), slices.Sorted(maps.Keys(labels)))
	}
	want := map[string]string{
		"mcp_server_operation_duration_seconds": "HISTOGRAM [error_type gen_ai_operation_name gen_ai_tool_name mcp_method_name]",
		"mcp_server_session_duration_seconds":   "HISTOGRAM []",
		"remit_calls_total":                     "COUNTER [outcome tool toolset]",
		"remit_build_info":                      "GAUGE [goversion version]",
		"go_goroutines":                         "GAUGE []",
		"go_memstats_heap_alloc_bytes":          "GAUGE []",
		"go_memstats_heap_inuse_bytes":          "GAUGE []",
		"go_memstats_sys_bytes":                 "GAUGE []",
		"go_memstats_alloc_bytes_total":         "COUNTER []",
		"go_gc_cycles_total":                    "COUNTER []",
	}
	if runtime.GOOS == "linux" {
		want["process_start_time_seconds"], want["process_cpu_seconds_total"] = "GAUGE []", "COUNTER []"
		want["process_resident_memory_bytes"], want["process_open_fds"] = "GAUGE []", "GAUGE []"
	}
	for name, described := range want {
		if got[name] != described {
			t.Errorf("%s: got %s, want %s", name, got[name], described)
		}
	}
	for name := range got {
		if !strings.HasPrefix(name, "go_") && !strings.HasPrefix(name, "process_") && want[name] == "" {
			t.Errorf("%s is new", name)
		}
	}
}

// TestLabelsAreBounded checks that only existing tools are counted, and that special
// characters in a label do not break the format.
func TestLabelsAreBounded(t *testing.T) {
	r := newRig(t, nil)
	for i := range 50 {
		r.do(post(fmt.Sprintf("made_up_%d", i), ""))
		r.get(fmt.Sprintf("/tools/made_up_%d", i))
	}
	r.handler = func(context.Context, in) (out, error) { return out{}, contract.Errorf(contract.Conflict, "it changed") }
	r.do(post("look", ""))
	if got := series(scrape(t, r.api.Metrics)["remit_calls_total"]); len(got) != 1 || got["outcome=conflict tool=look toolset=demo"] == nil {
		t.Errorf("counted %v, want the one call of a tool", got)
	}
	var s stats.Stats
	s.Observe("demo/a\"\xff\n\\", "ok", 0)
	if got := series(scrape(t, httpapi.Metrics(&s, "1"))["remit_calls_total"]); got["outcome=ok tool=a\"\ufffd\n\\ toolset=demo"] == nil {
		t.Errorf("counted %v", got)
	}
}

func TestMetricsRoute(t *testing.T) {
	r := newRig(t, nil)
	r.do(post("look", ""))
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
