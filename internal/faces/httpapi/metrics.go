package httpapi

import (
	"net/http"
	"os"
	"runtime"
	"time"

	"remit/internal/engine/stats"
	"remit/internal/engine/telemetry"
)

// Gauge is a number that somebody else keeps, and gives when it is asked for.
type Gauge struct {
	Name, Help string
	Value      func() float64 // must be quick, and safe for concurrent use
}

// Metrics answers Prometheus: GET /metrics. Names follow the conventions of
// OpenTelemetry for MCP where there is one, and those of Prometheus' own clients
// for the process.
type Metrics struct {
	Stats   *stats.Stats
	Gauges  []Gauge
	Version string    // of the program
	Started time.Time // when the program started; zero if that is not known
}

func (m *Metrics) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	var e exposition
	lines := m.Stats.Snapshot()
	appendOperations(&e, lines)
	appendSessions(&e, m.Stats.Sessions())
	appendCalls(&e, lines)
	for _, g := range m.Gauges {
		e.single(g.Name, "gauge", g.Help, g.Value())
	}
	m.appendProgram(&e)
	appendRuntime(&e)
	appendProcess(&e, stats.ReadProcess(os.DirFS("/proc/self")))
	header := w.Header()
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = w.Write(e.text) // a client that has gone cannot be told
}

// appendOperations sums up lines that the conventions do not tell apart: a series
// must not stand there twice.
func appendOperations(e *exposition, lines []stats.Line) {
	const name = "mcp_server_operation_duration_seconds"
	e.family(name, "histogram", "How long calls took, whichever face they came in by (mcp.server.operation.duration).")
	order, took := telemetry.Operations(lines)
	for _, o := range order {
		e.histogram(name, took[o], "mcp_method_name", o.Method, "gen_ai_operation_name", o.Name, "gen_ai_tool_name", o.Tool, "error_type", o.Error)
	}
}

func appendSessions(e *exposition, lasted stats.Distribution) {
	const name = "mcp_server_session_duration_seconds"
	e.family(name, "histogram", "How long sessions that have ended lasted (mcp.server.session.duration).")
	e.histogram(name, lasted)
}

func appendCalls(e *exposition, lines []stats.Line) {
	const name = "remit_calls_total"
	e.family(name, "counter", "Calls of tools by what they came to: ok, replayed, asked, or the kind of failure.")
	for _, l := range lines {
		if !telemetry.IsMethod(l.Tool) {
			set, tool := telemetry.SplitTool(l.Tool)
			e.sample(name, float64(l.Calls), "toolset", set, "tool", tool, "outcome", l.Outcome)
		}
	}
}

func (m *Metrics) appendProgram(e *exposition) {
	const name = "remit_build_info"
	e.family(name, "gauge", "Which program this is.")
	e.sample(name, 1, "version", m.Version, "goversion", runtime.Version())
	if !m.Started.IsZero() {
		e.single("process_start_time_seconds", "gauge", "When the program started, in seconds since 1970.", float64(m.Started.UnixMilli())/1000)
	}
}

// appendRuntime tells of Go's own state. runtime/metrics would not stop the world
// for some microseconds, but costs every start of the program some.
func appendRuntime(e *exposition) {
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	e.single("go_goroutines", "gauge", "Goroutines there are now.", float64(runtime.NumGoroutine()))
	e.single("go_memstats_heap_alloc_bytes", "gauge", "Bytes of the heap that live objects take, and dead ones that are not yet swept.", float64(memory.HeapAlloc))
	e.single("go_memstats_heap_inuse_bytes", "gauge", "Bytes of the heap in spans that hold an object.", float64(memory.HeapInuse))
	e.single("go_memstats_sys_bytes", "gauge", "Bytes that Go has from the system.", float64(memory.Sys))
	e.single("go_memstats_alloc_bytes_total", "counter", "Bytes that were ever allocated on the heap.", float64(memory.TotalAlloc))
	e.single("go_gc_cycles_total", "counter", "Garbage collections so far.", float64(memory.NumGC))
}

// appendProcess leaves out what this system does not tell.
func appendProcess(e *exposition, p stats.Process) {
	if p.Known {
		e.single("process_cpu_seconds_total", "counter", "CPU time spent, by the user and the system.", p.User+p.System)
		e.single("process_resident_memory_bytes", "gauge", "Memory that is in RAM.", float64(p.Resident))
	}
	if p.OpenFiles >= 0 {
		e.single("process_open_fds", "gauge", "Open file descriptors.", float64(p.OpenFiles))
	}
}
