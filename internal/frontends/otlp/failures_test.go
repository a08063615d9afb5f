package otlp_test

import (
	"context"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"remit/internal/engine/telemetry"
	"remit/internal/frontends/otlp"
	"remit/internal/frontends/otlp/otlptest"
)

// exportOne exports one span. It calls wait, if set, during the export, then closes telemetry and
// returns the log.
func exportOne(t *testing.T, env map[string]string, wait func(log *syncBuffer)) string {
	t.Helper()
	log := &syncBuffer{}
	from, _ := source(log)
	env["OTEL_BSP_SCHEDULE_DELAY"] = "1"
	env["OTEL_METRICS_EXPORTER"], env["OTEL_LOGS_EXPORTER"] = "none", "none"
	tel := otlp.Open(setenv(t, env), from)
	if tel == nil {
		return log.String() + "off"
	}
	tel.End(tel.Begin(context.Background(), ""), &telemetry.Call{Method: "tools/call", Tool: "demo/look", Outcome: "ok", Started: fixedTime})
	if wait != nil {
		wait(log)
	}
	tel.Close()
	return log.String()
}

// waitFor waits for a condition.
func waitFor(t *testing.T, done func() bool) {
	t.Helper()
	for !done() {
		select {
		case <-t.Context().Done():
			t.Fatal("the condition was never met")
		case <-time.After(time.Millisecond):
		}
	}
}

// expectFailure checks an export that fails: the log, and whether a retry follows while the program
// runs. There is no retry when it ends.
func expectFailure(t *testing.T, c *otlptest.Collector, env map[string]string, says string, retry bool) {
	t.Helper()
	log := exportOne(t, env, func(log *syncBuffer) {
		waitFor(t, func() bool { return c.Count() > 0 })
		if !retry {
			waitFor(t, func() bool { return log.String() != "" })
		} else if text := log.String(); text != "" {
			t.Errorf("%s: lost at once: %s", says, text)
		}
	})
	if !strings.Contains(log, says) || strings.Count(log, "telemetry was not sent") != 1 || !strings.Contains(log, "lost=1 ") || strings.Contains(log, "geheim") {
		t.Errorf("log %q, want %q", log, says)
	}
	if c.Requests != 1 {
		t.Errorf("%s: %d requests", says, c.Requests)
	}
}

func TestHTTPStatus(t *testing.T) {
	for _, tc := range []struct {
		code       int
		header     http.Header
		body, says string
		retry      bool
	}{
		{429, http.Header{"Retry-After": {"7"}}, "", "429 Too Many Requests", true},
		// The pause is longer than the time for retries.
		{503, http.Header{"Retry-After": {"3600"}}, "", "503 Service Unavailable", false},
		{503, http.Header{"Retry-After": {"-1"}}, "", "503", true},
		{502, nil, "", "502 Bad Gateway", true},
		{504, nil, "", "504 Gateway Timeout", true},
		{400, nil, "not  this\nway", "not this way", false},
		{401, http.Header{"Content-Type": {"text/plain; charset=utf-8"}}, "the key geheim-key is unknown", "the key *** is unknown", false},
		{500, nil, "", "500 Internal Server Error", false},
		{307, http.Header{"Location": {"http://127.0.0.1:1/v1/traces"}}, "", "307 Temporary Redirect", false},
	} {
		c := &otlptest.Collector{Answer: func(_ int, w http.ResponseWriter) bool {
			for name, values := range tc.header {
				w.Header()[name] = values
			}
			w.WriteHeader(tc.code)
			_, _ = w.Write([]byte(tc.body))
			return true
		}}
		expectFailure(t, c, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": c.HTTP(t), "OTEL_EXPORTER_OTLP_HEADERS": "api-key=geheim-key"}, tc.says, tc.retry)
	}
}

func TestGRPCStatus(t *testing.T) {
	withDelay := func(code codes.Code, delay time.Duration) error {
		s, err := status.New(code, "slow down").WithDetails(&errdetails.ErrorInfo{Reason: "x"}, &errdetails.RetryInfo{RetryDelay: durationpb.New(delay)})
		if err != nil {
			t.Fatal(err)
		}
		return s.Err()
	}
	for _, tc := range []struct {
		err   error
		says  string
		retry bool
	}{
		{status.Error(codes.Unavailable, "no, 100% \"down\"\n"), `no, 100% \"down\"`, true},
		{withDelay(codes.Unavailable, 1500*time.Millisecond), "slow down", true},
		{withDelay(codes.ResourceExhausted, 3*time.Second), "slow down", true},
		{status.Error(codes.ResourceExhausted, "too much"), "ResourceExhausted desc = too much", false},
		{status.Error(codes.Canceled, "x"), "Canceled", true},
		{status.Error(codes.DeadlineExceeded, "x"), "DeadlineExceeded", true},
		{status.Error(codes.Aborted, "x"), "Aborted", true},
		{status.Error(codes.OutOfRange, "x"), "OutOfRange", true},
		{status.Error(codes.DataLoss, "x"), "DataLoss", true},
		{status.Error(codes.Unauthenticated, "geheim-key is unknown"), "Unauthenticated desc = *** is unknown", false},
		{status.Error(codes.Unimplemented, "x"), "Unimplemented", false},
		{status.Error(codes.Internal, "x"), "Internal", false},
		{status.Error(codes.InvalidArgument, "x"), "InvalidArgument", false},
	} {
		c := &otlptest.Collector{Fail: func(int) error { return tc.err }}
		expectFailure(t, c, map[string]string{
			"OTEL_EXPORTER_OTLP_ENDPOINT": "http://" + c.GRPC(t), "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_EXPORTER_OTLP_HEADERS": "api-key=geheim-key",
		}, tc.says, tc.retry)
	}
}

// TestRetry checks that a short outage of the collector loses nothing.
func TestRetry(t *testing.T) {
	for _, protocol := range []string{"grpc", "http/protobuf"} {
		t.Run(protocol, func(t *testing.T) {
			c := &otlptest.Collector{
				Fail: func(try int) error {
					if try == 1 {
						return status.Error(codes.Unavailable, "not yet")
					}
					return nil
				},
				Answer: func(try int, w http.ResponseWriter) bool {
					if try == 1 {
						w.WriteHeader(http.StatusServiceUnavailable)
					}
					return try == 1
				},
			}
			env := map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": c.Serve(t, protocol), "OTEL_EXPORTER_OTLP_PROTOCOL": protocol}
			if log := exportOne(t, env, func(*syncBuffer) { waitFor(t, func() bool { return c.Count() == 2 }) }); log != "" || len(c.Spans) != 1 {
				t.Errorf("log %q with %d arrived", log, len(c.Spans))
			}
		})
	}
}

// TestPartialSuccess checks that spans that the collector rejects are logged.
func TestPartialSuccess(t *testing.T) {
	for _, protocol := range []string{"grpc", "http/protobuf"} {
		c := &otlptest.Collector{Rejected: 2}
		log := exportOne(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": c.Serve(t, protocol), "OTEL_EXPORTER_OTLP_PROTOCOL": protocol}, nil)
		if !strings.Contains(log, "lost=2 ") || !strings.Contains(log, "too old") {
			t.Errorf("%s: log %q", protocol, log)
		}
	}
}

// TestUnusualResponses checks that any 2xx is a success, and that a server without gRPC gives a
// clear error.
func TestUnusualResponses(t *testing.T) {
	for _, kind := range []string{"text/html", ""} {
		c := &otlptest.Collector{Answer: func(_ int, w http.ResponseWriter) bool {
			w.Header().Set("Content-Type", kind)
			_, _ = w.Write([]byte("\xff\xff{"))
			return true
		}}
		if log := exportOne(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": c.HTTP(t)}, nil); log != "" {
			t.Errorf("%s: log %q", kind, log)
		}
	}
	c := &otlptest.Collector{Answer: func(_ int, w http.ResponseWriter) bool { return true }}
	server := &http.Server{Handler: c, Protocols: new(http.Protocols)}
	server.Protocols.SetUnencryptedHTTP2(true)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { server.Close() })
	expectFailure(t, c, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://" + l.Addr().String(), "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, "missing HTTP content-type", false)
}

// TestConnectionRefused checks that a refused connection is retried, that Close does not wait for a
// retry, and that the log shows the address without credentials.
func TestConnectionRefused(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	for _, protocol := range []string{"grpc", "http/protobuf"} {
		env := map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://ada:geheim@" + address + "?key=geheim", "OTEL_EXPORTER_OTLP_PROTOCOL": protocol}
		log := exportOne(t, env, func(log *syncBuffer) {
			time.Sleep(300 * time.Millisecond) // one attempt has been made
			if text := log.String(); text != "" {
				t.Errorf("%s: lost at once: %s", protocol, text)
			}
		})
		if !strings.Contains(log, address) || !strings.Contains(log, "refused") || !strings.Contains(log, "lost=1 ") || strings.Contains(log, "geheim") {
			t.Errorf("%s: log %q", protocol, log)
		}
	}
}

// timeoutTexts lists the error texts of net/http and gRPC for a timeout; either may come first.
var timeoutTexts = regexp.MustCompile(`deadline exceeded|DeadlineExceeded|Client\.Timeout exceeded`)

// TestSlowCollector checks that an attempt times out and is retried.
func TestSlowCollector(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	for _, protocol := range []string{"grpc", "http/protobuf"} {
		c := &otlptest.Collector{
			Fail:   func(int) error { <-release; return nil },
			Answer: func(int, http.ResponseWriter) bool { <-release; return true },
		}
		address := c.Serve(t, protocol)
		log := exportOne(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": address, "OTEL_EXPORTER_OTLP_PROTOCOL": protocol, "OTEL_EXPORTER_OTLP_TIMEOUT": "50"},
			func(*syncBuffer) { waitFor(t, func() bool { return c.Count() == 2 }) })
		if !strings.Contains(log, "lost=1 ") || !timeoutTexts.MatchString(log) {
			t.Errorf("%s: log %q", protocol, log)
		}
	}
}
