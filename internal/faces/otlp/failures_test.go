package otlp_test

import (
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"remit/internal/engine/telemetry"
	"remit/internal/faces/otlp"
	"remit/internal/faces/otlp/otlptest"
)

// try exports one batch of spans once, and gives what came of it.
func try(t *testing.T, env map[string]string) error {
	t.Helper()
	from, _ := source(&told{})
	on, err := otlp.Try(lookup(env), from, []telemetry.Span{{Name: "tools/call look", Start: moment, End: moment}})
	if !on {
		t.Fatal("it is off")
	}
	return err
}

// want checks an error: what it says, and whether it is for another try.
func want(t *testing.T, err error, says string, retry bool, after time.Duration) {
	t.Helper()
	var again *telemetry.RetryError
	isRetry := errors.As(err, &again)
	if err == nil || !strings.Contains(err.Error(), says) || isRetry != retry {
		t.Errorf("got %v (to be tried again: %t), want %q (%t)", err, isRetry, says, retry)
	}
	if isRetry && again.After != after {
		t.Errorf("after %s, want %s", again.After, after)
	}
}

func TestStatusOfHTTP(t *testing.T) {
	for _, tc := range []struct {
		code       int
		header     http.Header
		body, says string
		retry      bool
		after      time.Duration
	}{
		{429, http.Header{"Retry-After": {"7"}}, "", "429 Too Many Requests", true, 7 * time.Second},
		{503, http.Header{"Retry-After": {moment.Add(time.Minute).Format(http.TimeFormat)}}, "", "503 Service Unavailable", true, 59876543211 * time.Nanosecond},
		{503, http.Header{"Retry-After": {"99999999999999"}}, "", "503", true, 24 * time.Hour},
		{503, http.Header{"Retry-After": {"-1"}}, "", "503", true, 0},
		{502, nil, "", "502 Bad Gateway", true, 0},
		{504, nil, "", "504 Gateway Timeout", true, 0},
		{400, http.Header{"Content-Type": {"application/json"}}, `{"code":3,"message":"not  this\nway"}`, "400 Bad Request: not this way", false, 0},
		{400, http.Header{"Content-Type": {"application/json"}}, `nonsense`, "400 Bad Request", false, 0},
		{401, http.Header{"Content-Type": {"text/plain; charset=utf-8"}}, "the key geheim-key is unknown", "401 Unauthorized: the key *** is unknown", false, 0},
		{500, nil, "", "500 Internal Server Error", false, 0},
		{307, http.Header{"Location": {"http://127.0.0.1:1/v1/traces"}}, "", "307 Temporary Redirect", false, 0},
	} {
		c := &otlptest.Collector{Answer: func(_ int, w http.ResponseWriter) bool {
			for name, values := range tc.header {
				w.Header()[name] = values
			}
			w.WriteHeader(tc.code)
			_, _ = w.Write([]byte(tc.body))
			return true
		}}
		err := try(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": c.HTTP(t), "OTEL_EXPORTER_OTLP_HEADERS": "api-key=geheim-key"})
		want(t, err, tc.says, tc.retry, tc.after)
		if c.Tries != 1 {
			t.Errorf("%d: %d requests", tc.code, c.Tries)
		}
	}
}

// TestStatusInProtobuf: a collector words its refusal in the encoding of the request.
func TestStatusInProtobuf(t *testing.T) {
	c := &otlptest.Collector{Answer: func(_ int, w http.ResponseWriter) bool {
		body, err := proto.Marshal(status.New(codes.InvalidArgument, "not this way").Proto())
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/x-protobuf")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write(body)
		return true
	}}
	want(t, try(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": c.HTTP(t)}), "400 Bad Request: not this way", false, 0)
}

func TestStatusOfGRPC(t *testing.T) {
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
		after time.Duration
	}{
		{status.Error(codes.Unavailable, "no, 100% \"down\"\n"), `gRPC status 14: no, 100% "down"`, true, 0},
		{withDelay(codes.Unavailable, 1500*time.Millisecond), "slow down", true, 1500 * time.Millisecond},
		{withDelay(codes.ResourceExhausted, 3*time.Second), "slow down", true, 3 * time.Second},
		{status.Error(codes.ResourceExhausted, "too much"), "gRPC status 8: too much", false, 0},
		{status.Error(codes.Canceled, "x"), "status 1", true, 0},
		{status.Error(codes.DeadlineExceeded, "x"), "status 4", true, 0},
		{status.Error(codes.Aborted, "x"), "status 10", true, 0},
		{status.Error(codes.OutOfRange, "x"), "status 11", true, 0},
		{status.Error(codes.DataLoss, "x"), "status 15", true, 0},
		{status.Error(codes.Unauthenticated, "geheim-key is unknown"), "status 16: *** is unknown", false, 0},
		{status.Error(codes.Unimplemented, "x"), "status 12", false, 0},
		{status.Error(codes.Internal, "x"), "status 13", false, 0},
		{status.Error(codes.InvalidArgument, "x"), "status 3", false, 0},
	} {
		c := &otlptest.Collector{Fail: func(int) error { return tc.err }}
		err := try(t, map[string]string{
			"OTEL_EXPORTER_OTLP_ENDPOINT": "http://" + c.GRPC(t), "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_EXPORTER_OTLP_HEADERS": "api-key=geheim-key",
		})
		want(t, err, tc.says, tc.retry, tc.after)
	}
}

// TestPartialSuccess: what the collector refuses is told, whichever way it says so.
func TestPartialSuccess(t *testing.T) {
	for _, protocol := range []string{"grpc", "http/protobuf", "http/json"} {
		c := &otlptest.Collector{Rejected: 2}
		address := c.Serve(t, protocol)
		err := try(t, map[string]string{"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_ENDPOINT": address, "OTEL_EXPORTER_OTLP_PROTOCOL": protocol})
		var rejected *telemetry.RejectedError
		if !errors.As(err, &rejected) || rejected.Count != 2 || rejected.Why != "too old" {
			t.Errorf("%s: got %v", protocol, err)
		}
	}
}

// TestOddAnswers: a yes that cannot be understood is a yes; who does not speak gRPC is told apart.
func TestOddAnswers(t *testing.T) {
	for _, kind := range []string{"application/json", "application/x-protobuf", "text/html", ""} {
		c := &otlptest.Collector{Answer: func(_ int, w http.ResponseWriter) bool {
			w.Header().Set("Content-Type", kind)
			_, _ = w.Write([]byte("\xff\xff{"))
			return true
		}}
		if err := try(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": c.HTTP(t)}); err != nil {
			t.Errorf("%s: got %v", kind, err)
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
	env := map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://" + l.Addr().String(), "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}
	want(t, try(t, env), "does not speak gRPC", false, 0)
}

// TestNobodyThere: that is for another try, and the address is told without what lets anybody in.
func TestNobodyThere(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	for _, protocol := range []string{"grpc", "http/protobuf"} {
		err := try(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://ada:geheim@" + address + "?key=geheim", "OTEL_EXPORTER_OTLP_PROTOCOL": protocol})
		want(t, err, address, true, 0)
		if err != nil && strings.Contains(err.Error(), "geheim") {
			t.Errorf("it tells %v", err)
		}
	}
}

// TestSlowCollector: a try ends when its time is over.
func TestSlowCollector(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	for _, protocol := range []string{"grpc", "http/protobuf"} {
		c := &otlptest.Collector{
			Fail:   func(int) error { <-release; return nil },
			Answer: func(int, http.ResponseWriter) bool { <-release; return true },
		}
		address := c.Serve(t, protocol)
		err := try(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": address, "OTEL_EXPORTER_OTLP_PROTOCOL": protocol, "OTEL_EXPORTER_OTLP_TIMEOUT": "50"})
		want(t, err, "", true, 0)
	}
}
