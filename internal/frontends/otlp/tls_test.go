package otlp_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"remit/internal/frontends/otlp/otlptest"
)

// certFiles are the files of a self-signed certificate and its key.
type certFiles struct {
	certificate, key string
	pair             tls.Certificate
	pool             *x509.CertPool
}

func newCertFiles(t *testing.T) certFiles {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	check(t, err)
	private, err := x509.MarshalECPrivateKey(key)
	check(t, err)
	dir := t.TempDir()
	p := certFiles{certificate: filepath.Join(dir, "cert.pem"), key: filepath.Join(dir, "key.pem"), pool: x509.NewCertPool()}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	check(t, os.WriteFile(p.certificate, text, 0o600))
	check(t, os.WriteFile(p.key, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private}), 0o600))
	p.pair, err = tls.LoadX509KeyPair(p.certificate, p.key)
	check(t, err)
	p.pool.AppendCertsFromPEM(text)
	return p
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestTLS checks that the collector and the client verify each other's certificates.
func TestTLS(t *testing.T) {
	theirs, ours := newCertFiles(t), newCertFiles(t)
	config := func() *tls.Config {
		return &tls.Config{Certificates: []tls.Certificate{theirs.pair}, ClientCAs: ours.pool, ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12}
	}
	for _, protocol := range []string{"grpc", "http/protobuf"} {
		for _, tc := range []struct {
			name    string
			env     map[string]string
			arrives bool
			says    string
		}{
			{"mutual TLS", map[string]string{"CERTIFICATE": theirs.certificate, "CLIENT_CERTIFICATE": ours.certificate, "CLIENT_KEY": ours.key}, true, ""},
			// TLS 1.3 rejects a client after its side of the handshake is complete, so the error
			// text depends on what the client does next.
			{"unknown client", map[string]string{"CERTIFICATE": theirs.certificate}, false, ""},
			{"unknown server", map[string]string{"CLIENT_CERTIFICATE": ours.certificate, "CLIENT_KEY": ours.key}, false, "certificate"},
			{"a certificate without its key", map[string]string{"CERTIFICATE": theirs.certificate, "CLIENT_CERTIFICATE": ours.certificate}, false, "needs its key"},
			{"no certificate at all", map[string]string{"CERTIFICATE": ours.key}, false, "contains no PEM certificate"},
		} {
			t.Run(protocol+" "+tc.name, func(t *testing.T) {
				c := &otlptest.Collector{}
				env := map[string]string{"OTEL_EXPORTER_OTLP_PROTOCOL": protocol}
				if protocol == "grpc" {
					// An endpoint without a scheme uses TLS.
					env["OTEL_EXPORTER_OTLP_ENDPOINT"] = c.GRPC(t, grpc.Creds(credentials.NewTLS(config())))
				} else {
					server := httptest.NewUnstartedServer(c)
					server.TLS = config()
					server.Config.ErrorLog = log.New(io.Discard, "", 0)
					server.StartTLS()
					t.Cleanup(server.Close)
					env["OTEL_EXPORTER_OTLP_ENDPOINT"] = server.URL
				}
				for name, value := range tc.env {
					env["OTEL_EXPORTER_OTLP_"+name] = value
				}
				log := exportOne(t, env, nil)
				if tc.arrives != (log == "") || tc.arrives != (len(c.Spans) == 1) || !strings.Contains(log, tc.says) {
					t.Errorf("log %q with %d arrived, want %q", log, len(c.Spans), tc.says)
				}
			})
		}
	}
}

// TestCertificateWithoutTLS checks that certificates for one signal do not affect another without
// TLS.
func TestCertificateWithoutTLS(t *testing.T) {
	for _, protocol := range []string{"grpc", "http/protobuf"} {
		c := &otlptest.Collector{}
		log := export(t, map[string]string{
			"OTEL_EXPORTER_OTLP_PROTOCOL": protocol, "OTEL_EXPORTER_OTLP_ENDPOINT": c.Serve(t, protocol), "OTEL_EXPORTER_OTLP_CERTIFICATE": newCertFiles(t).certificate,
		})
		if log != "" || len(c.Spans) != 1 || len(c.Metrics) != 1 || len(c.Logs) != 1 {
			t.Errorf("%s: log %q; %d of traces, %d of metrics, %d of logs", protocol, log, len(c.Spans), len(c.Metrics), len(c.Logs))
		}
	}
}

// TestInsecureWithScheme checks that https:// uses TLS even if INSECURE is true.
func TestInsecureWithScheme(t *testing.T) {
	theirs := newCertFiles(t)
	config := &tls.Config{Certificates: []tls.Certificate{theirs.pair}, MinVersion: tls.VersionTLS12}
	for _, protocol := range []string{"grpc", "http/protobuf"} {
		c := &otlptest.Collector{}
		env := map[string]string{
			"OTEL_EXPORTER_OTLP_PROTOCOL": protocol, "OTEL_EXPORTER_OTLP_CERTIFICATE": theirs.certificate, "OTEL_EXPORTER_OTLP_INSECURE": "true",
		}
		if protocol == "grpc" {
			env["OTEL_EXPORTER_OTLP_ENDPOINT"] = "https://" + c.GRPC(t, grpc.Creds(credentials.NewTLS(config)))
		} else {
			server := httptest.NewUnstartedServer(c)
			server.TLS = config
			server.StartTLS()
			t.Cleanup(server.Close)
			env["OTEL_EXPORTER_OTLP_ENDPOINT"] = server.URL
		}
		if log := export(t, env); log != "" || len(c.Spans) != 1 || len(c.Metrics) != 1 || len(c.Logs) != 1 {
			t.Errorf("%s: log %q; %d of traces, %d of metrics, %d of logs", protocol, log, len(c.Spans), len(c.Metrics), len(c.Logs))
		}
	}
}
