// Package otlp exports telemetry by OpenTelemetry's protocol, over HTTP and gRPC, as
// the standard environment variables say.
package otlp

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"

	"remit/internal/engine/telemetry"
)

// Open starts telemetry if the environment asks for it; otherwise it gives nil, which is
// telemetry that is off. What is wrong in the environment is a warning in the log of
// the source, and telemetry goes on without it.
func Open(lookup func(string) (string, bool), source telemetry.Source) *telemetry.Telemetry {
	told := map[[2]string]bool{} // three signals read the same variables
	env := telemetry.Env{Lookup: lookup, Warn: func(name, why string) {
		if !told[[2]string{name, why}] {
			told[[2]string{name, why}] = true
			source.Log.Warn("a setting of telemetry is ignored", "variable", name, "why", why)
		}
	}}
	wanted := wantedSignals(&env)
	if len(wanted) == 0 {
		return nil
	}
	options := telemetry.Options{Config: telemetry.ReadConfig(&env, source.Version, rand.Text()), Source: source}
	around := &envelope{resource: options.Resource, version: source.Version}
	connections := map[connection]*http.Client{}
	for _, s := range wanted {
		c, err := newClient(&environment{env, s}, &source, connections)
		if err != nil {
			source.Log.Warn("a signal of telemetry is not sent", "signal", s.path[len("/v1/"):], "error", err)
			continue
		}
		c.serve(s, around, &options)
	}
	if options.Spans == nil && options.Logs == nil && options.Metrics == nil {
		return nil
	}
	return telemetry.New(options)
}

// wantedSignals are those that the environment asks for. Most starts end here, so it
// looks at few variables.
func wantedSignals(env *telemetry.Env) []*signal {
	var wanted []*signal
	for _, s := range []*signal{&traces, &metrics, &logs} {
		e := &environment{*env, s}
		if e.wanted() {
			wanted = append(wanted, s)
		}
	}
	if len(wanted) == 0 || env.IsTrue("OTEL_SDK_DISABLED") {
		return nil
	}
	return wanted
}

// serve sets the exporter of a signal.
func (c *client) serve(s *signal, around *envelope, o *telemetry.Options) {
	switch s {
	case &traces:
		o.Spans = func(ctx context.Context, spans []telemetry.Span) error {
			return c.send(ctx, func(s sheet) { around.spans(s, spans) })
		}
	case &logs:
		o.Logs = func(ctx context.Context, records []telemetry.Record) error {
			return c.send(ctx, func(s sheet) { around.logs(s, records) })
		}
	default:
		o.Metrics = func(ctx context.Context, all []telemetry.Metric) error {
			return c.send(ctx, func(s sheet) { around.metrics(s, all) })
		}
	}
}

// connection is what signals must agree in to share their connections.
type connection struct {
	grpc bool
	security
}

func newClient(e *environment, source *telemetry.Source, open map[connection]*http.Client) (*client, error) {
	s, err := e.read()
	if err != nil {
		return nil, err
	}
	shared := connection{s.protocol == overGRPC, s.security}
	if open[shared] == nil {
		if open[shared], err = shared.open(); err != nil {
			return nil, err
		}
	}
	return &client{settings: *s, http: open[shared], agent: "remit/" + source.Version, now: source.Now}, nil
}

// open prepares connections; none is made before the first export.
func (c connection) open() (*http.Client, error) {
	config, err := c.tls()
	if err != nil {
		return nil, fmt.Errorf("%sCERTIFICATE, CLIENT_KEY, CLIENT_CERTIFICATE: %w", prefix, err)
	}
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSClientConfig: config, Protocols: new(http.Protocols),
		IdleConnTimeout: idleTime, MaxResponseHeaderBytes: longestAnswer, MaxIdleConnsPerHost: 3, // one a signal
		DisableCompression: true, // answers are a few bytes
	}
	transport.Protocols.SetHTTP2(true)
	if c.grpc {
		transport.Protocols.SetUnencryptedHTTP2(true)
	} else {
		transport.Protocols.SetHTTP1(true)
	}
	return &http.Client{
		Transport: transport,
		// Whoever is sent elsewhere would take headers along that are not for others.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
}
