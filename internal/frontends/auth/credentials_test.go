package auth_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"remit/internal/engine/identity"
)

// TestCredentials checks that credentials that do not follow RFC 6750 are rejected with a clear
// message.
func TestCredentials(t *testing.T) {
	const (
		metadata = `resource_metadata="https://remit.example.com/.well-known/oauth-protected-resource/mcp"`
		bad      = `Bearer realm="remit", error="invalid_token", error_description="`
		odd      = `Bearer realm="remit", error="invalid_request", error_description="`
	)
	for _, tc := range []struct {
		name   string
		path   string
		header []string
		status int
		words  string // of the description, which is also in the body
		begins string
	}{
		{"good", "/x", []string{"Bearer " + good}, 200, "", ""},
		{"scheme in other letters", "/x", []string{"bEARER   " + good + " "}, 200, "", ""},
		{"unknown", "/x", []string{"Bearer remit_nobody"}, 401, "The token is unknown here", bad},
		{"twice", "/x", []string{"Bearer " + good, "Bearer " + good}, 400, "The header Authorization was sent 2 times; send it once", odd},
		{"good, then another scheme", "/x", []string{"Bearer " + good, "Basic eA=="}, 400, "was sent 2 times", odd},
		{"two in one", "/x", []string{"Bearer " + good + ", Bearer " + good}, 401, "characters that are not allowed", bad},
		{"another scheme", "/x", []string{"Basic eDp5"}, 401, "This server accepts bearer tokens only", `Bearer realm="remit", resource_metadata=`},
		{"no scheme", "/x", []string{good}, 401, "accepts bearer tokens only", `Bearer realm="remit", resource_metadata=`},
		{"nothing", "/x", []string{""}, 401, "accepts bearer tokens only", `Bearer realm="remit", resource_metadata=`},
		{"no token", "/x", []string{"Bearer"}, 401, "has no token", bad},
		{"no token but spaces", "/x", []string{"Bearer    "}, 401, "has no token", bad},
		{"only padding", "/x", []string{"Bearer ==="}, 401, "characters that are not allowed", bad},
		{"in quotation marks", "/x", []string{`Bearer "` + good + `"`}, 401, "copied with quotation marks", bad},
		{"another alphabet", "/x", []string{"Bearer remit_gооd"}, 401, "characters that are not allowed", bad},
		{"too long", "/x", []string{"Bearer remit_" + strings.Repeat("a", 9000)}, 401, "The token has 9006 bytes; the limit is 8192", bad},
		{"in the address", "/x?access_token=" + good, nil, 400, "A token in the URL ends up in logs", odd},
		{"in the address, otherwise spelled", "/x?a=b;access%5ftoken=" + good, nil, 400, "ends up in logs", odd},
		{"in both", "/x?access_token", []string{"Bearer " + good}, 400, "ends up in logs", odd},
		{"something else in the address", "/x?token=a&x_access_token=b&a=access_token", nil, 200, "", ""},
		{"words that would end the header", "/x", []string{"Bearer " + revoked}, 401, "was revoked", bad + `The token 'hel''per' was revoked??Set-Cookie: a=b", ` + metadata},
		{"check fails", "/x", []string{"Bearer " + broken}, 503, `{"error":"no"}`, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := newRig(t)
			w := g.ask(tc.path, tc.header...)
			got := w.Header().Get("WWW-Authenticate")
			if w.Code != tc.status || !strings.HasPrefix(got, tc.begins) || (tc.begins == "") != (got == "") {
				t.Errorf("%d %s, want %d %s", w.Code, got, tc.status, tc.begins)
			}
			if tc.begins != "" && !strings.HasSuffix(got, metadata) {
				t.Errorf("no resource_metadata: %s", got)
			}
			if tc.status == 200 {
				return
			}
			isJSON(t, w.Body.String())
			if !strings.Contains(w.Body.String(), tc.words) {
				t.Errorf("%s, want %q", w.Body, tc.words)
			}
			if retry := w.Header().Get("Retry-After"); (tc.status == 503) != (retry != "") {
				t.Errorf("Retry-After: %q", retry)
			}
		})
	}
}

// TestMCPErrors checks that MCP endpoints answer with JSON-RPC errors, and that each names
// its own metadata.
func TestMCPErrors(t *testing.T) {
	for path, want := range map[string]string{
		"/mcp":         "/mcp",
		"/mcp/tasks":   "/mcp/tasks",
		"/mcp/a%22%0a": "/mcp/a%22%0A",
	} {
		w := newRig(t).ask(path, "Bearer remit_nobody")
		if got := w.Header().Get("WWW-Authenticate"); !strings.HasSuffix(got, `/oauth-protected-resource`+want+`"`) {
			t.Errorf("%s: %s", path, got)
		}
		if diff := cmp.Diff(`{"jsonrpc":"2.0","error":{"code":-32600,"message":"The token is unknown here"}}`, w.Body.String()); diff != "" {
			t.Error(diff)
		}
	}
}

// TestGuesses checks that invalid tokens are rate limited by address, and that valid tokens from
// the same address are not.
func TestGuesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		for i := range 30 {
			g.expect(fmt.Sprint("remit_", i), 401, "unknown")
		}
		for range 5 {
			w := g.ask("/tools/x", "Bearer remit_next")
			if got := w.Header().Get("Retry-After"); w.Code != 429 || got != "60" || w.Header().Get("WWW-Authenticate") != "" {
				t.Errorf("%d, Retry-After %q: %s", w.Code, got, w.Body)
			}
		}
		g.expect("remit_next", 429, "Too many requests with bad credentials came from your address; try again in 60 s")
		g.expect(good, 200, "agent:helper") // though it was never seen before
		if w := g.ask("/tools/x"); w.Code != 200 {
			t.Errorf("without credentials: %d", w.Code)
		}
		elsewhere := httptest.NewRequest(http.MethodPost, "/tools/x", nil)
		elsewhere.RemoteAddr = "192.0.2.8:1"
		elsewhere.Header.Set("Authorization", "Bearer remit_other")
		if w := g.send(elsewhere); w.Code != 401 {
			t.Errorf("from elsewhere: %d", w.Code)
		}
		if got := len(g.audit.records); got != 31 {
			t.Errorf("%d records, want one for each of the 31 that got a reason", got)
		}
		time.Sleep(59 * time.Second)
		g.expect("remit_again", 429, "try again in 1 s")
		time.Sleep(time.Second)
		for range 30 {
			g.expect("remit_again", 401, "unknown")
		}
		g.expect("remit_again", 429, "")
	})
}

// TestGuessesConcurrent checks that concurrent requests cannot bypass that limit.
func TestGuessesConcurrent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		begin := make(chan struct{})
		g.Tokens = waiting{g.tokens, begin}
		var refused, slowed atomic.Int32
		for range 50 {
			go func() {
				switch w := g.ask("/tools/x", "Bearer remit_nobody"); w.Code {
				case http.StatusUnauthorized:
					refused.Add(1)
				case http.StatusTooManyRequests:
					slowed.Add(1)
				}
			}()
		}
		synctest.Wait() // all of them are being checked
		close(begin)
		synctest.Wait()
		if refused.Load() != 30 || slowed.Load() != 20 || len(g.audit.records) != 30 {
			t.Errorf("%d were refused, %d slowed down, %d recorded", refused.Load(), slowed.Load(), len(g.audit.records))
		}
	})
}

// waiting blocks every check until begin is closed.
type waiting struct {
	*tokens
	begin chan struct{}
}

func (k waiting) Check(ctx context.Context, secret string) (identity.Token, error) {
	<-k.begin
	return k.tokens.Check(ctx, secret)
}

// TestAuditRecord checks that a failure is recorded without the token.
func TestAuditRecord(t *testing.T) {
	g := newRig(t)
	r := httptest.NewRequest(http.MethodPost, "/tools/x", nil)
	r.RemoteAddr = "[2001:db8::1]:4711"
	r.Header.Set("Authorization", "Bearer remit_nobody")
	r.Header.Set("User-Agent", "curl/"+strings.Repeat("é", 100))
	g.send(r)
	if len(g.audit.records) != 1 {
		t.Fatalf("%d records", len(g.audit.records))
	}
	got := g.audit.records[0]
	if got.Tool != "auth/token" || got.Outcome != "denied" || got.Principal != "" || got.Frontend != "http" || got.Time.IsZero() || len(got.Client) > 100 {
		t.Errorf("%+v", got)
	}
	want := `{"address":"2001:db8::/64","path":"/tools/x","reason":"The token is unknown here"}`
	if diff := cmp.Diff(want, string(got.Arguments.Append(nil))); diff != "" {
		t.Error(diff)
	}
}

// TestClientAddress checks that a client cannot forge its address.
func TestClientAddress(t *testing.T) {
	for _, tc := range []struct {
		name, remote string
		proxy        bool
		forwarded    []string
		want         string
	}{
		{"direct", "192.0.2.1:1", false, []string{"198.51.100.1"}, "192.0.2.1"},
		{"behind a proxy", "192.0.2.1:1", true, []string{"203.0.113.9, 198.51.100.1"}, "198.51.100.1"},
		{"several headers", "192.0.2.1:1", true, []string{"203.0.113.9", "10.0.0.1,198.51.100.1 "}, "198.51.100.1"},
		// The outer proxy's.
		{"behind two proxies", "192.0.2.1:1", true, []string{"1.2.3.4, 203.0.113.9, 198.51.100.7"}, "198.51.100.7"},
		{"with a port", "192.0.2.1:1", true, []string{"198.51.100.1:1234"}, "198.51.100.1"},
		{"IPv6 with a port", "192.0.2.1:1", true, []string{"[2001:db8::1]:1234"}, "2001:db8::/64"},
		{"IPv6 in brackets", "192.0.2.1:1", true, []string{"[2001:db8::1]"}, "2001:db8::/64"},
		{"IPv4 in IPv6", "[::ffff:192.0.2.1]:1", false, nil, "192.0.2.1"},
		{"a zone", "[fe80::1%eth0]:1", false, nil, "fe80::/64"},
		{"the proxy sends no address", "192.0.2.1:1", true, []string{"unknown"}, "192.0.2.1"},
		{"the proxy sends no header", "192.0.2.1:1", true, nil, "192.0.2.1"},
		{"no address", "@", false, nil, "unknown"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := newRig(t)
			g.BehindProxy = tc.proxy
			r := httptest.NewRequest(http.MethodPost, "/tools/x", nil)
			r.RemoteAddr = tc.remote
			r.Header["X-Forwarded-For"] = tc.forwarded
			r.Header.Set("Authorization", "Bearer remit_nobody")
			g.send(r)
			if got := g.ClientAddress(r); got != tc.want {
				t.Errorf("%s, want %s", got, tc.want)
			}
			if got := g.audit.records[0].Arguments.Field("address"); got.Text != tc.want {
				t.Errorf("%s, want %s", got.Text, tc.want)
			}
		})
	}
}

// FuzzAuthorization checks that any header gets one of the known responses, and that only a valid
// token is accepted.
func FuzzAuthorization(f *testing.F) {
	for _, seed := range []string{"", "Bearer", "Bearer " + good, "bearer\t" + good, "Basic eA==", "Bearer a.b.c", "Bearer " + good + "\r\nX: y", "Bearer =", "Bearer \"", "Bearer remit_\x00"} {
		f.Add(seed, "/mcp", "")
		f.Add(seed, "/tools/x", "access_token="+seed)
	}
	f.Fuzz(func(t *testing.T, header, path, query string) {
		g := newRig(t)
		r := httptest.NewRequest(http.MethodPost, "/", nil)
		r.URL.Path, r.URL.RawQuery = path, query
		r.Header["Authorization"] = []string{header}
		w := httptest.NewRecorder()
		g.Guard(http.HandlerFunc(g.answer)).ServeHTTP(w, r)
		scheme, token, _ := strings.Cut(header, " ")
		token = strings.Trim(token, " ")
		ours := strings.EqualFold(scheme, "bearer") && (token == good || token == slow)
		switch w.Code {
		case 200:
			if !ours {
				t.Errorf("%q was accepted", header)
			}
		case 400, 401, 503:
			isJSON(t, w.Body.String())
		default:
			t.Errorf("%d for %q", w.Code, header)
		}
		got := w.Header().Get("WWW-Authenticate")
		if strings.ContainsFunc(got, func(c rune) bool { return c < ' ' || c > '~' }) || strings.Count(got, `"`)%2 != 0 {
			t.Errorf("a header that can be broken out of: %q", got)
		}
	})
}
