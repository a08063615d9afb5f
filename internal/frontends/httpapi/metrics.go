package httpapi

import (
	"net/http"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"remit/internal/engine/stats"
	"remit/internal/engine/telemetry"
)

// Metrics returns the handler of GET /metrics for Prometheus. Metric names follow the OpenTelemetry
// conventions for MCP where they exist, and those of the Prometheus clients for the process.
func Metrics(counts *stats.Stats, version string, more ...prometheus.Collector) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(more...)
	registry.MustRegister(
		statsCollector{counts}, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "go_gc_cycles_total", Help: "Garbage collections so far."}, func() float64 {
			var collections debug.GCStats
			debug.ReadGCStats(&collections)
			return float64(collections.NumGC)
		}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "remit_build_info", Help: "Version of the program.",
			ConstLabels: prometheus.Labels{"version": version, "goversion": runtime.Version()},
		}, func() float64 { return 1 }),
	)
	handler := promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		handler.ServeHTTP(w, r)
	})
}

// statsCollector exports the counts of stats.
type statsCollector struct{ *stats.Stats }

// Describe sends nothing: labels without a value are omitted, so the labels of a metric vary.
func (statsCollector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector. It adds up lines that the conventions do not
// distinguish: a series must not appear twice.
func (c statsCollector) Collect(out chan<- prometheus.Metric) {
	lines := c.Snapshot()
	order, took := telemetry.Operations(lines)
	for _, o := range order {
		out <- histogram("mcp_server_operation_duration_seconds",
			"Duration of calls through any front end (mcp.server.operation.duration).", took[o],
			"mcp_method_name", o.Method, "gen_ai_operation_name", o.Name, "gen_ai_tool_name", o.Tool, "error_type", o.Error)
	}
	out <- histogram("mcp_server_session_duration_seconds",
		"Duration of sessions that have ended (mcp.server.session.duration).", c.Sessions())
	for _, l := range lines {
		if telemetry.IsMethod(l.Tool) {
			continue
		}
		set, tool := telemetry.SplitTool(l.Tool)
		d, values := describe("remit_calls_total", "Tool calls by outcome: ok, replayed, asked, or the kind of error.",
			"toolset", set, "tool", tool, "outcome", l.Outcome)
		out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(l.Calls), values...)
	}
}

func histogram(name, help string, d stats.Distribution, labels ...string) prometheus.Metric {
	var below uint64
	buckets := make(map[float64]uint64, len(d.Bounds))
	for i, bound := range d.Bounds {
		below += d.Counts[i]
		buckets[bound.Seconds()] = below
	}
	described, values := describe(name, help, labels...)
	return prometheus.MustNewConstHistogram(described, d.Total(), d.Sum.Seconds(), buckets, values...)
}

// describe returns a description with the labels that have a value. The labels are alternating
// names and values.
func describe(name, help string, labels ...string) (d *prometheus.Desc, values []string) {
	var names []string
	for i := 0; i+1 < len(labels); i += 2 {
		if labels[i+1] != "" {
			names, values = append(names, labels[i]), append(values, strings.ToValidUTF8(labels[i+1], "\ufffd"))
		}
	}
	return prometheus.NewDesc(name, help, names, nil), values
}
