// Package otlp builds OpenTelemetry exporters, over HTTP and gRPC, from the standard environment
// variables. It does not decide what is recorded; package telemetry does.
package otlp

import (
	"context"
	"crypto/rand"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploggrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploghttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"

	"remit/internal/engine/telemetry"
)

// Open starts telemetry if the environment configures it. Otherwise it returns nil, which is a
// valid telemetry.Telemetry that does nothing. Open logs a warning for each invalid setting and
// continues without it.
func Open(lookup func(string) (string, bool), source telemetry.Source) *telemetry.Telemetry {
	warned := map[[2]string]bool{} // the three signals read the same variables
	env := telemetry.Env{Lookup: lookup, Warn: func(name, why string) {
		if !warned[[2]string{name, why}] {
			warned[[2]string{name, why}] = true
			source.Log.Warn("telemetry setting ignored", "variable", name, "why", why)
		}
	}}
	wanted := wantedSignals(&env)
	if len(wanted) == 0 {
		return nil
	}
	// The SDK's constructors log errors about variables that Env has already warned about, and
	// quote their values.
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) {}))
	otel.SetLogger(logr.Discard())
	o := telemetry.Options{Config: telemetry.ReadConfig(&env, source.Version, rand.Text()), Source: source}
	var release []func()
	for _, signal := range wanted {
		before := o
		s, err := (&environment{env, signal}).read()
		if err == nil {
			var end func()
			end, err = s.connect(&o, "remit/"+source.Version)
			release = append(release, end)
		}
		if err != nil {
			o = before
			source.Log.Warn("telemetry signal not exported", "signal", signal.path[len("/v1/"):], "error", err)
		}
	}
	if o.Spans == nil && o.Logs == nil && o.Metrics == nil {
		return nil
	}
	o.Release = func() {
		for _, end := range release {
			end()
		}
	}
	return telemetry.New(o)
}

// retry applies to the responses that the protocol wants to be retried, and to requests without a
// response.
var retry = otlptracehttp.RetryConfig{Enabled: true, InitialInterval: initialBackoff, MaxInterval: maxBackoff, MaxElapsedTime: maxRetryTime}

// connect adds the exporter of a signal to the options. release must be called when it is no longer
// used.
func (s *settings) connect(o *telemetry.Options, agent string) (release func(), err error) {
	for _, value := range s.headers {
		if value != "" {
			o.Secrets = append(o.Secrets, value)
		}
	}
	if s.protocol == protocolGRPC {
		return s.connectGRPC(o, agent)
	}
	// The HTTP client has the certificates. WithTLSClientConfig(nil) keeps exporters from reading
	// those in the environment, which they would reject for an http:// endpoint.
	client := s.client(agent)
	ctx, url := context.Background(), s.url.String()
	switch s.signal {
	case &traces:
		o.Spans, err = otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(url), otlptracehttp.WithHeaders(s.headers),
			otlptracehttp.WithHTTPClient(client), otlptracehttp.WithTLSClientConfig(nil), otlptracehttp.WithRetry(retry),
			otlptracehttp.WithCompression(s.compression), otlptracehttp.WithEncoding(otlptracehttp.EncodingProtobuf))
	case &metrics:
		o.Metrics, err = otlpmetrichttp.New(ctx, otlpmetrichttp.WithEndpointURL(url), otlpmetrichttp.WithHeaders(s.headers),
			otlpmetrichttp.WithHTTPClient(client), otlpmetrichttp.WithTLSClientConfig(nil),
			otlpmetrichttp.WithRetry(otlpmetrichttp.RetryConfig(retry)),
			otlpmetrichttp.WithCompression(otlpmetrichttp.Compression(s.compression)))
	default:
		o.Logs, err = otlploghttp.New(ctx, otlploghttp.WithEndpointURL(url), otlploghttp.WithHeaders(s.headers),
			otlploghttp.WithHTTPClient(client), otlploghttp.WithTLSClientConfig(nil),
			otlploghttp.WithRetry(otlploghttp.RetryConfig(retry)), otlploghttp.WithCompression(otlploghttp.Compression(s.compression)))
	}
	return client.CloseIdleConnections, err
}

func (s *settings) connectGRPC(o *telemetry.Options, agent string) (release func(), err error) {
	conn, err := s.dial(agent)
	if err != nil {
		return func() {}, err
	}
	ctx, all := context.Background(), max(maxRetryTime, s.timeout)
	switch s.signal {
	case &traces:
		o.Spans, err = otlptracegrpc.New(ctx, otlptracegrpc.WithGRPCConn(conn), otlptracegrpc.WithHeaders(s.headers),
			otlptracegrpc.WithTimeout(all), otlptracegrpc.WithRetry(otlptracegrpc.RetryConfig(retry)))
	case &metrics:
		o.Metrics, err = otlpmetricgrpc.New(ctx, otlpmetricgrpc.WithGRPCConn(conn), otlpmetricgrpc.WithHeaders(s.headers),
			otlpmetricgrpc.WithTimeout(all), otlpmetricgrpc.WithRetry(otlpmetricgrpc.RetryConfig(retry)))
	default:
		o.Logs, err = otlploggrpc.New(ctx, otlploggrpc.WithGRPCConn(conn), otlploggrpc.WithHeaders(s.headers),
			otlploggrpc.WithTimeout(all), otlploggrpc.WithRetry(otlploggrpc.RetryConfig(retry)))
	}
	return func() { _ = conn.Close() }, err
}
