package auth

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
)

// keys caches the public keys of an issuer.
type keys struct {
	url    string
	client *http.Client
	now    func() time.Time

	mu           sync.Mutex
	current, old oidc.KeySet // go-oidc keeps every key until it fetches the keys again
	renew        time.Time
}

// check returns a key set to verify one token with. It replaces the cached keys when they are due
// for renewal.
func (k *keys) check() *signature {
	k.mu.Lock()
	defer k.mu.Unlock()
	if now := k.now(); !now.Before(k.renew) {
		client := *k.client
		client.Transport = &throttledTransport{next: client.Transport, now: k.now}
		k.old, k.current = k.current, oidc.NewRemoteKeySet(oidc.ClientContext(context.Background(), &client), k.url)
		k.renew = now.Add(keyRefreshInterval)
	}
	return &signature{current: k.current, old: k.old}
}

// signature verifies the signature of one token and records the outcome, because the verifier
// returns only an error text.
type signature struct {
	current, old   oidc.KeySet
	passed, failed bool
	keysErr        error // the keys could not be fetched
}

// VerifySignature implements oidc.KeySet.
func (s *signature) VerifySignature(ctx context.Context, jwt string) ([]byte, error) {
	payload, err := s.current.VerifySignature(ctx, jwt)
	if isFetchError(err) && s.old != nil {
		// While the issuer is down, the previous keys still verify tokens.
		if known, stale := s.old.VerifySignature(ctx, jwt); stale == nil {
			payload, err = known, nil
		}
	}
	switch {
	case err == nil:
		s.passed = true
	case isFetchError(err):
		s.keysErr = err
	default:
		s.failed = true
	}
	return payload, err
}

// isFetchError reports whether a signature could not be checked because the keys could not be
// fetched.
func isFetchError(err error) bool {
	return err != nil && strings.HasPrefix(err.Error(), "fetching keys") && !errors.Is(err, errRecentlyFetched)
}

// errRecentlyFetched means that the keys were fetched too recently to fetch them again.
var errRecentlyFetched = errors.New("the keys were fetched a moment ago")

// throttledTransport limits how often the keys are fetched. go-oidc fetches them for every token
// that no key matches, so a client could send invalid tokens to make this server flood the issuer.
type throttledTransport struct {
	next http.RoundTripper
	now  func() time.Time

	mu     sync.Mutex
	fresh  time.Time // until then, do not fetch: the keys are recent
	failed time.Time // until then, do not retry a failed fetch
}

// RoundTrip implements http.RoundTripper.
func (f *throttledTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch now := f.now(); {
	case now.Before(f.fresh):
		return nil, errRecentlyFetched
	case now.Before(f.failed):
		return nil, errors.New("the issuer failed to return its keys a moment ago")
	}
	response, err := f.next.RoundTrip(r)
	if err == nil && response.StatusCode == http.StatusOK {
		err = readKeys(response)
	}
	switch {
	case err != nil:
		f.failed = f.now().Add(retryInterval)
		return nil, err
	case response.StatusCode == http.StatusOK:
		f.fresh = f.now().Add(minFetchInterval)
	case response.StatusCode >= http.StatusBadRequest:
		f.failed = f.now().Add(retryInterval)
	}
	return response, nil
}

// readKeys returns an error if the response is not a key set, for example if it is a maintenance
// page. Then the cached keys are not treated as recent.
func readKeys(response *http.Response) error {
	body, err := io.ReadAll(response.Body)
	_ = response.Body.Close() // the body was read completely, or the read failed
	if err != nil {
		return err
	}
	var set map[string]json.RawMessage
	var list []map[string]json.RawMessage // null if the issuer withdrew all keys
	if json.Unmarshal(body, &set) != nil || json.Unmarshal(set["keys"], &list) != nil {
		return errors.New("the issuer's answer is not a JSON Web Key Set")
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	return nil
}
