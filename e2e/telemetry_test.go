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

// The trace that the caller of these tests is in.
const (
	callerTrace = "4bf92f3577b34da6a3ce929d0e0e4736"
	callerSpan  = "00f067aa0ba902b7"
	traceparent = "00-" + callerTrace + "-" + callerSpan + "-01"
)

// unspoken is an argument: telemetry tells of calls, not of what they are about.
const unspoken = "Unspokenname"

// collect starts a collector for a protocol, and gives the variables that lead to it.
func collect(t *testing.T, c *otlptest.Collector, protocol string) []string {
	t.Helper()
	address := c.Serve(t, protocol)
	return []string{
		"OTEL_EXPORTER_OTLP_ENDPOINT=" + address, "OTEL_EXPORTER_OTLP_PROTOCOL=" + protocol,
		"OTEL_EXPORTER_OTLP_HEADERS=api-key=" + unspoken, "OTEL_SERVICE_NAME=telemetry-test",
	}
}

// callers are the ways to call hello in a trace; each ends the program.
var callers = map[string]func(s *space, env []string){
	"stdio": func(s *space, env []string) {
		server := s.stdioWith(env)
		server.greet(`{}`)
		server.result(server.ask("tools/call", fmt.Sprintf(`{"name":"hello","arguments":{"name":%q},"_meta":{"traceparent":%q}}`, unspoken, traceparent)))
		server.end()
	},
	"serve, MCP": func(s *space, env []string) {
		w := s.serveWith(env)
		params := modernParams(fmt.Sprintf(`"name":"hello","arguments":{"name":%q}`, unspoken), `{}`)
		params = strings.Replace(params, `"_meta":{`, fmt.Sprintf(`"_meta":{"traceparent":%q,`, traceparent), 1)
		header := modernHeaders("tools/call", "hello")
		header.Set("Traceparent", "00-"+strings.Repeat("ab", 16)+"-"+callerSpan+"-00") // of a proxy, which does not count
		if got := w.post("/mcp", requestLine("1", "tools/call", params), header); got.status != http.StatusOK {
			s.t.Errorf("status %d: %s", got.status, clip(got.body))
		}
		w.end()
	},
	"serve, plain": func(s *space, env []string) {
		w := s.serveWith(env)
		if got := w.post("/tools/hello", fmt.Sprintf(`{"name":%q}`, unspoken), http.Header{"Traceparent": {traceparent}}); got.status != http.StatusOK {
			s.t.Errorf("status %d: %s", got.status, clip(got.body))
		}
		w.end()
	},
	"call": func(s *space, env []string) {
		s.env = append(env, "TRACEPARENT="+traceparent)
		if got := s.remit("call", "hello", "name="+unspoken); got.code != 0 || got.errOut != "" {
			s.t.Errorf("exit %d: %s", got.code, got.errOut)
		}
	},
}

// TestTelemetryArrives: one call is a span, a number and a line of the log at the collector,
// all in the trace of the caller, over each protocol and by each face.
func TestTelemetryArrives(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{"grpc", "http/protobuf"} {
		for name, call := range callers {
			t.Run(protocol+" "+name, func(t *testing.T) {
				t.Parallel()
				c := &otlptest.Collector{}
				call(newSpace(t, nil), collect(t, c, protocol))
				c.Lock()
				defer c.Unlock()
				if len(c.Errors) > 0 || len(c.Spans) != 1 || len(c.Metrics) == 0 || len(c.Logs) == 0 {
					t.Fatalf("wrong %q; %d of traces, %d of metrics, %d of logs", c.Errors, len(c.Spans), len(c.Metrics), len(c.Logs))
				}
				span := tracedCall(t, c)
				recordOf(t, c, span)
				exampleOf(t, c, span)
				if text := fmt.Sprint(c.Spans, c.Metrics, c.Logs); strings.Contains(text, unspoken) {
					t.Errorf("an argument or a secret is told: %s", text)
				}
			})
		}
	}
}

// TestTelemetryQuotesNobody: calls that fail are told of without what they were about, on
// stdio and over HTTP, whoever is at fault.
func TestTelemetryQuotesNobody(t *testing.T) {
	t.Parallel()
	failing := [][2]string{
		{"tools/call", `"name":"add_task","arguments":{"user_id":"` + unspoken + `","title":"x","` + unspoken + `":1}`},
		{"tools/call", `"name":"list_tasks","arguments":{"user_id":"ada","status":"` + unspoken + `"}`},
		{"tools/call", `"name":"read_repo_file","arguments":{"path":"docs/` + unspoken + `.md"}`},
		{"tools/call", `"name":"read_repo_file","arguments":{"path":"../` + unspoken + `"}`},
		{"tools/call", `"name":"read_file","arguments":{"path":"` + unspoken + `"}`},
		{"tools/call", `"name":"grep_codebase","arguments":{"pattern":"` + unspoken + `["}`},
		{"tools/call", `"name":"` + unspoken + `","arguments":{}`},
		{"prompts/get", `"name":"` + unspoken + `","arguments":{}`},
		{"resources/read", `"uri":"memory://` + unspoken + `"`},
	}
	for name, call := range map[string]func(s *space, env []string){
		"stdio": func(s *space, env []string) {
			server := s.stdioWith(env)
			server.greet(`{}`)
			for _, f := range failing {
				server.ask(f[0], "{"+f[1]+"}")
			}
			server.end()
		},
		"serve": func(s *space, env []string) {
			w := s.serveWith(env)
			begun := w.post("/mcp", requestLine("1", "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}`), nil)
			header := http.Header{"Mcp-Session-Id": begun.header["Mcp-Session-Id"], "Mcp-Protocol-Version": {legacyVersion}}
			for _, f := range failing {
				w.post("/mcp", requestLine("2", f[0], "{"+f[1]+"}"), header)
			}
			w.post("/tools/hello?access_token="+unspoken, `{}`, nil)
			w.post("/tools/hello", `{}`, bearer(unspoken))
			w.end()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &otlptest.Collector{}
			call(newSpace(t, map[string]string{"docs/a.md": "A\n"}), collect(t, c, "http/protobuf"))
			c.Lock()
			defer c.Unlock()
			if len(c.Spans) == 0 || len(c.Logs) == 0 || len(c.Metrics) == 0 {
				t.Fatalf("%d of traces, %d of metrics, %d of logs", len(c.Spans), len(c.Metrics), len(c.Logs))
			}
			if text := fmt.Sprint(c.Spans, c.Metrics, c.Logs); strings.Contains(text, unspoken) {
				at := strings.Index(text, unspoken)
				t.Errorf("it is told: %s", text[max(0, at-300):min(len(text), at+100)])
			}
		})
	}
}

// tracedCall checks the one span, and gives its id.
func tracedCall(t *testing.T, c *otlptest.Collector) (span string) {
	t.Helper()
	resource := c.Spans[0].ResourceSpans[0]
	if name := attribute(resource.Resource.Attributes, "service.name"); name != "telemetry-test" {
		t.Errorf("service %s", name)
	}
	spans := resource.ScopeSpans[0].Spans
	if len(spans) != 1 {
		t.Fatalf("%d spans, want that of hello alone", len(spans))
	}
	got := spans[0]
	trace, parent := hex.EncodeToString(got.TraceId), hex.EncodeToString(got.ParentSpanId)
	if got.Name != "tools/call hello" || trace != callerTrace || parent != callerSpan || attribute(got.Attributes, "remit.outcome") != "ok" {
		t.Errorf("got %v in trace %s beneath %s", got, trace, parent)
	}
	return hex.EncodeToString(got.SpanId)
}

// recordOf finds the line of the call.
func recordOf(t *testing.T, c *otlptest.Collector, span string) {
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
	t.Errorf("no line of the call: %v", c.Logs)
}

// exampleOf finds the call among the numbers, where it leads to its trace.
func exampleOf(t *testing.T, c *otlptest.Collector, span string) {
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

// notSent is what the log says if the collector cannot be reached.
var notSent = regexp.MustCompile(`(?m)^\S+ WRN telemetry was not sent signal=(traces|metrics|logs) lost=\d+ error=.*\n`)

// TestTelemetryIsNeverInTheWay: with a collector that is dead or never answers, no call waits
// for it, and the program ends.
func TestTelemetryIsNeverInTheWay(t *testing.T) {
	dead, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dead.Close()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // the system takes connections, and nobody reads from them
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	for name, address := range map[string]net.Addr{"dead": dead.Addr(), "silent": silent.Addr()} {
		for _, protocol := range []string{"grpc", "http/protobuf"} {
			t.Run(name+" "+protocol, func(t *testing.T) {
				env := []string{
					"OTEL_EXPORTER_OTLP_ENDPOINT=http://" + address.String(), "OTEL_EXPORTER_OTLP_PROTOCOL=" + protocol, "OTEL_METRIC_EXPORT_INTERVAL=100",
					"OTEL_BSP_SCHEDULE_DELAY=10", "OTEL_BLRP_SCHEDULE_DELAY=10", "OTEL_BSP_MAX_QUEUE_SIZE=64", "OTEL_BLRP_MAX_QUEUE_SIZE=64",
				}
				on := newSpace(t, nil).stdioWith(append(env, "REMIT_RATE_LIMITS=off"))
				on.greet(`{}`)
				for range 1000 { // one that waited for the collector would wait for seconds, and all of them for longer than a test may hang
					if got := on.call("hello", `{"name":"Ada"}`); got.failed {
						t.Fatalf("%s", got.text)
					}
				}
				on.stdin.Close()
				done := make(chan error, 1)
				go func() { done <- on.cmd.Wait() }()
				select {
				case <-done: // how it ended is in ProcessState
				case <-time.After(patience):
					t.Fatal("the program does not end")
				}
				told := on.stderr.String()
				if code := on.cmd.ProcessState.ExitCode(); code != 0 || notSent.ReplaceAllString(complaints(told), "") != "" {
					t.Errorf("exit %d: %s", code, told)
				}
				if n := len(notSent.FindAllString(told, -1)); n < 3 || n > 9 {
					t.Errorf("it tells %d times what was lost: %s", n, told)
				}
			})
		}
	}
}

// TestTelemetrySaysWhatIsWrong: a variable that cannot be understood is one line, and the
// program works.
func TestTelemetrySaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	s := newSpace(t, nil)
	for _, tc := range []struct{ env, says string }{
		{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=nowhere", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"},
		{"OTEL_TRACES_EXPORTER=console", "OTEL_TRACES_EXPORTER"},
	} {
		s.env = []string{tc.env}
		got := s.remit("call", "hello", "name=Ada")
		if got.code != 0 || strings.Count(got.errOut, "\n") != 1 || !strings.Contains(got.errOut, tc.says) {
			t.Errorf("%s: exit %d: %q", tc.env, got.code, got.errOut)
		}
	}
}

// TestTelemetryWithoutJSON: http/json gives a warning, and everything is sent as protobuf.
func TestTelemetryWithoutJSON(t *testing.T) {
	t.Parallel()
	c := &otlptest.Collector{}
	s := newSpace(t, nil)
	s.env = []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.HTTP(t), "OTEL_EXPORTER_OTLP_PROTOCOL=http/json"}
	got := s.remit("call", "hello", "name=Ada")
	if got.code != 0 || strings.Count(got.errOut, "\n") != 1 || !strings.Contains(got.errOut, "OTEL_EXPORTER_OTLP_PROTOCOL") || !strings.Contains(got.errOut, "http/protobuf is used") {
		t.Errorf("exit %d: %q", got.code, got.errOut)
	}
	c.Lock()
	defer c.Unlock()
	if len(c.Errors) > 0 || len(c.Spans) != 1 || len(c.Metrics) == 0 || len(c.Logs) == 0 {
		t.Errorf("wrong %q; %d of traces, %d of metrics, %d of logs", c.Errors, len(c.Spans), len(c.Metrics), len(c.Logs))
	}
}

// TestSlowCallsAreTold: a call past the maximum of its contract is a warning, on stdio too.
func TestSlowCallsAreTold(t *testing.T) {
	t.Parallel()
	s := newSpace(t, map[string]string{"remit.yaml": "tools:\n  slow_compute: {deadline: 100ms}\n"}) // times the factor of the tests
	server := s.stdio("--toolsets", "conformance")
	server.greet(`{}`)
	if got := server.ask("tools/call", `{"name":"slow_compute","arguments":{"seconds":0}}`); got.Error != nil {
		t.Errorf("got %s", clip(got.raw))
	}
	server.ask("tools/call", `{"name":"slow_compute","arguments":{"seconds":60}}`)
	server.stdin.Close()
	_ = server.cmd.Wait() // how it ended is in ProcessState
	told := regexp.MustCompile(`(?m)^\S+ WRN call tool=conformance/slow_compute caller=\S+ outcome=unavailable took=[1-9]\S* bytes=\d+`).FindAllString(server.stderr.String(), -1)
	if len(told) != 1 {
		t.Errorf("want one warning of the slow call, got %q", server.stderr)
	}
}
