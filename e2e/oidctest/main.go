// Command oidctest is an OpenID provider for tests, made with github.com/zitadel/oidc. It issues
// tokens to clients whose secret is "secret".
//
// The name of a client describes its tokens, as a query:
// "sub=alice&aud=https://remit.example.com/mcp&life=1h&begins=1h". The issuer is the host name of
// the request, so a provider with two names signs for two issuers.
package main

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	jose "github.com/go-jose/go-jose/v4"
	"github.com/zitadel/oidc/v3/pkg/op"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run serves until stdin ends, which happens when the test ends. It prints its port in the first
// line.
func run() error {
	algorithm := flag.String("alg", "RS256", "algorithm of signatures: RS256 or ES256")
	port := flag.Int("port", 0, "loopback port to listen on; 0 for any")
	flag.Parse()
	key, err := newKey(jose.SignatureAlgorithm(*algorithm))
	if err != nil {
		return err
	}
	provider, err := op.NewProvider(&op.Config{AuthMethodPost: true, CodeMethodS256: true}, &storage{key: key}, op.IssuerFromHost(""),
		op.WithAllowInsecure(), op.WithLogger(slog.New(slog.NewTextHandler(os.Stderr, nil))))
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", *port))
	if err != nil {
		return err
	}
	fmt.Println(l.Addr().(*net.TCPAddr).Port)
	server := &http.Server{Handler: provider, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	return server.Serve(l)
}

// signingKey is the only key of the provider.
type signingKey struct {
	id        string
	algorithm jose.SignatureAlgorithm
	private   crypto.Signer
}

func newKey(algorithm jose.SignatureAlgorithm) (*signingKey, error) {
	var private crypto.Signer
	var err error
	switch algorithm {
	case jose.RS256:
		private, err = rsa.GenerateKey(rand.Reader, 2048)
	case jose.ES256:
		private, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	default:
		err = fmt.Errorf("-alg %s: must be RS256 or ES256", algorithm)
	}
	return &signingKey{rand.Text(), algorithm, private}, err
}

func (k *signingKey) ID() string                                  { return k.id }
func (k *signingKey) SignatureAlgorithm() jose.SignatureAlgorithm { return k.algorithm }
func (k *signingKey) Key() any                                    { return k.private }

// publicKey is the public part of the key.
type publicKey struct{ *signingKey }

func (k publicKey) Algorithm() jose.SignatureAlgorithm { return k.algorithm }
func (k publicKey) Use() string                        { return "sig" }
func (k publicKey) Key() any                           { return k.private.Public() }
