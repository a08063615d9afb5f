package otlp

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"golang.org/x/net/http/httpguts"

	"remit/internal/engine/telemetry"
)

// signal is traces, metrics or logs, with its names in variables and URLs.
type signal struct{ name, path string }

var (
	traces  = signal{"TRACES", "/v1/traces"}
	metrics = signal{"METRICS", "/v1/metrics"}
	logs    = signal{"LOGS", "/v1/logs"}
)

// The supported protocols. The SDK has no exporters of metrics and logs for http/json.
const (
	protocolHTTP = "http/protobuf"
	protocolGRPC = "grpc"
)

// settings are the export settings of one signal.
type settings struct {
	signal      *signal
	protocol    string
	url         *url.URL
	headers     map[string]string
	timeout     time.Duration // variable one attempt
	compression otlptracehttp.Compression
	tls         *tls.Config
}

// environment reads the variables of one signal.
type environment struct {
	telemetry.Env
	signal *signal
}

const prefix = "OTEL_EXPORTER_OTLP_"

// variable returns the name of the variable to use: the one for the signal if it is set, otherwise
// the one for all signals.
func (e *environment) variable(suffix string) string {
	if name := prefix + e.signal.name + "_" + suffix; e.Text(name) != "" {
		return name
	}
	return prefix + suffix
}

// wantedSignals returns the signals that the environment enables. It reads few variables, because
// most processes enable none.
func wantedSignals(env *telemetry.Env) []*signal {
	var wanted []*signal
	for _, s := range []*signal{&traces, &metrics, &logs} {
		if e := (&environment{*env, s}); e.wanted() {
			wanted = append(wanted, s)
		}
	}
	if len(wanted) == 0 || env.Choice("OTEL_SDK_DISABLED", "false", "true") == "true" {
		return nil
	}
	return wanted
}

// wanted reports whether the signal is enabled: a variable selects it or sets its endpoint.
func (e *environment) wanted() bool {
	name := "OTEL_" + e.signal.name + "_EXPORTER"
	text := e.Text(name)
	if text == "" {
		return e.Text(e.variable("ENDPOINT")) != ""
	}
	found := false
	for word := range strings.SplitSeq(strings.ToLower(text), ",") {
		switch strings.TrimSpace(word) {
		case "otlp":
			found = true
		case "none", "":
		case "prometheus":
			e.Warn(name, "prometheus needs no exporter: /metrics is always served")
		default:
			e.Warn(name, "use otlp or none; other exporters are not supported")
		}
	}
	return found
}

// read returns the settings of the signal. It returns an error only if nothing can be exported.
func (e *environment) read() (*settings, error) {
	s := &settings{
		signal:   e.signal,
		protocol: e.Choice(e.variable("PROTOCOL"), protocolHTTP, protocolGRPC),
		timeout:  e.Millis(e.variable("TIMEOUT"), 10*time.Second),
		headers:  e.readHeaders(),
	}
	if e.Choice(e.variable("COMPRESSION"), "none", "gzip") == "gzip" {
		s.compression = otlptracehttp.GzipCompression
	}
	var err error
	if s.url, err = e.endpoint(s.protocol); err != nil {
		return nil, err
	}
	if s.tls, err = e.readTLS(); err != nil {
		return nil, fmt.Errorf("%sCERTIFICATE, CLIENT_KEY, CLIENT_CERTIFICATE: %w", prefix, err)
	}
	return s, nil
}

// readHeaders returns the headers to send. It skips invalid ones, with which every export would
// fail.
func (e *environment) readHeaders() map[string]string {
	name := e.variable("HEADERS")
	headers := map[string]string{}
	for i, pair := range e.Pairs(name) {
		if !httpguts.ValidHeaderFieldName(pair.Name) || !httpguts.ValidHeaderFieldValue(pair.Value) {
			e.Warn(name, fmt.Sprintf("header %d is skipped: its name or value is not valid", i+1))
			continue
		}
		headers[pair.Name] = pair.Value
	}
	return headers
}

// endpoint returns the URL of the signal: the general endpoint with the path of the signal, or the
// signal's own endpoint unchanged. The SDK would ignore an invalid one and export to localhost.
func (e *environment) endpoint(protocol string) (*url.URL, error) {
	name := e.variable("ENDPOINT")
	text := e.Text(name)
	switch {
	case text == "" && protocol == protocolGRPC:
		text = "http://localhost:4317"
	case text == "":
		text = "http://localhost:4318"
	// host:port, as gRPC accepts it.
	case protocol == protocolGRPC && !strings.Contains(text, "://"):
		scheme := "https://"
		if e.Choice(e.variable("INSECURE"), "false", "true") == "true" {
			scheme = "http://"
		}
		text = scheme + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		// The error omits the value, which may contain a password.
		return nil, fmt.Errorf("%s: use a URL such as http://localhost:4318", name)
	}
	if protocol != protocolGRPC && name == prefix+"ENDPOINT" {
		u = u.JoinPath(e.signal.path)
	}
	return u, nil
}

// readTLS reads the certificate files. The SDK would ignore unreadable files and a certificate
// without a key.
func (e *environment) readTLS() (*tls.Config, error) {
	authority, key := e.Text(e.variable("CERTIFICATE")), e.Text(e.variable("CLIENT_KEY"))
	certificate := e.Text(e.variable("CLIENT_CERTIFICATE"))
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if authority != "" {
		text, err := os.ReadFile(authority)
		if err != nil {
			return nil, fmt.Errorf("read the certificates to trust: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%s contains no PEM certificate", authority)
		}
	}
	if (key == "") != (certificate == "") {
		return nil, errors.New("a client certificate needs its key, and a key needs its certificate")
	}
	if key != "" {
		pair, err := tls.LoadX509KeyPair(certificate, key)
		if err != nil {
			return nil, fmt.Errorf("read the client certificate: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}
