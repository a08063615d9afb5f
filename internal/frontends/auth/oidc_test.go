package auth_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/coreos/go-oidc/v3/oidc/oidctest"

	"remit/internal/engine/identity"
	"remit/internal/frontends/auth"
)

const issuerURL = "https://login.example.com"

// rsaKeys are generated once because that is slow.
var rsaKeys = sync.OnceValue(func() (keys [2]*rsa.PrivateKey) {
	for i := range keys {
		var err error
		if keys[i], err = rsa.GenerateKey(rand.Reader, 2048); err != nil {
			panic(err)
		}
	}
	return keys
})

// oidcRig is a rig with an issuer.
type oidcRig struct {
	*rig
	issuer *issuer
	server *oidctest.Server
}

func newOIDC(t *testing.T) *oidcRig {
	t.Helper()
	server := &oidctest.Server{PublicKeys: []oidctest.PublicKey{{PublicKey: rsaKeys()[0].Public(), KeyID: "one", Algorithm: oidc.RS256}}}
	server.SetIssuer(issuerURL)
	g := &oidcRig{newRig(t), &issuer{Handler: server, gets: map[string]int{}}, server}
	g.Issuer = &auth.OIDC{URL: issuerURL, Client: &http.Client{Transport: g.issuer}}
	return g
}

// claims returns the claims of a valid token, changed by others; a nil value removes a claim.
func claims(others map[string]any) string {
	now := time.Now()
	all := map[string]any{
		"iss": issuerURL, "sub": "alice", "aud": base + "/mcp", "iat": now.Unix(), "nbf": now.Unix(), "exp": now.Add(time.Hour).Unix(),
		"scope": "openid tasks:read *:write books:admin * :read",
	}
	for name, value := range others {
		if all[name] = value; value == nil {
			delete(all, name)
		}
	}
	data, err := json.Marshal(all)
	if err != nil {
		panic(err)
	}
	return string(data)
}

func signed(others map[string]any) string {
	return oidctest.SignIDToken(rsaKeys()[0], "one", oidc.RS256, claims(others))
}

// TestOIDCClaims checks the effect of each claim of a token that the issuer signed.
func TestOIDCClaims(t *testing.T) {
	type is = map[string]any
	const alice = "oidc:alice for alice with *:write,tasks:read"
	in := func(d time.Duration) int64 { return time.Now().Add(d).Unix() }
	synctest.Test(t, func(t *testing.T) {
		for _, tc := range []struct {
			name   string
			claims is
			status int
			words  string
		}{
			{"good", is{}, 200, alice},
			{"for the server", is{"aud": base}, 200, alice},
			{"for a toolset, and others", is{"aud": []string{"x", base + "/mcp/tasks"}}, 200, alice},
			{"for a server that begins alike", is{"aud": base + ".evil.com"}, 401, "for another audience; this server accepts tokens for https://remit.example.com/mcp"},
			{"for another address here", is{"aud": base + "/mcpx"}, 401, "another audience"},
			{"no audience", is{"aud": nil}, 401, "another audience"},
			{"expired within the leeway", is{"exp": in(-59 * time.Second)}, 200, alice},
			{"expired", is{"exp": in(-60 * time.Second)}, 401, "The token expired at "},
			{"no expiry", is{"exp": nil}, 401, "The token never expires"},
			{"not yet, within the leeway", is{"nbf": in(60 * time.Second)}, 200, alice},
			{"not yet", is{"nbf": in(61 * time.Second)}, 401, "not valid before"},
			{"not yet, for long", is{"nbf": 1e300}, 401, "The claim nbf of the token cannot be read"},
			{"from the future", is{"iat": in(61 * time.Second)}, 401, "not valid before"},
			{"without nbf and iat", is{"nbf": nil, "iat": nil}, 200, alice},
			{"another issuer", is{"iss": "https://login.example.com.evil.com"}, 401, "The token is not from the issuer https://login.example.com"},
			{"another spelling of the issuer", is{"iss": issuerURL + "/"}, 401, "not from the issuer"},
			{"no issuer", is{"iss": nil}, 401, "not from the issuer"},
			{"no subject", is{"sub": nil}, 401, "needs a claim sub"},
			{"a misleading name", is{"sub": "alice\u202enimda"}, 401, "needs a claim sub"},
			{"a name with a blank letter", is{"sub": "alice\u3164"}, 401, "needs a claim sub"},
			{"a long name", is{"sub": strings.Repeat("a", 256)}, 401, "needs a claim sub"},
			{"all users", is{"sub": "*"}, 401, "which is not a user"},
			{"almost sub", is{"SUB": "mallory"}, 401, "differs from sub only in case"},
			{"almost aud", is{"aud": "x", "Aud": base}, 401, "differs from aud only in case"},
			{"scp as text", is{"scope": nil, "scp": "books:write other"}, 200, "oidc:alice for alice with books:write"},
			{"scp as a list", is{"scope": nil, "scp": []string{"books:write", "tasks:read"}}, 200, "oidc:alice for alice with books:write,tasks:read"},
			{"scope as a list", is{"scope": []string{"books:read"}}, 200, "oidc:alice for alice with books:read"},
			{"scopes of a wrong kind", is{"scope": 7, "scp": []int{1}}, 200, "oidc:alice for alice with "},
			{"no scopes", is{"scope": nil}, 200, "oidc:alice for alice with "},
		} {
			g := newOIDC(t)
			w := g.ask("/mcp", "Bearer "+signed(tc.claims))
			if w.Code != tc.status || !strings.Contains(w.Body.String(), tc.words) || w.Code == 200 && w.Body.String() != tc.words {
				t.Errorf("%s: %d %s, want %d %s", tc.name, w.Code, w.Body, tc.status, tc.words)
			}
			if challenge := w.Header().Get("WWW-Authenticate"); (w.Code == 401) != strings.Contains(challenge, `error="invalid_token"`) {
				t.Errorf("%s: %s", tc.name, challenge)
			}
		}
	})
}

// TestOIDCCredential checks that links of the bearer of a token end with the token, and with the
// issuer.
func TestOIDCCredential(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, expires := newOIDC(t), time.Now().Add(10*time.Minute)
		var who identity.Identity
		g.handler = g.Guard(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { who = g.Identity(r) }))
		g.ask("/mcp", "Bearer "+signed(map[string]any{"exp": expires.Unix()}))
		if who.Grant == nil || who.Grant.Credential.String() != "issuer:"+issuerURL || !who.Grant.Credential.Expires.Equal(expires.Add(time.Minute)) {
			t.Errorf("got %+v", who.Grant)
		}
	})
}

// TestOIDCSettings checks that the audience and the user claim can be set.
func TestOIDCSettings(t *testing.T) {
	type is = map[string]any
	for _, tc := range []struct {
		name, audience, claim string
		claims                is
		status                int
		words                 string
	}{
		{"audience", "api://remit", "", is{"aud": "api://remit"}, 200, "for alice"},
		{"only that", "api://remit", "", is{}, 401, "accepts tokens for api://remit"},
		{"not what begins like it", "api://remit", "", is{"aud": "api://remit/mcp/x"}, 401, "accepts tokens for"},
		{"user", "", "login", is{"login": "al"}, 200, "oidc:alice for al with"},
		{"no user", "", "login", is{}, 200, "oidc:alice for  with"},
		{"a user of a wrong kind", "", "login", is{"login": 7}, 401, "The claim login of the token does not name a user"},
		{"all users", "", "login", is{"login": "*"}, 401, "not a user"},
		{"an address", "", "email", is{"email": "a@example.com", "email_verified": true}, 200, "for a@example.com"},
		{"an address, verified in words", "", "email", is{"email": "a@example.com", "email_verified": "true"}, 200, "for a@example.com"},
		{"an unverified address", "", "email", is{"email": "a@example.com", "email_verified": false}, 401, "was not verified"},
		{"an address without email_verified", "", "email", is{"email": "a@example.com"}, 401, "email_verified must be true"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := newOIDC(t)
			g.Issuer.Audience, g.Issuer.UserClaim = tc.audience, tc.claim
			g.expect(signed(tc.claims), tc.status, tc.words)
		})
	}
}

// signedBy returns a token with valid claims and any header.
func signedBy(t *testing.T, key *rsa.PrivateKey, header string) string {
	t.Helper()
	text := base64.RawURLEncoding.EncodeToString([]byte(header)) + "." + base64.RawURLEncoding.EncodeToString([]byte(claims(nil)))
	sum := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(signature)
}

// asJWK encodes a public key as a JSON Web Key.
func asJWK(key *rsa.PublicKey) string {
	return `{"kty":"RSA","e":"AQAB","n":"` + base64.RawURLEncoding.EncodeToString(key.N.Bytes()) + `"}`
}

// TestOIDCSignatures checks that only signatures by the issuer's own keys are accepted.
func TestOIDCSignatures(t *testing.T) {
	part := base64.RawURLEncoding.EncodeToString
	body := part([]byte(claims(nil)))
	public, err := x509.MarshalPKIXPublicKey(rsaKeys()[0].Public())
	if err != nil {
		t.Fatal(err)
	}
	withHMAC := func(key []byte) string {
		text := part([]byte(`{"alg":"HS256","kid":"one","typ":"JWT"}`)) + "." + body
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(text))
		return text + "." + part(mac.Sum(nil))
	}
	genuine := strings.Split(signed(nil), ".")
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	// An attacker may put a key of their own, or its URL, into the token's header.
	byStranger := func(header string) string { return signedBy(t, rsaKeys()[1], header) }
	for _, tc := range []struct {
		name, token, words string
	}{
		{"a foreign key without a key ID", byStranger(`{"alg":"RS256"}`), "not signed by"},
		{"a key that the token brings along", byStranger(`{"alg":"RS256","jwk":` + asJWK(&rsaKeys()[1].PublicKey) + `}`), "not signed by"},
		{"a key at an address in the token", byStranger(`{"alg":"RS256","kid":"one","jku":"https://evil.example.com/keys","x5u":"https://evil.example.com/cert"}`), "not signed by"},
		{"two algorithms", part([]byte(`{"alg":"RS256","alg":"none","kid":"one"}`)) + "." + body + ".", ""},
		{"an unknown critical header", signedBy(t, rsaKeys()[0], `{"alg":"RS256","kid":"one","crit":["remit"],"remit":1}`), "not signed by"},
		{"none", part([]byte(`{"alg":"none"}`)) + "." + body + ".", "not a JWT signed with a public key"},
		{"None", part([]byte(`{"alg":"None","kid":"one"}`)) + "." + body + "." + genuine[2], "signed with a public key"},
		{"HS256 with the public key", withHMAC(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})), "signed with a public key"},
		{"HS256 with its bytes", withHMAC(public), "signed with a public key"},
		{"no signature", genuine[0] + "." + genuine[1] + ".", "not signed by https://login.example.com"},
		{"tampered", genuine[0] + "." + part([]byte(claims(map[string]any{"sub": "root"}))) + "." + genuine[2], "not signed by"},
		{"a foreign key", oidctest.SignIDToken(rsaKeys()[1], "one", oidc.RS256, claims(nil)), "not signed by"},
		{"a key of another kind", oidctest.SignIDToken(ec, "one", oidc.ES256, claims(nil)), "not signed by"},
		{"an unknown key ID", oidctest.SignIDToken(rsaKeys()[1], "two", oidc.RS256, claims(nil)), "not signed by"},
		{"two signatures in JSON", "eyJ" + part([]byte(`{"payload":"e30","signatures":[]}`)), "nor a JWT"},
		{"five parts", strings.Repeat("a.", 4) + "a", "nor a JWT"},
		{"no JWT", "a.b.c", "signed with a public key"},
		{"nothing but dots", "..", "signed with a public key"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := newOIDC(t)
			g.expect(signed(nil), 200, "oidc:alice")
			g.expect(tc.token, 401, tc.words)
			if strings.Contains(g.log.String(), tc.token) {
				t.Errorf("the token is in the log: %s", g.log)
			}
		})
	}
	t.Run("a key of the issuer without its name", func(t *testing.T) {
		newOIDC(t).expect(signedBy(t, rsaKeys()[0], `{"alg":"RS256"}`), 200, "oidc:alice")
	})
	t.Run("ES256", func(t *testing.T) {
		g := newOIDC(t)
		g.server.PublicKeys = append(g.server.PublicKeys, oidctest.PublicKey{PublicKey: ec.Public(), KeyID: "ec", Algorithm: oidc.ES256})
		g.expect(oidctest.SignIDToken(ec, "ec", oidc.ES256, claims(nil)), 200, "oidc:alice")
	})
}

// TestOIDCTokensKeptApart checks that Remit tokens never reach the issuer, and the issuer's tokens
// never reach the token store.
func TestOIDCTokensKeptApart(t *testing.T) {
	g := newOIDC(t)
	g.expect(good, 200, "agent:helper")
	g.expect("remit_a.b.c", 401, "unknown")
	if len(g.issuer.gets) > 0 {
		t.Errorf("the issuer was asked: %v", g.issuer.gets)
	}
	checks := g.tokens.checks
	g.expect(signed(nil), 200, "oidc:alice")
	if g.tokens.checks != checks {
		t.Error("a token of the issuer was looked up as one of ours")
	}
}

// TestValidate checks which issuer URLs are accepted.
func TestValidate(t *testing.T) {
	for url, ok := range map[string]bool{
		"https://login.example.com": true, "https://login.example.com/realms/x/": true, "http://127.0.0.1:9000": true, "http://localhost:1": true, "http://[::1]:1": true,
		"http://login.example.com": false, "login.example.com": false, "": false, "https://": false, "ftp://x": false, "https://a:b@c": false,
		"https://c?x=y": false, "https://c#d": false, "http://localhost.evil.com": false, "http://127.0.0.1.evil.com": false, "\x7f": false,
	} {
		if err := (&auth.OIDC{URL: url}).Validate(); (err == nil) != ok {
			t.Errorf("%q: %v", url, err)
		}
	}
}
