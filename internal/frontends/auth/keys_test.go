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

// TestOIDCIssuerDown checks that tokens are answered with 503 while the issuer is down, and that
// not every request asks the issuer.
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

// TestOIDCUnsafe checks that an issuer or its keys at a plain http URL are rejected.
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
			g.expect(signed(map[string]any{"iss": url}), 503, "The token issuer cannot be reached")
		})
	}
}

// TestOIDCRedirects checks that redirects to a plain http URL are rejected.
func TestOIDCRedirects(t *testing.T) {
	for target, status := range map[string]int{"https://login.example.net": 200, "http://login.example.net": 503} {
		g := newOIDC(t)
		g.issuer.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Host == "login.example.com" {
				http.Redirect(w, r, target+r.URL.Path, http.StatusFound)
				return
			}
			g.server.ServeHTTP(w, r)
		})
		g.expect(signed(nil), status, "")
	}
}

// TestOIDCSlow checks that concurrent requests share one request to a slow issuer.
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
		all.Go(func() { g.expect(token, 503, "The token issuer cannot be reached") })
	}
	all.Wait()
	if n := g.issuer.asked("/.well-known/openid-configuration"); n != 1 {
		t.Errorf("asked %d times", n)
	}
}

// TestOIDCKeysDown checks that tokens are answered with 503 while the keys cannot be fetched.
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
				healthy := false
				g.issuer.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Path == "/keys" && !healthy {
						answer(w)
						return
					}
					g.server.ServeHTTP(w, r)
				})
				g.expect(signed(nil), 503, "The token issuer cannot be reached")
				// Not fetched again.
				g.expect(signed(nil), 503, "The token issuer cannot be reached")
				g.expect("a.b.c", 401, "signed with a public key")
				healthy = true
				time.Sleep(11 * time.Second)
				g.expect(signed(nil), 200, "oidc:alice")
			})
		})
	}
}

// TestOIDCKeys checks that keys are fetched once, and again for an unknown key ID, but that invalid
// tokens cannot trigger many fetches.
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

// TestOIDCKeysWithdrawn checks that a withdrawn key is accepted for at most an hour, and that an
// outage of the issuer has no effect for that long.
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
		g.expect(signed(bob), 503, "The token issuer cannot be reached")
		g.issuer.set(false)
		time.Sleep(2 * time.Second)
		g.expect(signed(bob), 200, "oidc:bob")
		time.Sleep(time.Hour - time.Second)
		// This token triggers a fetch of the keys.
		g.expect(oidctest.SignIDToken(rsaKeys()[1], "guess", oidc.RS256, claims(nil)), 401, "not signed by")
		time.Sleep(time.Second)
		g.expect(signed(bob), 200, "oidc:bob") // the keys are renewed nevertheless
		g.server.PublicKeys = nil
		time.Sleep(time.Hour)
		g.expect(signed(bob), 401, "not signed by")
	})
}

// TestOIDCKeysMaintenancePage checks that a maintenance page in place of the keys counts as an
// outage.
func TestOIDCKeysMaintenancePage(t *testing.T) {
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

// TestOIDCVerifiedCache checks that a verified token is cached for a minute, but not beyond its
// expiry.
func TestOIDCVerifiedCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newOIDC(t)
		long, short := signed(nil), signed(map[string]any{"exp": time.Now().Unix() - 50})
		g.expect(long, 200, "oidc:alice")
		g.expect(short, 200, "oidc:alice")
		g.server.PublicKeys[0].KeyID = "another" // a token that is verified from now on is invalid
		time.Sleep(10 * time.Second)
		g.expect(oidctest.SignIDToken(rsaKeys()[0], "another", oidc.RS256, claims(nil)), 200, "oidc:alice")
		synctest.Wait() // go-oidc stores the keys slightly after the waiting request continues
		g.expect(short, 401, "expired")
		g.expect(signed(map[string]any{"sub": "bob"}), 401, "not signed by")
		time.Sleep(49 * time.Second)
		g.expect(long, 200, "oidc:alice")
		time.Sleep(time.Second)
		g.expect(long, 401, "not signed by")
	})
}
