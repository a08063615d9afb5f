package httpserver

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// issue writes a certificate with a serial number, and its key.
func issue(t *testing.T, cert, key string, number int64) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(number), DNSNames: []string{"localhost"}}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	write(t, cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed}), number)
	write(t, key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw}), number)
}

// write writes a file and sets its modification time: the test's clock differs from the disk's.
func write(t *testing.T, name string, data []byte, second int64) {
	t.Helper()
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(name, time.Time{}, time.Unix(second, 0)); err != nil {
		t.Fatal(err)
	}
}

// TestCertificateIsRenewed checks that a new certificate is served soon, and the old one while the
// new one cannot be read.
func TestCertificateIsRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		dir := t.TempDir()
		cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
		issue(t, cert, key, 1)
		c, err := LoadCertificate(cert, key, slog.New(slog.NewTextHandler(&log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		expectSerial := func(number int64) {
			t.Helper()
			got, err := c.get(nil)
			if err != nil || got.Leaf.SerialNumber.Int64() != number {
				t.Fatalf("shows %v %v, want number %d", got.Leaf.SerialNumber, err, number)
			}
		}
		expectSerial(1)
		issue(t, cert, key, 2)
		expectSerial(1) // the files are not checked for every connection
		time.Sleep(checkInterval + 1)
		expectSerial(2)
		write(t, key, []byte("half"), 3)
		time.Sleep(checkInterval + 1)
		expectSerial(2)
		if text := log.String(); strings.Count(text, "the old one stays in use") != 1 {
			t.Errorf("log %q", text)
		}
		issue(t, cert, key, 4)
		time.Sleep(checkInterval + 1)
		expectSerial(4)
		if err := os.Remove(cert); err != nil {
			t.Fatal(err)
		}
		time.Sleep(checkInterval + 1)
		expectSerial(4)
		if _, err := LoadCertificate(cert, key, slog.Default()); err == nil || !strings.Contains(err.Error(), "--tls-cert") {
			t.Errorf("a start without it: %v", err)
		}
	})
}

// TestOriginsWhenExposed checks which origins an exposed server allows: its own host name
// and the configured origin.
func TestOriginsWhenExposed(t *testing.T) {
	for _, tc := range []struct {
		origin, host string
		tls, want    bool
	}{
		{"https://remit.example.com", "10.0.0.1:8722", false, true},
		{"https://10.0.0.1:8722", "10.0.0.1:8722", true, true},
		{"http://10.0.0.1:8722", "10.0.0.1:8722", false, true},
		// An attacker on the network can forge such a page.
		{"http://10.0.0.1:8722", "10.0.0.1:8722", true, false},
		{"https://remit.example.com.evil.com", "10.0.0.1:8722", true, false},
		{"https://remit.example.com:8722", "10.0.0.1:8722", true, false},
		{"https://evil.com", "10.0.0.1:8722", true, false},
		{"http://localhost:3000", "10.0.0.1:8722", false, false},
		// Another program on this machine.
		{"http://localhost:3000", "localhost:8722", false, false},
		{"http://localhost", "localhost:8722", false, false},
		{"http://127.0.0.1:8722", "localhost:8722", false, false},
		{"http://localhost:8722.evil.com", "localhost:8722", false, false},
		{"http://localhost:8722@evil", "localhost:8722", false, false},
		{"http://LOCALHOST:8722", "localhost:8722", false, false},
		{"HTTP://localhost:8722", "localhost:8722", false, false},
		{"http://localhost.:8722", "localhost:8722", false, false},
		{"http://localhost:8722", "localhost:8722", false, true},
		{"ftp://10.0.0.1", "10.0.0.1", false, false},
		{"null", "null", false, false},
		{"", "", false, false},
		// The public host is the public URL's, with its scheme.
		{"https://remit.example.com", "remit.example.com", false, true},
		{"http://remit.example.com", "remit.example.com", false, false},
		{"https://remit.example.com:443", "remit.example.com:443", true, false},
		{"https://10.0.0.1:8722", "10.0.0.1:8722", false, false},
	} {
		s := &Server{Exposed: true, Origin: "https://remit.example.com"}
		if tc.tls {
			s.TLS = &Certificate{}
		}
		if got := s.isOwnOrigin([]string{tc.origin}, tc.host); got != tc.want {
			t.Errorf("%q at %q, TLS %v: %v", tc.origin, tc.host, tc.tls, got)
		}
	}
	if (&Server{Exposed: true}).isOwnOrigin([]string{""}, "10.0.0.1") {
		t.Error("an empty origin is accepted if none is configured")
	}
	for origin, want := range map[string]bool{"https://remit.example.com": true, "http://remit.example.com": false} {
		if got := (&Server{Exposed: true, Proxied: true}).isOwnOrigin([]string{origin}, "remit.example.com"); got != want {
			t.Errorf("%s behind a proxy, without a public URL: %v", origin, got)
		}
	}
}

// TestHostsWhenExposed checks which host names an exposed server accepts: that of its public URL,
// loopback addresses, and the address that the request came to.
func TestHostsWhenExposed(t *testing.T) {
	local := context.WithValue(t.Context(), http.LocalAddrContextKey, &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 8722})
	for host, want := range map[string]bool{
		"remit.example.com": true, "REMIT.example.com": true, "remit.example.com:443": true, "127.0.0.1:8722": true, "localhost": true,
		"10.0.0.1:8722": true, "0.0.0.0:8722": true,
		"evil.example": false, "remit.example.com:80": false, "remit.example.com.evil.example": false, "10.0.0.2:8722": false, "": false,
	} {
		r := (&http.Request{Host: host}).WithContext(local)
		if got := (&Server{Exposed: true, Origin: "https://remit.example.com"}).isOwnHost(r, "0.0.0.0:8722"); got != want {
			t.Errorf("host %q: %v", host, got)
		}
		if !(&Server{Exposed: true}).isOwnHost(r, "0.0.0.0:8722") {
			t.Errorf("host %q is rejected without a public URL", host)
		}
	}
}

// TestRejectionsHaveSecurityHeaders checks that requests that guard rejects have security headers
// too.
func TestRejectionsHaveSecurityHeaders(t *testing.T) {
	s := &Server{Log: slog.New(slog.DiscardHandler)}
	w := httptest.NewRecorder()
	s.guard("127.0.0.1:8722", nil).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://evil.example/console/", http.NoBody))
	if w.Code != http.StatusForbidden || w.Header().Get("X-Frame-Options") != "DENY" || w.Header().Get("Content-Security-Policy") == "" {
		t.Errorf("%d with %v", w.Code, w.Header())
	}
}
