package otlp

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/textproto"
	"net/url"
	"os"
	"strings"
	"time"

	"remit/internal/engine/telemetry"
)

// signal is what the protocol calls one of the three, in its several places.
type signal struct {
	name              string // in the variables
	path              string // over HTTP
	service           string // over gRPC
	resources, scopes string // in JSON
}

var (
	traces = signal{
		"TRACES", "/v1/traces", "/opentelemetry.proto.collector.trace.v1.TraceService/Export", "resourceSpans", "scopeSpans",
	}
	metrics = signal{
		"METRICS", "/v1/metrics", "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export", "resourceMetrics", "scopeMetrics",
	}
	logs = signal{
		"LOGS", "/v1/logs", "/opentelemetry.proto.collector.logs.v1.LogsService/Export", "resourceLogs", "scopeLogs",
	}
)

// The protocols.
const (
	overHTTP = "http/protobuf"
	overJSON = "http/json"
	overGRPC = "grpc"
)

// settings are how one signal is exported.
type settings struct {
	protocol string
	url      *url.URL
	headers  http.Header
	timeout  time.Duration // of one try
	gzip     bool
	security security
}

// security is how the other side is known, and we to it: names of files.
type security struct{ authority, key, certificate string }

// environment reads the variables of one signal.
type environment struct {
	telemetry.Env
	signal *signal
}

const prefix = "OTEL_EXPORTER_OTLP_"

// of is the name of the variable to go by: that of the signal if it is set, else the general one.
func (e *environment) of(suffix string) string {
	if name := prefix + e.signal.name + "_" + suffix; e.Text(name) != "" {
		return name
	}
	return prefix + suffix
}

// wanted tells whether the signal is to be exported: somebody asks for it, or says where to.
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

// read gives the settings of the signal. An error is one that makes it impossible.
func (e *environment) read() (*settings, error) {
	s := &settings{
		protocol: e.Choice(e.of("PROTOCOL"), overHTTP, overJSON, overGRPC),
		timeout:  e.Millis(e.of("TIMEOUT"), 10*time.Second),
		gzip:     e.Choice(e.of("COMPRESSION"), "none", "gzip") == "gzip",
		headers:  e.readHeaders(),
		security: security{e.Text(e.of("CERTIFICATE")), e.Text(e.of("CLIENT_KEY")), e.Text(e.of("CLIENT_CERTIFICATE"))},
	}
	var err error
	s.url, err = e.endpoint(s.protocol)
	return s, err
}

// readHeaders leaves out what no header can be, and what is ours to say.
func (e *environment) readHeaders() http.Header {
	name := e.of("HEADERS")
	headers := http.Header{}
	for i, pair := range e.Pairs(name) {
		key := textproto.CanonicalMIMEHeaderKey(pair.Name)
		switch {
		case !isToken(pair.Name) || strings.ContainsFunc(pair.Value, isControl):
			e.Warn(name, fmt.Sprintf("header %d is left out: it cannot be sent", i+1))
		case isOurs(key):
			e.Warn(name, fmt.Sprintf("header %d is left out: %s is set by the protocol", i+1, key))
		default:
			headers[key] = []string{pair.Value}
		}
	}
	return headers
}

func isOurs(key string) bool {
	switch key {
	case "Content-Type", "Content-Encoding", "Content-Length", "Transfer-Encoding", "Connection", "Host", "Te", "Trailer", "Upgrade":
		return true
	}
	return strings.HasPrefix(key, "Grpc-")
}

// isToken tells what may be the name of a header, by RFC 9110.
func isToken(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return r <= ' ' || r > '~' || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	})
}

func isControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }

// endpoint is where the signal goes: the general address with the path of the signal,
// or the signal's own address as it is.
func (e *environment) endpoint(protocol string) (*url.URL, error) {
	name := e.of("ENDPOINT")
	text := e.Text(name)
	if text == "" {
		text = map[string]string{overGRPC: "http://localhost:4317"}[protocol]
		if text == "" {
			text = "http://localhost:4318"
		}
	}
	if protocol == overGRPC && !strings.Contains(text, "://") { // host:port, as gRPC has it
		scheme := "https://"
		if e.IsTrue(e.of("INSECURE")) {
			scheme = "http://"
		}
		text = scheme + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%s: use an address like http://localhost:4318", name) // not the address: it may hold a password
	}
	switch {
	case protocol == overGRPC:
		u.Path, u.RawPath, u.RawQuery = e.signal.service, "", ""
	case name == prefix+"ENDPOINT":
		u = u.JoinPath(e.signal.path)
	case u.Path == "":
		u.Path = "/"
	}
	u.Fragment = ""
	return u, nil
}

// tls reads the files.
func (s security) tls() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if s.authority != "" {
		text, err := os.ReadFile(s.authority)
		if err != nil {
			return nil, fmt.Errorf("read the certificates to trust: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%s holds no certificate in PEM", s.authority)
		}
	}
	if (s.key == "") != (s.certificate == "") {
		return nil, errors.New("a client certificate needs its key, and the key its certificate")
	}
	if s.key != "" {
		pair, err := tls.LoadX509KeyPair(s.certificate, s.key)
		if err != nil {
			return nil, fmt.Errorf("read the client certificate: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}
