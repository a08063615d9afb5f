// Package otlptest provides a collector for tests. It receives exports over gRPC and HTTP, and
// decodes them with the official types.
package otlptest

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	collogs "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	colmetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	coltrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
	_ "google.golang.org/grpc/encoding/gzip" // register gzip, which collectors accept
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
)

// Collector records the requests that it receives. Set Fail, Answer and Rejected before the first
// request; read the rest after the exporter is closed or with the lock held.
type Collector struct {
	coltrace.UnimplementedTraceServiceServer

	// Answers over gRPC; nil accepts all requests.
	Fail func(try int) error
	// Answers over HTTP; nil accepts all requests.
	Answer func(try int, w http.ResponseWriter) (done bool)
	// How many spans to reject of each batch.
	Rejected int64

	sync.Mutex
	Spans    []*coltrace.ExportTraceServiceRequest
	Metrics  []*colmetrics.ExportMetricsServiceRequest
	Logs     []*collogs.ExportLogsServiceRequest
	Headers  []map[string][]string // of each request
	Paths    []string              // of each request
	Errors   []string              // errors in requests
	Requests int                   // the number of requests
}

// record records a request and returns the number of requests.
func (c *Collector) record(header map[string][]string, path string) int {
	c.Lock()
	defer c.Unlock()
	c.Requests++
	c.Headers = append(c.Headers, header)
	c.Paths = append(c.Paths, path)
	return c.Requests
}

// Count returns the number of requests so far.
func (c *Collector) Count() int {
	c.Lock()
	defer c.Unlock()
	return c.Requests
}

func (c *Collector) keep(m proto.Message) {
	c.Lock()
	defer c.Unlock()
	switch m := m.(type) {
	case *coltrace.ExportTraceServiceRequest:
		c.Spans = append(c.Spans, m)
	case *colmetrics.ExportMetricsServiceRequest:
		c.Metrics = append(c.Metrics, m)
	case *collogs.ExportLogsServiceRequest:
		c.Logs = append(c.Logs, m)
	}
}

func (c *Collector) complain(format string, args ...any) {
	c.Lock()
	defer c.Unlock()
	c.Errors = append(c.Errors, fmt.Sprintf(format, args...))
}

func (c *Collector) called(ctx context.Context, m proto.Message) error {
	header, _ := metadata.FromIncomingContext(ctx)
	method, _ := grpc.Method(ctx)
	try := c.record(header, method)
	if _, ok := ctx.Deadline(); !ok {
		c.complain("a call without a deadline")
	}
	if c.Fail != nil {
		if err := c.Fail(try); err != nil {
			return err
		}
	}
	c.keep(m)
	return nil
}

// Export implements the trace service.
func (c *Collector) Export(ctx context.Context, m *coltrace.ExportTraceServiceRequest) (*coltrace.ExportTraceServiceResponse, error) {
	answer := &coltrace.ExportTraceServiceResponse{}
	if c.Rejected > 0 {
		answer.PartialSuccess = &coltrace.ExportTracePartialSuccess{RejectedSpans: c.Rejected, ErrorMessage: "too old"}
	}
	return answer, c.called(ctx, m)
}

type metricsService struct {
	colmetrics.UnimplementedMetricsServiceServer
	*Collector
}

func (s metricsService) Export(
	ctx context.Context, m *colmetrics.ExportMetricsServiceRequest,
) (*colmetrics.ExportMetricsServiceResponse, error) {
	return &colmetrics.ExportMetricsServiceResponse{}, s.called(ctx, m)
}

type logsService struct {
	collogs.UnimplementedLogsServiceServer
	*Collector
}

func (s logsService) Export(ctx context.Context, m *collogs.ExportLogsServiceRequest) (*collogs.ExportLogsServiceResponse, error) {
	return &collogs.ExportLogsServiceResponse{}, s.called(ctx, m)
}

// GRPC serves gRPC until the test ends. It returns host and port.
func (c *Collector) GRPC(t *testing.T, options ...grpc.ServerOption) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(options...)
	coltrace.RegisterTraceServiceServer(server, c)
	colmetrics.RegisterMetricsServiceServer(server, metricsService{Collector: c})
	collogs.RegisterLogsServiceServer(server, logsService{Collector: c})
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(l) // stopped below
	}()
	t.Cleanup(func() {
		server.Stop()
		<-done
	})
	return l.Addr().String()
}

// Serve serves an OTLP protocol until the test ends. It returns the endpoint.
func (c *Collector) Serve(t *testing.T, protocol string) string {
	t.Helper()
	if protocol == "grpc" {
		return "http://" + c.GRPC(t)
	}
	return c.HTTP(t)
}

// ServeHTTP implements http.Handler for OTLP over HTTP.
func (c *Collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	try := c.record(r.Header, r.URL.Path)
	body, err := io.ReadAll(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" && err == nil {
		body, err = unzip(body)
	}
	if err != nil || r.Method != http.MethodPost {
		c.complain("%s %s: %v", r.Method, r.URL.Path, err)
	}
	if c.Answer != nil && c.Answer(try, w) {
		return
	}
	m := messageFor(r.URL.Path)
	if m == nil {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	if kind := r.Header.Get("Content-Type"); kind != protobuf {
		err = fmt.Errorf("a content of type %q", kind)
	} else {
		err = proto.Unmarshal(body, m)
	}
	if err != nil {
		c.complain("%s: %v", r.URL.Path, err)
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	c.keep(m)
	c.accept(w)
}

// protobuf is the supported content type.
const protobuf = "application/x-protobuf"

func messageFor(path string) proto.Message {
	switch path {
	case "/v1/traces", "/own/path", "/":
		return &coltrace.ExportTraceServiceRequest{}
	case "/v1/metrics":
		return &colmetrics.ExportMetricsServiceRequest{}
	case "/v1/logs", "/base/v1/logs":
		return &collogs.ExportLogsServiceRequest{}
	default:
		return nil
	}
}

func (c *Collector) accept(w http.ResponseWriter) {
	answer := &coltrace.ExportTraceServiceResponse{}
	if c.Rejected > 0 {
		answer.PartialSuccess = &coltrace.ExportTracePartialSuccess{RejectedSpans: c.Rejected, ErrorMessage: "too old"}
	}
	w.Header().Set("Content-Type", protobuf)
	body, err := proto.Marshal(answer)
	if err != nil {
		panic(err)
	}
	_, _ = w.Write(body)
}

func unzip(body []byte) ([]byte, error) {
	reader, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(reader)
}

// HTTP serves OTLP over HTTP until the test ends. It returns the URL.
func (c *Collector) HTTP(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	return server.URL
}
