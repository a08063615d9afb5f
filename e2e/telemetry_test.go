package e2e

import (
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"

	"remit/internal/frontends/otlp/otlptest"
)

// The trace context of the caller in these tests.
const (
	callerTrace = "4bf92f3577b34da6a3ce929d0e0e4736"
	callerSpan  = "00f067aa0ba902b7"
	traceparent = "00-" + callerTrace + "-" + callerSpan + "-01"
)

// secretArgument is an argument that telemetry must not contain.
const secretArgument = "Unspokenname"

// startCollector starts a collector for a protocol, and returns the environment variables for it.
func startCollector(t *testing.T, c *otlptest.Collector, protocol string) []string {
	t.Helper()
	address := c.Serve(t, protocol)
	return []string{
		"OTEL_EXPORTER_OTLP_ENDPOINT=" + address, "OTEL_EXPORTER_OTLP_PROTOCOL=" + protocol,
		"OTEL_EXPORTER_OTLP_HEADERS=api-key=" + secretArgument, "OTEL_SERVICE_NAME=telemetry-test",
	}
}

// callers are the ways to call hello in a trace. Each one ends the program.
var callers = map[string]func(s *workspace, env []string){
	"stdio": func(s *workspace, env []string) {
		server := s.stdioWith(env)
		server.initialize(`{}`)
		server.result(server.ask("tools/call", fmt.Sprintf(`{"name":"hello","arguments":{"name":%q},"_meta":{"traceparent":%q}}`, secretArgument, traceparent)))
		server.end()
	},
	"serve, MCP": func(s *workspace, env []string) {
		w := s.serveWith(env)
		params := modernParams(fmt.Sprintf(`"name":"hello","arguments":{"name":%q}`, secretArgument), `{}`)
		params = strings.Replace(params, `"_meta":{`, fmt.Sprintf(`"_meta":{"traceparent":%q,`, traceparent), 1)
		header := modernHeaders("tools/call", "hello")
		// A proxy's header, which must not be used.
		header.Set("Traceparent", "00-"+strings.Repeat("ab", 16)+"-"+callerSpan+"-00")
		if got := w.post("/mcp", requestLine("1", "tools/call", params), header); got.status != http.StatusOK {
			s.t.Errorf("status %d: %s", got.status, clip(got.body))
		}
		w.end()
	},
	"serve, plain": func(s *workspace, env []string) {
		w := s.serveWith(env)
		if got := w.post("/tools/hello", fmt.Sprintf(`{"name":%q}`, secretArgument), http.Header{"Traceparent": {traceparent}}); got.status != http.StatusOK {
			s.t.Errorf("status %d: %s", got.status, clip(got.body))
		}
		w.end()
	},
	"call": func(s *workspace, env []string) {
		s.env = append(env, "TRACEPARENT="+traceparent)
		if got := s.remit("call", "hello", "name="+secretArgument); got.code != 0 || got.errOut != "" {
			s.t.Errorf("exit %d: %s", got.code, got.errOut)
		}
	},
}

// TestTelemetryArrives checks for each protocol and each front end that a call produces a span, a
// metric and a log record in the caller's trace.
func TestTelemetryArrives(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{"grpc", "http/protobuf"} {
		for name, call := range callers {
			t.Run(protocol+" "+name, func(t *testing.T) {
				t.Parallel()
				c := &otlptest.Collector{}
				call(newWorkspace(t, nil), startCollector(t, c, protocol))
				c.Lock()
				defer c.Unlock()
				if len(c.Errors) > 0 || len(c.Spans) != 1 || len(c.Metrics) == 0 || len(c.Logs) == 0 {
					t.Fatalf("errors %q; %d trace, %d metric and %d log requests", c.Errors, len(c.Spans), len(c.Metrics), len(c.Logs))
				}
				span := checkSpan(t, c)
				checkLogRecord(t, c, span)
				checkExemplar(t, c, span)
				if text := fmt.Sprint(c.Spans, c.Metrics, c.Logs); strings.Contains(text, secretArgument) {
					t.Errorf("telemetry contains an argument or a secret: %s", text)
				}
			})
		}
	}
}

// TestTelemetryOmitsArguments checks that telemetry about failed calls does not contain arguments,
// on stdio and over HTTP.
func TestTelemetryOmitsArguments(t *testing.T) {
	t.Parallel()
	failing := [][2]string{
		{"tools/call", `"name":"add_task","arguments":{"user_id":"` + secretArgument + `","title":"x","` + secretArgument + `":1}`},
		{"tools/call", `"name":"list_tasks","arguments":{"user_id":"ada","status":"` + secretArgument + `"}`},
		{"tools/call", `"name":"read_repo_file","arguments":{"path":"docs/` + secretArgument + `.md"}`},
		{"tools/call", `"name":"read_repo_file","arguments":{"path":"../` + secretArgument + `"}`},
		{"tools/call", `"name":"read_file","arguments":{"path":"` + secretArgument + `"}`},
		{"tools/call", `"name":"grep_codebase","arguments":{"pattern":"` + secretArgument + `["}`},
		{"tools/call", `"name":"` + secretArgument + `","arguments":{}`},
		{"prompts/get", `"name":"` + secretArgument + `","arguments":{}`},
		{"resources/read", `"uri":"memory://` + secretArgument + `"`},
	}
	for name, call := range map[string]func(s *workspace, env []string){
		"stdio": func(s *workspace, env []string) {
			server := s.stdioWith(env)
			server.initialize(`{}`)
			for _, f := range failing {
				server.ask(f[0], "{"+f[1]+"}")
			}
			server.end()
		},
		"serve": func(s *workspace, env []string) {
			w := s.serveWith(env)
			begun := w.post("/mcp", requestLine("1", "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}`), nil)
			header := http.Header{"Mcp-Session-Id": begun.header["Mcp-Session-Id"], "Mcp-Protocol-Version": {legacyVersion}}
			for _, f := range failing {
				w.post("/mcp", requestLine("2", f[0], "{"+f[1]+"}"), header)
			}
			w.post("/tools/hello?access_token="+secretArgument, `{}`, nil)
			w.post("/tools/hello", `{}`, bearer(secretArgument))
			w.end()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &otlptest.Collector{}
			call(newWorkspace(t, map[string]string{"docs/a.md": "A\n"}), startCollector(t, c, "http/protobuf"))
			c.Lock()
			defer c.Unlock()
			if len(c.Spans) == 0 || len(c.Logs) == 0 || len(c.Metrics) == 0 {
				t.Fatalf("%d trace, %d metric and %d log requests", len(c.Spans), len(c.Metrics), len(c.Logs))
			}
			if text := fmt.Sprint(c.Spans, c.Metrics, c.Logs); strings.Contains(text, secretArgument) {
				at := strings.Index(text, secretArgument)
				t.Errorf("telemetry contains an argument: %s", text[max(0, at-300):min(len(text), at+100)])
			}
		})
	}
}

// checkSpan checks that there is one span, and returns its id.
func checkSpan(t *testing.T, c *otlptest.Collector) (span string) {
	t.Helper()
	resource := c.Spans[0].ResourceSpans[0]
	if name := attribute(resource.Resource.Attributes, "service.name"); name != "telemetry-test" {
		t.Errorf("service %s", name)
	}
	spans := resource.ScopeSpans[0].Spans
	if len(spans) != 1 {
		t.Fatalf("%d spans, want only that of hello", len(spans))
	}
	got := spans[0]
	trace, parent := hex.EncodeToString(got.TraceId), hex.EncodeToString(got.ParentSpanId)
	if got.Name != "tools/call hello" || trace != callerTrace || parent != callerSpan || attribute(got.Attributes, "remit.outcome") != "ok" {
		t.Errorf("got %v in trace %s with parent %s", got, trace, parent)
	}
	return hex.EncodeToString(got.SpanId)
}

// checkLogRecord checks the log record of the call.
func checkLogRecord(t *testing.T, c *otlptest.Collector, span string) {
	t.Helper()
	for _, request := range c.Logs {
		for _, r := range request.ResourceLogs[0].ScopeLogs[0].LogRecords {
			if r.Body.GetStringValue() == "call" {
				if hex.EncodeToString(r.TraceId) != callerTrace || hex.EncodeToString(r.SpanId) != span || !strings.HasSuffix(attribute(r.Attributes, "tool"), "/hello") {
					t.Errorf("got %v", r)
				}
				return
			}
		}
	}
	t.Errorf("no log record of the call: %v", c.Logs)
}

// checkExemplar checks the metric of the call and its exemplar, which refers to the trace.
func checkExemplar(t *testing.T, c *otlptest.Collector, span string) {
	t.Helper()
	last := c.Metrics[len(c.Metrics)-1].ResourceMetrics[0].ScopeMetrics[0].Metrics
	var points []*metricspb.HistogramDataPoint
	for _, m := range last {
		if m.Name == "mcp.server.operation.duration" {
			points = m.GetHistogram().GetDataPoints()
		}
	}
	if len(points) != 1 || points[0].Count != 1 || attribute(points[0].Attributes, "gen_ai.tool.name") != "hello" || len(points[0].Exemplars) != 1 {
		t.Fatalf("got %v", points)
	}
	if e := points[0].Exemplars[0]; hex.EncodeToString(e.TraceId) != callerTrace || hex.EncodeToString(e.SpanId) != span {
		t.Errorf("got %v", e)
	}
}

func attribute(list []*common.KeyValue, key string) string {
	for _, kv := range list {
		if kv.Key == key {
			return kv.Value.GetStringValue()
		}
	}
	return ""
}

// notSent matches the log line for a collector that cannot be reached.
var notSent = regexp.MustCompile(`(?m)^\S+ WRN telemetry was not sent signal=(traces|metrics|logs) lost=\d+ error=.*\n`)

// TestTelemetryNeverBlocks checks that calls do not wait for a collector that is down or never
// answers, and that the program exits.
func TestTelemetryNeverBlocks(t *testing.T) {
	t.Parallel()
	const dead = "127.0.0.1:1" // no server of another test gets this port
	// Connections are accepted, but nothing reads from them.
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { silent.Close() })
	for name, address := range map[string]string{"dead": dead, "silent": silent.Addr().String()} {
		for _, protocol := range []string{"grpc", "http/protobuf"} {
			t.Run(name+" "+protocol, func(t *testing.T) {
				t.Parallel()
				began := time.Now()
				env := []string{
					"OTEL_EXPORTER_OTLP_ENDPOINT=http://" + address, "OTEL_EXPORTER_OTLP_PROTOCOL=" + protocol, "OTEL_METRIC_EXPORT_INTERVAL=100",
					"OTEL_BSP_SCHEDULE_DELAY=10", "OTEL_BLRP_SCHEDULE_DELAY=10", "OTEL_BSP_MAX_QUEUE_SIZE=64", "OTEL_BLRP_MAX_QUEUE_SIZE=64",
				}
				on := newWorkspace(t, nil).stdioWith(append(env, "REMIT_RATE_LIMITS=off"))
				on.initialize(`{}`)
				// If each call waited for the collector, this loop would exceed the test's timeout.
				for range 1000 {
					if got := on.call("hello", `{"name":"Ada"}`); got.failed {
						t.Fatalf("%s", got.text)
					}
				}
				on.stdin.Close()
				done := make(chan error, 1)
				go func() { done <- on.cmd.Wait() }()
				select {
				case <-done: // ProcessState has the exit code
				case <-time.After(timeout):
					t.Fatal("the program does not exit")
				}
				told := on.stderr.String()
				if code := on.cmd.ProcessState.ExitCode(); code != 0 || notSent.ReplaceAllString(unexpectedLog(told), "") != "" {
					t.Errorf("exit %d: %s", code, told)
				}
				most := 9 + 3*int(time.Since(began)/time.Minute) // each signal again after a minute
				if n := len(notSent.FindAllString(told, -1)); n < 3 || n > most {
					t.Errorf("it logs %d times that telemetry was lost: %s", n, told)
				}
			})
		}
	}
}

// TestTelemetryInvalidSettings checks that an invalid variable is logged in one line, and that the
// program works.
func TestTelemetryInvalidSettings(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, nil)
	for _, tc := range []struct{ env, contains string }{
		{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=nowhere", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"},
		{"OTEL_TRACES_EXPORTER=console", "OTEL_TRACES_EXPORTER"},
	} {
		s.env = []string{tc.env}
		got := s.remit("call", "hello", "name=Ada")
		if got.code != 0 || strings.Count(got.errOut, "\n") != 1 || !strings.Contains(got.errOut, tc.contains) {
			t.Errorf("%s: exit %d: %q", tc.env, got.code, got.errOut)
		}
	}
}

// TestTelemetryWithoutJSON checks that http/json is logged as a warning, and that telemetry is sent
// as protobuf.
func TestTelemetryWithoutJSON(t *testing.T) {
	t.Parallel()
	c := &otlptest.Collector{}
	s := newWorkspace(t, nil)
	s.env = []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.HTTP(t), "OTEL_EXPORTER_OTLP_PROTOCOL=http/json"}
	got := s.remit("call", "hello", "name=Ada")
	if got.code != 0 || strings.Count(got.errOut, "\n") != 1 || !strings.Contains(got.errOut, "OTEL_EXPORTER_OTLP_PROTOCOL") || !strings.Contains(got.errOut, "http/protobuf is used") {
		t.Errorf("exit %d: %q", got.code, got.errOut)
	}
	c.Lock()
	defer c.Unlock()
	if len(c.Errors) > 0 || len(c.Spans) != 1 || len(c.Metrics) == 0 || len(c.Logs) == 0 {
		t.Errorf("errors %q; %d trace, %d metric and %d log requests", c.Errors, len(c.Spans), len(c.Metrics), len(c.Logs))
	}
}

// TestSlowCallsAreLogged checks that a call over the maximum latency of its contract is logged as a
// warning, on stdio too.
func TestSlowCallsAreLogged(t *testing.T) {
	t.Parallel()
	// Multiplied by the tests' deadline factor.
	s := newWorkspace(t, map[string]string{"remit.yaml": "tools:\n  slow_compute: {deadline: 100ms}\n"})
	server := s.stdio("--toolsets", "conformance")
	server.initialize(`{}`)
	if got := server.ask("tools/call", `{"name":"slow_compute","arguments":{"seconds":0}}`); got.Error != nil {
		t.Errorf("got %s", clip(got.raw))
	}
	server.ask("tools/call", `{"name":"slow_compute","arguments":{"seconds":60}}`)
	server.stdin.Close()
	_ = server.cmd.Wait() // ProcessState has the exit code
	told := regexp.MustCompile(`(?m)^\S+ WRN call tool=conformance/slow_compute caller=\S+ outcome=unavailable took=[1-9]\S* bytes=\d+`).FindAllString(server.stderr.String(), -1)
	if len(told) != 1 {
		t.Errorf("want one warning about the slow call, got %q", server.stderr)
	}
}
