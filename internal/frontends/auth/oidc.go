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

// OIDC verifies tokens of an OpenID Connect issuer: JWTs that the issuer signed for this server.
type OIDC struct {
	URL       string       // the issuer, exactly as in the claim iss
	Audience  string       // the required audience; "" for the URLs of this server
	UserClaim string       // the claim that names the user; "" for sub
	Client    *http.Client // nil for a client with default settings

	mu       sync.Mutex // held during discovery
	keys     *keys      // nil until discovery succeeds
	retry    time.Time  // when to retry a failed discovery
	verified tokenCache[*verified]
}

// Validate returns an error if the URL of the issuer is malformed or can be intercepted on the
// network.
func (o *OIDC) Validate() error {
	u, err := url.Parse(o.URL)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return fmt.Errorf("issuer %q: give the URL in the claim iss of its tokens, such as https://login.example.com", o.URL)
	}
	if !isSafe(u) {
		return fmt.Errorf("issuer %q: must be https; plain http is allowed only for an issuer on this machine", o.URL)
	}
	return nil
}

// isSafe reports whether responses from a URL cannot be changed on the network.
func isSafe(u *url.URL) bool {
	return u.Scheme == "https" || u.Scheme == "http" && isLoopback(u.Hostname())
}

func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && ip.Unmap().IsLoopback()
}

const (
	issuerTimeout = 5 * time.Second // of a request to the issuer
	// The minimum time between requests to an issuer that fails.
	retryInterval    = 2 * time.Second
	minFetchInterval = 10 * time.Second // the minimum time between two fetches of the keys
	// The maximum time between two fetches, because a key may have been withdrawn.
	keyRefreshInterval = time.Hour
	maxResponseBytes   = 1 << 20     // the maximum size of a response of the issuer
	verifiedTTL        = time.Minute // how long a verified token is cached
	// The accepted difference between the issuer's clock and ours.
	leeway = time.Minute
)

// algorithms returns the accepted signature algorithms. All are asymmetric, so only the issuer can
// sign. "none" must never be accepted, nor HS256, whose key would be the public key.
func algorithms() []string {
	return []string{oidc.RS256, oidc.RS384, oidc.RS512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.EdDSA}
}

// check returns the identity of the bearer of a token. It returns a contract.Denied error if the
// token is not valid, and another error if the issuer cannot be reached.
func (o *OIDC) check(ctx context.Context, token, base string, clock func() time.Time) (*identity.Identity, error) {
	now := clock()
	v, known := o.verified.get(token, now)
	if !known {
		var err error
		if v, err = o.verify(ctx, token, clock); err != nil {
			return nil, err
		}
		if err := o.checkAudience(v.audience, base); err != nil {
			return nil, err
		}
	}
	if err := v.checkTime(now); err != nil {
		return nil, err
	}
	if !known {
		o.verified.add(token, v, now, now.Add(verifiedTTL))
	}
	return v.who, nil
}

// verify checks the signature and the issuer of a token, and returns its claims.
func (o *OIDC) verify(ctx context.Context, token string, clock func() time.Time) (*verified, error) {
	if strings.Count(token, ".") != 2 {
		return nil, deniedf("The token is neither a Remit token, which begins with %s, nor a JWT", identity.Prefix)
	}
	keys, err := o.findKeys(ctx, clock)
	if err != nil {
		return nil, err
	}
	check := keys.check()
	parsed, err := oidc.NewVerifier(o.URL, check, &oidc.Config{
		// The client ID and the expiry are checked by checkAudience and checkTime, with leeway.
		SupportedSigningAlgs: algorithms(), SkipClientIDCheck: true, SkipExpiryCheck: true,
	}).Verify(ctx, token)
	switch {
	case check.keysErr != nil:
		return nil, issuerUnavailable(check.keysErr)
	case err == nil:
		return o.read(parsed)
	case check.failed:
		return nil, deniedf("The token was not signed by %s", o.URL).Because(err)
	case check.passed:
		return nil, deniedf("The token is not from the issuer %s, or its claims cannot be read", o.URL).Because(err)
	default:
		return nil, deniedf("The token is not a JWT signed with a public key").Because(err)
	}
}

// findKeys discovers the keys of the issuer once. If the issuer does not answer, find retries after
// retryInterval, not for every request.
func (o *OIDC) findKeys(ctx context.Context, clock func() time.Time) (*keys, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.keys != nil {
		return o.keys, nil
	}
	if clock().Before(o.retry) {
		return nil, issuerUnavailable(errors.New("the issuer failed to answer a moment ago"))
	}
	keysURL, err := o.discover(ctx)
	if err != nil {
		o.retry = clock().Add(retryInterval)
		return nil, issuerUnavailable(fmt.Errorf("discover %s: %w", o.URL, err))
	}
	o.keys = &keys{url: keysURL, client: o.client(), now: clock}
	return o.keys, nil
}

// discover returns the URL of the issuer's keys.
func (o *OIDC) discover(ctx context.Context) (string, error) {
	if err := o.Validate(); err != nil {
		return "", err
	}
	// Other requests use the result, so a client that disconnects must not cancel the check.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), issuerTimeout)
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
	if keysURL, err := url.Parse(found.Keys); err != nil || !isSafe(keysURL) {
		return "", fmt.Errorf("its jwks_uri %q is not https", found.Keys)
	}
	return found.Keys, nil
}

// client returns an HTTP client for requests to the issuer, with a timeout and a size limit.
func (o *OIDC) client() *http.Client {
	client := http.Client{Timeout: issuerTimeout}
	if o.Client != nil {
		client = *o.Client
	}
	client.Transport = limitedTransport{cmp.Or(client.Transport, http.DefaultTransport)}
	client.CheckRedirect = func(r *http.Request, via []*http.Request) error {
		if len(via) > 5 || !isSafe(r.URL) {
			return fmt.Errorf("the issuer redirects to %s, which is not allowed", r.URL)
		}
		return nil
	}
	return &client
}

// limitedTransport limits the size of response bodies.
type limitedTransport struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b limitedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := b.next.RoundTrip(r)
	if err == nil {
		response.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(response.Body, maxResponseBytes), response.Body}
	}
	return response, err
}

func deniedf(format string, args ...any) *contract.Error {
	return contract.Errorf(contract.Denied, format, args...)
}

func issuerUnavailable(err error) error {
	return contract.Errorf(contract.Unavailable, "The token issuer cannot be reached; try again").Because(err)
}

const maxCachedTokens = 1024 // the capacity of a tokenCache

// tokenCache is a bounded cache of values by token. It stores only hashes of tokens, so a memory
// dump reveals none. The zero value is ready to use.
type tokenCache[T any] struct {
	mu      sync.Mutex
	entries map[[sha256.Size]byte]cacheEntry[T]
}

type cacheEntry[T any] struct {
	value T
	until time.Time
}

// get returns the value of a token that has not expired.
func (c *tokenCache[T]) get(token string, now time.Time) (value T, ok bool) {
	key := sha256.Sum256([]byte(token))
	c.mu.Lock()
	defer c.mu.Unlock()
	found, ok := c.entries[key]
	if !ok || !now.Before(found.until) {
		return value, false
	}
	return found.value, true
}

// add stores a value for a token until a time.
func (c *tokenCache[T]) add(token string, value T, now, until time.Time) {
	key := sha256.Sum256([]byte(token))
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries == nil {
		c.entries = map[[sha256.Size]byte]cacheEntry[T]{}
	}
	if _, known := c.entries[key]; !known && len(c.entries) >= maxCachedTokens {
		c.evict(now)
	}
	c.entries[key] = cacheEntry[T]{value, until}
}

// evict removes expired entries, then arbitrary ones until there is room for another.
func (c *tokenCache[T]) evict(now time.Time) {
	for key, found := range c.entries {
		if !now.Before(found.until) {
			delete(c.entries, key)
		}
	}
	for key := range c.entries {
		if len(c.entries) < maxCachedTokens {
			return
		}
		delete(c.entries, key)
	}
}
