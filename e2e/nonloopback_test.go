package e2e

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestNonLoopbackAddresses checks that the server listens on other addresses than loopback only
// with identity, and with TLS or behind a proxy.
func TestNonLoopbackAddresses(t *testing.T) {
	s := newWorkspace(t, nil)
	cert, key := certificate(t)
	refused := func(why string, args ...string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		defer cancel()
		cmd := exec.CommandContext(ctx, remitBin, append([]string{"serve", "--root", s.root, "--addr", "0.0.0.0:0"}, args...)...)
		cmd.Env = environment(s.env...)
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), why) {
			t.Errorf("%v: %v\n%s\nwant an error that contains %q", args, err, out, why)
		}
	}
	refused("--tls-cert")
	refused("create a token first", "--tls-cert", cert, "--tls-key", key)
	refused("create a token first", "--behind-proxy")
	refused("--identity off", "--behind-proxy", "--identity", "off")
	refused("set together", "--tls-cert", cert)
	secret := s.token("--name", "x", "--scopes", "*:read", "--user", "ada")
	refused("--tls-cert")
	refused("--identity off", "--tls-cert", cert, "--tls-key", key, "--identity", "off")

	cmd := exec.Command(remitBin, "serve", "--root", s.root, "--addr", "0.0.0.0:0", "--tls-cert", cert, "--tls-key", key)
	cmd.Env = environment(s.env...)
	stderr, err := cmd.StderrPipe()
	s.check(err)
	s.check(cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	line, err := bufio.NewReader(stderr).ReadString('\n')
	port := regexp.MustCompile(`https://\S+:(\d+)`).FindStringSubmatch(line)
	if err != nil || port == nil {
		t.Fatalf("the server did not start: %s %v", line, err)
	}
	go func() { _, _ = io.Copy(io.Discard, stderr) }()
	client := clientTrusting(t, cert)
	for token, want := range map[string]int{"": 401, secret: 200} {
		r, err := newPost(t.Context(), "https://localhost:"+port[1]+"/tools/list_tasks", `{"user_id":"ada"}`, nil)
		s.check(err)
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		got, err := send(client, r)
		if err != nil || got.status != want {
			t.Errorf("over TLS: %d %s %v, want %d", got.status, got.body, err, want)
		}
	}
}

// certificate creates a certificate for localhost and returns its files.
func certificate(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, block := range map[string]*pem.Block{"cert.pem": {Type: "CERTIFICATE", Bytes: signed}, "key.pem": {Type: "PRIVATE KEY", Bytes: raw}} {
		if err := os.WriteFile(fmt.Sprintf("%s/%s", dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir + "/cert.pem", dir + "/key.pem"
}

// clientTrusting returns a client that trusts one certificate.
func clientTrusting(t *testing.T, cert string) *http.Client {
	t.Helper()
	text, err := os.ReadFile(cert)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(text)
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
}
