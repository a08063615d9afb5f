package otlp

import (
	"context"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"

	"remit/internal/engine/telemetry"
)

// Retries of one batch: the pause between two attempts grows from the first to the last.
const (
	initialBackoff = time.Second
	maxBackoff     = 10 * time.Second
	maxRetryTime   = 30 * time.Second
)

// client returns the HTTP client of an exporter.
func (s *settings) client(agent string) *http.Client {
	base := http.DefaultTransport.(*http.Transport).Clone() // the program never replaces it
	base.TLSClientConfig = s.tls
	return &http.Client{
		Transport: &transport{base, agent}, Timeout: s.timeout,
		// The target of a redirect must not receive headers that are meant for the collector.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

type transport struct {
	*http.Transport
	agent string
}

// RoundTrip makes one attempt.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("User-Agent", t.agent)
	failed := telemetry.Attempt(r.Context())
	response, err := t.Transport.RoundTrip(r)
	if err != nil {
		failed(err.Error())
		return nil, temporaryError{err}
	}
	if response.StatusCode/100 != 2 {
		failed(response.Status)
	}
	return response, nil
}

// temporaryError makes exporters retry when there is no answer at all.
type temporaryError struct{ error }

func (temporaryError) Temporary() bool { return true }

func (e temporaryError) Unwrap() error { return e.error }

// dial returns the gRPC connection of an exporter. It does not connect before the first export.
func (s *settings) dial(agent string) (*grpc.ClientConn, error) {
	security := insecure.NewCredentials()
	if s.url.Scheme == "https" {
		security = credentials.NewTLS(s.tls)
	}
	reconnect := backoff.DefaultConfig
	reconnect.MaxDelay = maxBackoff
	options := []grpc.DialOption{
		grpc.WithTransportCredentials(security), grpc.WithUserAgent(agent), grpc.WithUnaryInterceptor(s.attempt),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: reconnect, MinConnectTimeout: s.timeout}),
	}
	if s.compression == otlptracehttp.GzipCompression {
		options = append(options, grpc.WithDefaultCallOptions(grpc.UseCompressor(gzip.Name)))
	}
	return grpc.NewClient("dns:///"+s.url.Host, options...)
}

// attempt makes one attempt over gRPC. The exporters apply their timeout to all attempts together.
func (s *settings) attempt(
	ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, call grpc.UnaryInvoker, options ...grpc.CallOption,
) error {
	failed := telemetry.Attempt(ctx)
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	err := call(ctx, method, request, reply, conn, options...)
	if err != nil {
		failed(err.Error())
	}
	return err
}
