package auth_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/coreos/go-oidc/v3/oidc/oidctest"
)

// TestOIDCIssuerDown: while the issuer does not answer nobody is told that their token
// is bad, and it is not asked by everybody.
func TestOIDCIssuerDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newOIDC(t)
		g.issuer.set(true)
		for range 50 {
			w := g.ask("/mcp", "Bearer "+signed(nil))
			if w.Code != 503 || w.Header().Get("Retry-After") == "" || w.Header().Get("WWW-Authenticate") != "" {
				t.Fatalf("%d %v %s", w.Code, w.Header(), w.Body)
			}
		}
		if n := g.issuer.asked("/.well-known/openid-configuration"); n != 1 {
			t.Errorf("asked %d times at once", n)
		}
		if len(g.audit.records) > 0 {
			t.Error("a token that could not be checked was recorded as a bad one")
		}
		g.issuer.set(false)
		time.Sleep(2 * time.Second)
		g.expect(signed(nil), 200, "oidc:alice")
	})
}

// TestOIDCUnsafe: an issuer whose word anybody on the way could change is not believed.
func TestOIDCUnsafe(t *testing.T) {
	for name, url := range map[string]string{
		"the issuer": "http://login.example.com",
		"its keys":   issuerURL,
	} {
		t.Run(name, func(t *testing.T) {
			g := newOIDC(t)
			g.Issuer.URL = url
			g.issuer.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.HasPrefix(r.URL.Path, "/.well-known") {
					w.Header().Set("Content-Type", "application/json")
					fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":"http://login.example.com/keys"}`, url)
					return
				}
				g.server.ServeHTTP(w, r)
			})
			g.expect(signed(map[string]any{"iss": url}), 503, "cannot be checked right now")
		})
	}
}

// TestOIDCSentElsewhere: nor if it sends to such a place.
func TestOIDCSentElsewhere(t *testing.T) {
	for place, status := range map[string]int{"https://login.example.net": 200, "http://login.example.net": 503} {
		g := newOIDC(t)
		g.issuer.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Host == "login.example.com" {
				http.Redirect(w, r, place+r.URL.Path, http.StatusFound)
				return
			}
			g.server.ServeHTTP(w, r)
		})
		g.expect(signed(nil), status, "")
	}
}

// TestOIDCSlow: those who wait for an issuer that does not answer wait for it once.
func TestOIDCSlow(t *testing.T) {
	g := newOIDC(t)
	clock := time.Now()
	var mu sync.Mutex
	g.Now = func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return clock
	}
	g.issuer.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		clock = clock.Add(5 * time.Second)
		w.WriteHeader(http.StatusGatewayTimeout)
	})
	token := signed(nil)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() { g.expect(token, 503, "cannot be checked right now") })
	}
	all.Wait()
	if n := g.issuer.asked("/.well-known/openid-configuration"); n != 1 {
		t.Errorf("asked %d times", n)
	}
}

// TestOIDCKeysDown: the same, if only the keys are not to be had.
func TestOIDCKeysDown(t *testing.T) {
	for name, answer := range map[string]func(http.ResponseWriter){
		"an error":  func(w http.ResponseWriter) { w.WriteHeader(http.StatusInternalServerError) },
		"no JSON":   func(w http.ResponseWriter) { fmt.Fprint(w, "<html>") },
		"no keys":   func(w http.ResponseWriter) { fmt.Fprint(w, `{"error":"later"}`) },
		"too large": func(w http.ResponseWriter) { fmt.Fprint(w, `{"keys":[],"x":"`+strings.Repeat("a", 2<<20)+`"}`) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newOIDC(t)
				well := false
				g.issuer.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Path == "/keys" && !well {
						answer(w)
						return
					}
					g.server.ServeHTTP(w, r)
				})
				g.expect(signed(nil), 503, "cannot be checked right now")
				g.expect(signed(nil), 503, "cannot be checked right now") // at once
				g.expect("a.b.c", 401, "signed with a public key")
				well = true
				time.Sleep(11 * time.Second)
				g.expect(signed(nil), 200, "oidc:alice")
			})
		})
	}
}

// TestOIDCKeys: keys are fetched once, and again for one that is not there, but not by
// whoever sends bad tokens.
func TestOIDCKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newOIDC(t)
		keys := func(want int) {
			t.Helper()
			if n := g.issuer.asked("/keys"); n != want {
				t.Errorf("keys were fetched %d times, want %d", n, want)
			}
		}
		g.expect(signed(nil), 200, "oidc:alice")
		g.expect(signed(map[string]any{"sub": "bob"}), 200, "oidc:bob")
		keys(1)
		for i := range 20 {
			g.expect(oidctest.SignIDToken(rsaKeys()[1], fmt.Sprint("guess", i), oidc.RS256, claims(nil)), 401, "not signed by")
		}
		keys(1)
		next := oidctest.SignIDToken(rsaKeys()[1], "two", oidc.RS256, claims(nil))
		g.server.PublicKeys = []oidctest.PublicKey{{PublicKey: rsaKeys()[1].Public(), KeyID: "two", Algorithm: oidc.RS256}}
		time.Sleep(10 * time.Second)
		g.expect(next, 200, "oidc:alice")
		keys(2)
		if n := g.issuer.asked("/.well-known/openid-configuration"); n != 1 {
			t.Errorf("discovered %d times", n)
		}
	})
}

// TestOIDCKeysWithdrawn: a key that the issuer withdrew counts for an hour at most; and
// for that long, nobody notices that the issuer is away.
func TestOIDCKeysWithdrawn(t *testing.T) {
	bob := map[string]any{"sub": "bob", "exp": nil}
	synctest.Test(t, func(t *testing.T) {
		g := newOIDC(t)
		bob["exp"] = time.Now().Add(24 * time.Hour).Unix()
		g.expect(signed(bob), 200, "oidc:bob")
		g.issuer.set(true)
		time.Sleep(time.Hour)
		g.expect(signed(bob), 200, "oidc:bob")
		time.Sleep(time.Hour)
		g.expect(signed(bob), 503, "cannot be checked")
		g.issuer.set(false)
		time.Sleep(2 * time.Second)
		g.expect(signed(bob), 200, "oidc:bob")
		time.Sleep(time.Hour - time.Second)
		g.expect(oidctest.SignIDToken(rsaKeys()[1], "guess", oidc.RS256, claims(nil)), 401, "not signed by") // has keys fetched
		time.Sleep(time.Second)
		g.expect(signed(bob), 200, "oidc:bob") // and they are renewed all the same
		g.server.PublicKeys = nil
		time.Sleep(time.Hour)
		g.expect(signed(bob), 401, "not signed by")
	})
}

// TestOIDCKeysMended: an issuer that answers with a page instead of its keys is away.
func TestOIDCKeysMended(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newOIDC(t)
		exp := time.Now().Add(24 * time.Hour).Unix()
		g.expect(signed(map[string]any{"exp": exp}), 200, "oidc:alice")
		g.issuer.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") })
		time.Sleep(time.Hour)
		for _, sub := range []string{"ann", "bob", "cid"} {
			g.expect(signed(map[string]any{"sub": sub, "exp": exp}), 200, "oidc:"+sub)
		}
		if n := g.issuer.asked("/keys"); n != 2 {
			t.Errorf("asked %d times, want at the start and once after the hour", n)
		}
	})
}

// TestOIDCVerifiedOnce: a token is verified once a minute, and ends when it ends.
func TestOIDCVerifiedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newOIDC(t)
		long, short := signed(nil), signed(map[string]any{"exp": time.Now().Unix() - 50})
		g.expect(long, 200, "oidc:alice")
		g.expect(short, 200, "oidc:alice")
		g.server.PublicKeys[0].KeyID = "another" // so a token that is verified now is not good
		time.Sleep(10 * time.Second)
		g.expect(oidctest.SignIDToken(rsaKeys()[0], "another", oidc.RS256, claims(nil)), 200, "oidc:alice")
		synctest.Wait() // the keys are kept a moment after whoever waits for them goes on
		g.expect(short, 401, "expired")
		g.expect(signed(map[string]any{"sub": "bob"}), 401, "not signed by")
		time.Sleep(49 * time.Second)
		g.expect(long, 200, "oidc:alice")
		time.Sleep(time.Second)
		g.expect(long, 401, "not signed by")
	})
}
