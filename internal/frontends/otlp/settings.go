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

// signal is one of the three, as variables and addresses name it.
type signal struct{ name, path string }

var (
	traces  = signal{"TRACES", "/v1/traces"}
	metrics = signal{"METRICS", "/v1/metrics"}
	logs    = signal{"LOGS", "/v1/logs"}
)

// The protocols. The SDK has no exporters of metrics and logs for http/json.
const (
	overHTTP = "http/protobuf"
	overGRPC = "grpc"
)

// settings are how one signal is exported.
type settings struct {
	signal      *signal
	protocol    string
	url         *url.URL
	headers     map[string]string
	timeout     time.Duration // of one attempt
	compression otlptracehttp.Compression
	tls         *tls.Config
}

// environment reads the variables of one signal.
type environment struct {
	telemetry.Env
	signal *signal
}

const prefix = "OTEL_EXPORTER_OTLP_"

// of returns the name of the variable to go by: that of the signal if it is set, else the general one.
func (e *environment) of(suffix string) string {
	if name := prefix + e.signal.name + "_" + suffix; e.Text(name) != "" {
		return name
	}
	return prefix + suffix
}

// wantedSignals returns the signals that the environment asks for. Most starts end here, so it
// looks at few variables.
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

// wanted reports whether the signal is to be exported: a variable selects it, or has its address.
func (e *environment) wanted() bool {
	name := "OTEL_" + e.signal.name + "_EXPORTER"
	text := e.Text(name)
	if text == "" {
		return e.Text(e.of("ENDPOINT")) != ""
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
			e.Warn(name, "use otlp or none; nothing else is supported")
		}
	}
	return found
}

// read returns the settings of the signal. An error is one that makes it impossible.
func (e *environment) read() (*settings, error) {
	s := &settings{
		signal:   e.signal,
		protocol: e.Choice(e.of("PROTOCOL"), overHTTP, overGRPC),
		timeout:  e.Millis(e.of("TIMEOUT"), 10*time.Second),
		headers:  e.readHeaders(),
	}
	if e.Choice(e.of("COMPRESSION"), "none", "gzip") == "gzip" {
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

// readHeaders leaves out what cannot be sent: every export would fail.
func (e *environment) readHeaders() map[string]string {
	name := e.of("HEADERS")
	headers := map[string]string{}
	for i, pair := range e.Pairs(name) {
		if !httpguts.ValidHeaderFieldName(pair.Name) || !httpguts.ValidHeaderFieldValue(pair.Value) {
			e.Warn(name, fmt.Sprintf("header %d is left out: it cannot be sent", i+1))
			continue
		}
		headers[pair.Name] = pair.Value
	}
	return headers
}

// endpoint returns where the signal goes: the general address with the path of the signal,
// or the signal's own address as it is. The SDK ignores an address that it does not understand,
// and sends to localhost.
func (e *environment) endpoint(protocol string) (*url.URL, error) {
	name := e.of("ENDPOINT")
	text := e.Text(name)
	switch {
	case text == "" && protocol == overGRPC:
		text = "http://localhost:4317"
	case text == "":
		text = "http://localhost:4318"
	case protocol == overGRPC && !strings.Contains(text, "://"): // host:port, as gRPC has it
		scheme := "https://"
		if e.Choice(e.of("INSECURE"), "false", "true") == "true" {
			scheme = "http://"
		}
		text = scheme + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%s: use an address like http://localhost:4318", name) // not the address: it may hold a password
	}
	if protocol != overGRPC && name == prefix+"ENDPOINT" {
		u = u.JoinPath(e.signal.path)
	}
	return u, nil
}

// readTLS reads the files. The SDK ignores those that it cannot read, and a certificate without its key.
func (e *environment) readTLS() (*tls.Config, error) {
	authority, key, certificate := e.Text(e.of("CERTIFICATE")), e.Text(e.of("CLIENT_KEY")), e.Text(e.of("CLIENT_CERTIFICATE"))
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if authority != "" {
		text, err := os.ReadFile(authority)
		if err != nil {
			return nil, fmt.Errorf("read the certificates to trust: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%s holds no certificate in PEM", authority)
		}
	}
	if (key == "") != (certificate == "") {
		return nil, errors.New("a client certificate needs its key, and the key its certificate")
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
