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

// keys are those of an issuer.
type keys struct {
	url    string
	client *http.Client
	now    func() time.Time

	mu           sync.Mutex
	current, old oidc.KeySet // go-oidc forgets no key before it fetches them again
	renew        time.Time
}

// check begins to check one token.
func (k *keys) check() *signature {
	k.mu.Lock()
	defer k.mu.Unlock()
	if now := k.now(); !now.Before(k.renew) {
		client := *k.client
		client.Transport = &fetches{next: client.Transport, now: k.now}
		k.old, k.current = k.current, oidc.NewRemoteKeySet(oidc.ClientContext(context.Background(), &client), k.url)
		k.renew = now.Add(renewEvery)
	}
	return &signature{current: k.current, old: k.old}
}

// signature checks that of one token, and remembers how that went: the verifier tells
// it in words alone.
type signature struct {
	current, old   oidc.KeySet
	passed, failed bool
	away           error // the keys could not be had
}

// VerifySignature implements oidc.KeySet.
func (s *signature) VerifySignature(ctx context.Context, jwt string) ([]byte, error) {
	payload, err := s.current.VerifySignature(ctx, jwt)
	if isAway(err) && s.old != nil {
		// The issuer may be away for a while without those who were let in noticing.
		if known, stale := s.old.VerifySignature(ctx, jwt); stale == nil {
			payload, err = known, nil
		}
	}
	switch {
	case err == nil:
		s.passed = true
	case isAway(err):
		s.away = err
	default:
		s.failed = true
	}
	return payload, err
}

// isAway tells whether a signature could not be checked for want of keys.
func isAway(err error) bool {
	return err != nil && strings.HasPrefix(err.Error(), "fetching keys") && !errors.Is(err, errFresh)
}

// errFresh is why keys are not fetched again: those that there are cannot be old.
var errFresh = errors.New("the keys were fetched a moment ago")

// fetches are those of the issuer's keys. go-oidc fetches them for every token that no
// key fits, so that whoever sends bad ones could have it ask all the time.
type fetches struct {
	next http.RoundTripper
	now  func() time.Time

	mu     sync.Mutex
	fresh  time.Time // until when those that were fetched are not old
	failed time.Time // until when it is not tried again
}

// RoundTrip implements http.RoundTripper.
func (f *fetches) RoundTrip(r *http.Request) (*http.Response, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch now := f.now(); {
	case now.Before(f.fresh):
		return nil, errFresh
	case now.Before(f.failed):
		return nil, errors.New("the issuer did not give its keys a moment ago")
	}
	response, err := f.next.RoundTrip(r)
	if err == nil && response.StatusCode == http.StatusOK {
		err = readKeys(response)
	}
	switch {
	case err != nil:
		f.failed = f.now().Add(retryEvery)
		return nil, err
	case response.StatusCode == http.StatusOK:
		f.fresh = f.now().Add(fetchEvery)
	case response.StatusCode >= http.StatusBadRequest:
		f.failed = f.now().Add(retryEvery)
	}
	return response, nil
}

// readKeys refuses an answer that holds no keys, such as a page that says that the
// issuer is being mended: then those that there are may well be old.
func readKeys(response *http.Response) error {
	body, err := io.ReadAll(response.Body)
	_ = response.Body.Close() // all of it was read, or it is of no use
	if err != nil {
		return err
	}
	var set map[string]json.RawMessage
	var list []map[string]json.RawMessage // null for one that withdrew all of them
	if json.Unmarshal(body, &set) != nil || json.Unmarshal(set["keys"], &list) != nil {
		return errors.New("the issuer answered with something that is no set of keys")
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	return nil
}
