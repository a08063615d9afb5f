package auth

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"remit/internal/contract"
	"remit/internal/engine/identity"
)

// OIDC takes the tokens of an OpenID Connect issuer: JWTs that it signed for this
// server.
type OIDC struct {
	URL       string       // the issuer, as its tokens name it
	Audience  string       // whom tokens must be for; "" for the addresses of this server
	UserClaim string       // the claim that names the user; "" for sub
	Client    *http.Client // nil for one of its own

	finds    sync.Mutex // held while the issuer is asked where its keys are
	keys     *keys      // nil if it has not said so yet
	retry    time.Time  // when to ask an issuer again that did not answer
	verified recent[*verified]
}

// Validate refuses an issuer that anybody on the way could stand in for.
func (o *OIDC) Validate() error {
	u, err := url.Parse(o.URL)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return fmt.Errorf("issuer %q: give the address that it names itself by, such as https://login.example.com", o.URL)
	}
	if !isSafe(u) {
		return fmt.Errorf("issuer %q: must be https; plain http is for an issuer on this machine alone", o.URL)
	}
	return nil
}

// isSafe tells whether nobody on the way can change what is at an address.
func isSafe(u *url.URL) bool {
	return u.Scheme == "https" || u.Scheme == "http" && isLoopback(u.Hostname())
}

func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && ip.Unmap().IsLoopback()
}

const (
	issuerPatience = 5 * time.Second  // for an answer of the issuer
	retryEvery     = 2 * time.Second  // how often an issuer is asked that does not answer
	fetchEvery     = 10 * time.Second // how often keys are fetched at most
	renewEvery     = time.Hour        // how often they are fetched at least, because one may have been withdrawn
	longestAnswer  = 1 << 20          // bytes that an issuer may answer with
	verifiedFor    = time.Minute      // how long a token is not verified again
	leeway         = time.Minute      // how far the clocks of the issuer and of this machine may be apart
)

// algorithms are those of signatures that only the issuer can make. Never "none", and
// never HS256, whose key would be the public one.
func algorithms() []string {
	return []string{oidc.RS256, oidc.RS384, oidc.RS512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.EdDSA}
}

// check tells who the bearer of a token is. The error is a contract.Denied, or another
// if the issuer cannot be asked.
func (o *OIDC) check(ctx context.Context, token, base string, clock func() time.Time) (*identity.Identity, error) {
	now := clock()
	v, known := o.verified.get(token, now)
	if !known {
		var err error
		if v, err = o.verify(ctx, token, clock); err != nil {
			return nil, err
		}
		if err := o.isFor(v.audience, base); err != nil {
			return nil, err
		}
	}
	if err := v.isValid(now); err != nil {
		return nil, err
	}
	if !known {
		o.verified.add(token, v, now, now.Add(verifiedFor))
	}
	return v.who, nil
}

// verify tells what a token says, if the issuer says it.
func (o *OIDC) verify(ctx context.Context, token string, clock func() time.Time) (*verified, error) {
	if strings.Count(token, ".") != 2 {
		return nil, denied("The token is neither one of Remit, which begin with %s, nor a JWT", identity.Prefix)
	}
	keys, err := o.find(ctx, clock)
	if err != nil {
		return nil, err
	}
	check := keys.check()
	parsed, err := oidc.NewVerifier(o.URL, check, &oidc.Config{
		SupportedSigningAlgs: algorithms(), SkipClientIDCheck: true, SkipExpiryCheck: true, // both are checked here, with leeway
	}).Verify(ctx, token)
	switch {
	case check.away != nil:
		return nil, away(check.away)
	case err == nil:
		return o.read(parsed)
	case check.failed:
		return nil, denied("The token was not signed by %s", o.URL).Because(err)
	case check.passed:
		return nil, denied("The token is not of the issuer %s, or its claims cannot be read", o.URL).Because(err)
	default:
		return nil, denied("The token is no JWT that was signed with a public key").Because(err)
	}
}

// find asks the issuer where its keys are, once. An issuer that does not answer is
// asked again, but not by everybody who waits.
func (o *OIDC) find(ctx context.Context, clock func() time.Time) (*keys, error) {
	o.finds.Lock()
	defer o.finds.Unlock()
	if o.keys != nil {
		return o.keys, nil
	}
	if clock().Before(o.retry) {
		return nil, away(errors.New("the issuer did not answer a moment ago"))
	}
	place, err := o.discover(ctx)
	if err != nil {
		o.retry = clock().Add(retryEvery)
		return nil, away(fmt.Errorf("discover %s: %w", o.URL, err))
	}
	o.keys = &keys{url: place, client: o.client(), now: clock}
	return o.keys, nil
}

// discover asks the issuer where its keys are.
func (o *OIDC) discover(ctx context.Context) (string, error) {
	if err := o.Validate(); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), issuerPatience) // whoever leaves asked for others too
	defer cancel()
	provider, err := oidc.NewProvider(oidc.ClientContext(ctx, o.client()), o.URL)
	if err != nil {
		return "", err
	}
	var found struct {
		Keys string `json:"jwks_uri"`
	}
	if err := provider.Claims(&found); err != nil {
		return "", err
	}
	if place, err := url.Parse(found.Keys); err != nil || !isSafe(place) {
		return "", fmt.Errorf("its keys are at %q, where anybody on the way could change them", found.Keys)
	}
	return found.Keys, nil
}

// client is for requests to the issuer: bounded in time and size.
func (o *OIDC) client() *http.Client {
	client := http.Client{Timeout: issuerPatience}
	if o.Client != nil {
		client = *o.Client
	}
	client.Transport = bounded{cmp.Or(client.Transport, http.DefaultTransport)}
	client.CheckRedirect = func(r *http.Request, via []*http.Request) error {
		if len(via) > 5 || !isSafe(r.URL) {
			return fmt.Errorf("the issuer sends elsewhere: %s", r.URL)
		}
		return nil
	}
	return &client
}

// bounded cuts answers that are too long.
type bounded struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := b.next.RoundTrip(r)
	if err == nil {
		response.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(response.Body, longestAnswer), response.Body}
	}
	return response, err
}

func denied(format string, args ...any) *contract.Error {
	return contract.Errorf(contract.Denied, format, args...)
}

func away(err error) error {
	return contract.Errorf(contract.Unavailable, "The issuer of tokens cannot be reached; try again").Because(err)
}

const mostRecent = 1024 // tokens that are remembered

// recent remembers something of tokens for a while, by their hashes: what is in memory
// opens no door. It holds a bounded number of them. The zero value is ready to use.
type recent[T any] struct {
	mu    sync.Mutex
	known map[[sha256.Size]byte]remembered[T]
}

type remembered[T any] struct {
	what  T
	until time.Time
}

// get gives what is remembered of a token.
func (c *recent[T]) get(token string, now time.Time) (what T, ok bool) {
	key := sha256.Sum256([]byte(token))
	c.mu.Lock()
	defer c.mu.Unlock()
	found, ok := c.known[key]
	if !ok || !now.Before(found.until) {
		return what, false
	}
	return found.what, true
}

// add remembers something of a token until an instant.
func (c *recent[T]) add(token string, what T, now, until time.Time) {
	key := sha256.Sum256([]byte(token))
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil {
		c.known = map[[sha256.Size]byte]remembered[T]{}
	}
	if _, known := c.known[key]; !known && len(c.known) >= mostRecent {
		c.makeRoom(now)
	}
	c.known[key] = remembered[T]{what, until}
}

// makeRoom forgets what is over; if nothing is, then whatever comes first.
func (c *recent[T]) makeRoom(now time.Time) {
	for key, found := range c.known {
		if !now.Before(found.until) {
			delete(c.known, key)
		}
	}
	for key := range c.known {
		if len(c.known) < mostRecent {
			return
		}
		delete(c.known, key)
	}
}
