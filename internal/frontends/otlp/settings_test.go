package otlp_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"remit/internal/frontends/otlp"
	"remit/internal/frontends/otlp/otlptest"
)

func TestEndpoint(t *testing.T) {
	const general, own, protocol = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_PROTOCOL"
	for _, tc := range []struct {
		name   string
		env    map[string]string
		want   string
		warned string
	}{
		{"nothing", nil, "off", ""},
		{"empty", map[string]string{general: " "}, "off", ""},
		{"general", map[string]string{general: "http://c:4318"}, "http/protobuf http://c:4318/v1/traces", ""},
		{"general with a path", map[string]string{general: "https://c/base/"}, "http/protobuf https://c/base/v1/traces", ""},
		{"its own", map[string]string{own: "http://c/own"}, "http/protobuf http://c/own", ""},
		{"its own without a path", map[string]string{own: "http://c:4318", general: "http://other"}, "http/protobuf http://c:4318", ""},
		{"that of another signal", map[string]string{"OTEL_EXPORTER_OTLP_LOGS_ENDPOINT": "http://c"}, "off", ""},
		{"asked for", map[string]string{"OTEL_TRACES_EXPORTER": "otlp"}, "http/protobuf http://localhost:4318/v1/traces", ""},
		{"asked for over gRPC", map[string]string{"OTEL_TRACES_EXPORTER": "OTLP", protocol: "grpc"}, "grpc http://localhost:4317", ""},
		{"not wanted", map[string]string{general: "http://c", "OTEL_TRACES_EXPORTER": "none"}, "off", ""},
		{"something else", map[string]string{general: "http://c", "OTEL_TRACES_EXPORTER": "console"}, "off", "OTEL_TRACES_EXPORTER"},
		{"something else too", map[string]string{general: "http://c", "OTEL_TRACES_EXPORTER": "console, otlp"}, "http/protobuf http://c/v1/traces", "OTEL_TRACES_EXPORTER"},
		{"disabled", map[string]string{general: "http://c", "OTEL_SDK_DISABLED": "TRUE"}, "off", ""},
		{"not disabled", map[string]string{general: "http://c", "OTEL_SDK_DISABLED": "1"}, "http/protobuf http://c/v1/traces", "OTEL_SDK_DISABLED"},
		{"json, no longer supported", map[string]string{general: "http://c", protocol: "http/json"}, "http/protobuf http://c/v1/traces", protocol},
		{"a protocol of its own", map[string]string{general: "http://c", protocol: "http/protobuf", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "grpc"}, "grpc http://c", ""},
		{"an unknown protocol", map[string]string{general: "http://c", protocol: "smoke"}, "http/protobuf http://c/v1/traces", protocol},
		{"gRPC by host and port", map[string]string{general: "c:4317", protocol: "grpc"}, "grpc https://c:4317", ""},
		{"host and port without TLS", map[string]string{general: "c:4317", protocol: "grpc", "OTEL_EXPORTER_OTLP_INSECURE": "true"}, "grpc http://c:4317", ""},
		{"a scheme takes precedence", map[string]string{general: "https://c", protocol: "grpc", "OTEL_EXPORTER_OTLP_INSECURE": "true"}, "grpc https://c", ""},
		{"no address", map[string]string{general: "c:4318"}, "error OTEL_EXPORTER_OTLP_ENDPOINT: use a URL such as http://localhost:4318", ""},
		{"no scheme that we know", map[string]string{own: "unix:///tmp/x"}, "error OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: use a URL such as http://localhost:4318", ""},
		{"no host", map[string]string{general: "http://"}, "error OTEL_EXPORTER_OTLP_ENDPOINT: use a URL such as http://localhost:4318", ""},
	} {
		var warned []string
		how, where, _, err := otlp.Endpoint(lookup(tc.env), "TRACES", func(name, _ string) { warned = append(warned, name) })
		got := strings.TrimSpace(how + " " + where)
		if err != nil {
			got = "error " + err.Error()
		}
		if got != tc.want || strings.Join(warned, " ") != tc.warned {
			t.Errorf("%s: got %s (warned of %v), want %s (%s)", tc.name, got, warned, tc.want, tc.warned)
		}
	}
}

func TestHeaders(t *testing.T) {
	var warned []string
	_, _, got, err := otlp.Endpoint(lookup(map[string]string{
		"OTEL_TRACES_EXPORTER":       "otlp",
		"OTEL_EXPORTER_OTLP_HEADERS": "api-key=a%3Db%2C%20c, X-Tenant = t ,b ad=1,nl=a%0d%0aX:y,geheim",
	}), "TRACES", func(_, why string) { warned = append(warned, why) })
	if err != nil || len(got) != 2 || got["api-key"] != "a=b, c" || got["X-Tenant"] != "t" || len(warned) != 3 || strings.Contains(strings.Join(warned, " "), "geheim") {
		t.Errorf("got %v (%v), warned %q", got, err, warned)
	}
	_, _, got, _ = otlp.Endpoint(lookup(map[string]string{
		"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_HEADERS": "a=1", "OTEL_EXPORTER_OTLP_TRACES_HEADERS": "b=2",
	}), "TRACES", nil)
	if len(got) != 1 || got["b"] != "2" {
		t.Errorf("headers of its own: got %v", got)
	}
}

// TestWarnsOnce checks that an invalid setting gives one warning a signal, and that other
// signals are exported.
func TestWarnsOnce(t *testing.T) {
	c := &otlptest.Collector{}
	address := c.HTTP(t)
	log := export(t, map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT": address, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "nowhere", "OTEL_EXPORTER_OTLP_METRICS_CERTIFICATE": "/there/is/none",
		// Read by all three signals.
		"OTEL_BSP_SCHEDULE_DELAY": "soon", "OTEL_EXPORTER_OTLP_TIMEOUT": "long",
	})
	if strings.Count(log, "\n") != 4 || strings.Count(log, "signal=traces") != 1 || strings.Count(log, "signal=metrics") != 1 || strings.Count(log, "OTEL_BSP_SCHEDULE_DELAY") != 1 || strings.Count(log, "OTLP_TIMEOUT") != 1 {
		t.Errorf("log %q", log)
	}
	if len(c.Spans)+len(c.Metrics) != 0 || len(c.Logs) != 1 {
		t.Errorf("%d of traces, %d of metrics, %d of logs; want the last alone", len(c.Spans), len(c.Metrics), len(c.Logs))
	}
}

// TestOffWithoutSignals checks that telemetry is off if no signal can be exported.
func TestOffWithoutSignals(t *testing.T) {
	if log := export(t, nil); log != "off" {
		t.Errorf("without a variable: %q", log)
	}
	if log := export(t, map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "nowhere"}); !strings.HasSuffix(log, "off") || strings.Count(log, "\n") != 1 {
		t.Errorf("log %q", log)
	}
}

// TestEndpointPaths checks that a signal's own endpoint is used unchanged, and that the general one
// gets the path of each signal.
func TestEndpointPaths(t *testing.T) {
	c := &otlptest.Collector{}
	address := c.HTTP(t)
	export(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": address + "/base", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": address + "/own/path", "OTEL_METRICS_EXPORTER": "none"})
	if len(c.Spans) != 1 || len(c.Logs) != 1 || c.Requests != 2 {
		t.Errorf("asked for %v", c.Paths)
	}
}

// FuzzEnvironment checks that any value of the variables gives a valid endpoint and valid headers,
// or an error that does not quote the value.
func FuzzEnvironment(f *testing.F) {
	f.Add("http://localhost:4318", "grpc", "a=b,c=%20")
	f.Add("localhost:4317", "http/json", "=,%zz=1,a=%0a")
	f.Add("http://ada:geheim@[::1]:1/x?y#z", "", "geheim")
	f.Fuzz(func(t *testing.T, endpoint, protocol, headers string) {
		var syncBuffer []string
		_, where, got, err := otlp.Endpoint(lookup(map[string]string{
			"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_EXPORTER_OTLP_PROTOCOL": protocol, "OTEL_EXPORTER_OTLP_HEADERS": headers,
		}), "TRACES", func(name, why string) { syncBuffer = append(syncBuffer, name, why) })
		if err != nil {
			syncBuffer = append(syncBuffer, err.Error())
		}
		for _, text := range syncBuffer {
			if strings.Contains(text, "geheim") {
				t.Errorf("log %q", text)
			}
		}
		if err != nil || where == "off" {
			return
		}
		if u, err := url.Parse(where); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			t.Errorf("%q leads to %q: %v", endpoint, where, err)
		}
		r, err := http.NewRequest(http.MethodPost, where, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range got {
			r.Header.Set(name, value)
		}
		r.URL.Host = "127.0.0.1"
		if err := r.Write(discard{}); err != nil {
			t.Errorf("headers %q cannot be sent: %v", got, err)
		}
	})
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
