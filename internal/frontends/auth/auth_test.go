package auth_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"remit/internal/contract"
	"remit/internal/engine/identity"
	"remit/internal/engine/ratelimit"
	"remit/internal/frontends/auth"
)

// TestWho checks the caller's identity for every mode and kind of credentials.
func TestWho(t *testing.T) {
	const agent = "agent:helper for ann with tasks:read"
	for _, tc := range []struct {
		name   string
		mode   auth.Mode
		any    bool
		token  string
		status int
		who    string
	}{
		{"no token exists", auth.Auto, false, "", 200, "local"},
		{"a token exists", auth.Auto, true, "", 200, ""},
		{"identity is on", auth.On, false, "", 200, ""},
		{"identity is off", auth.Off, true, "", 200, "local"},
		{"a good token restricts where none is needed", auth.Off, false, good, 200, agent},
		{"a good token where no token exists", auth.Auto, false, good, 200, agent},
		{"a good token where one is needed", auth.On, true, good, 200, agent},
		{"a bad token where none is needed", auth.Off, false, "remit_bad", 401, `{"error":"The token is unknown here"}`},
		{"a token of another issuer", auth.Auto, false, "eyJhbGciOiJub25lIn0.e30.", 401, `{"error":"This is not a Remit token; Remit tokens begin with remit_"}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := newRig(t)
			g.Mode, g.tokens.any = tc.mode, tc.any
			var header []string
			if tc.token != "" {
				header = []string{"Bearer " + tc.token}
			}
			if w := g.ask("/tools/x", header...); w.Code != tc.status || w.Body.String() != tc.who {
				t.Errorf("%d %s, want %d %s", w.Code, w.Body, tc.status, tc.who)
			}
		})
	}
}

// TestStill checks that a long-lived response ends when its credentials become invalid, but not
// when they cannot be checked.
func TestStill(t *testing.T) {
	for _, tc := range []struct {
		name  string
		any   bool
		err   error
		token string
		want  bool
	}{
		{"a good token", true, nil, good, true},
		{"a revoked token", true, nil, revoked, false},
		{"a token that cannot be checked", true, nil, broken, true},
		{"anonymous, no token required", false, nil, "", true},
		{"anonymous, token required now", true, nil, "", false},
		{"anonymous, check fails", false, errors.New("the database is away"), "", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := newRig(t)
			g.tokens.any, g.tokens.err = tc.any, tc.err
			ctx, cancel := context.WithCancel(t.Context())
			cancel() // a canceled request may still have an open stream
			r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/mcp", nil)
			if tc.token != "" {
				r.Header.Set("Authorization", "Bearer "+tc.token)
			}
			if got := g.StillAllowed(r); got != tc.want {
				t.Errorf("Still = %v, want %v", got, tc.want)
			}
			if len(g.audit.records) > 0 {
				t.Errorf("a look is no guess: %v", g.audit.records)
			}
		})
	}
}

// TestUnguarded checks that credentials that Guard has not checked give no identity.
func TestUnguarded(t *testing.T) {
	g := newRig(t)
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header.Set("Authorization", "Bearer "+good)
	if who := g.Identity(r); who.Principal != "" || who.Grant != nil {
		t.Errorf("%v, want an anonymous identity", who)
	}
}

// TestKnown checks that anonymous callers are rejected with a challenge.
func TestKnown(t *testing.T) {
	g := newRig(t)
	if w := g.ask("/known"); w.Code != 200 {
		t.Errorf("where identity is off: %d", w.Code)
	}
	g.Mode = auth.On
	w := g.ask("/known")
	want := `Bearer realm="remit", resource_metadata="https://remit.example.com/.well-known/oauth-protected-resource/mcp"`
	if got := w.Header().Get("WWW-Authenticate"); w.Code != 401 || got != want {
		t.Errorf("%d %s, want 401 %s", w.Code, got, want)
	}
	if w := g.ask("/known", "Bearer "+good); w.Code != 200 {
		t.Errorf("with a token: %d", w.Code)
	}
	if len(g.audit.records) > 0 {
		t.Errorf("a request without credentials was recorded: %v", g.audit.records[0])
	}
}

// TestRequired checks that the server looks for tokens once a second until one exists.
func TestRequired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		check := func(want bool, asked int) {
			t.Helper()
			for range 100 {
				if got := g.Required(t.Context()); got != want {
					t.Fatalf("required: %v, want %v", got, want)
				}
			}
			if g.tokens.asked != asked {
				t.Fatalf("asked %d times, want %d", g.tokens.asked, asked)
			}
		}
		check(false, 1)
		time.Sleep(999 * time.Millisecond)
		check(false, 1)
		time.Sleep(time.Millisecond)
		g.tokens.err = errors.New("the database is away")
		check(true, 2) // a token may exist
		if who := g.Identity(httptest.NewRequest(http.MethodGet, "/", http.NoBody)); who.Principal != "" || !who.Grant.IsUnverifiable() {
			t.Errorf("identity is %+v while tokens cannot be checked", who)
		}
		g.tokens.err = nil
		time.Sleep(time.Second)
		check(false, 3)
		g.tokens.any = true
		time.Sleep(time.Second)
		check(true, 4)
		g.tokens.any = false // the last one was revoked
		time.Sleep(time.Hour)
		check(true, 4)
	})
}

// TestCheckAnonymous checks that a token counts at once, and that doubt is not a denial.
func TestCheckAnonymous(t *testing.T) {
	g := newRig(t)
	kind := func() contract.Kind {
		if err := g.CheckAnonymous(t.Context()); err != nil {
			return contract.AsError(err).Kind
		}
		return ""
	}
	if got := kind(); got != "" {
		t.Errorf("without tokens: %s", got)
	}
	g.tokens.err = errors.New("the database is away")
	if got := kind(); got != contract.Unavailable {
		t.Errorf("with the database away: %q", got)
	}
	g.tokens.err, g.tokens.any = nil, true
	if got := kind(); got != contract.Denied {
		t.Errorf("with a token: %q", got)
	}
	g.Mode = auth.Off
	if got := kind(); got != "" {
		t.Errorf("with identity off: %s", got)
	}
}

// TestRequiredClockSetBack checks that a clock set back expires the cached result.
func TestRequiredClockSetBack(t *testing.T) {
	g := newRig(t)
	now := time.Now()
	g.Now = func() time.Time { return now }
	g.Required(t.Context())
	now, g.tokens.any = now.Add(-time.Hour), true
	if !g.Required(t.Context()) {
		t.Error("a token that was made after the clock was set back is not seen")
	}
}

// TestRequiredCanceledRequest checks that a canceled request does not cancel the check for others.
func TestRequiredCanceledRequest(t *testing.T) {
	g := newRig(t)
	g.Tokens = cancelable{g.tokens}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if g.Required(ctx) {
		t.Error("a canceled request made a token required")
	}
}

// cancelable fails if its context is canceled.
type cancelable struct{ *tokens }

func (l cancelable) AnyCreated(ctx context.Context) (bool, error) { return false, ctx.Err() }

// TestRequiredWithIssuer checks that an issuer makes a token required.
func TestRequiredWithIssuer(t *testing.T) {
	g := newRig(t)
	g.Issuer = &auth.OIDC{URL: "https://login.example.com"}
	if !g.Required(t.Context()) || g.tokens.asked > 0 {
		t.Error("a token must be required if an issuer is set")
	}
}

// TestRateLimits checks that each token has its own rate limit, and that a default applies.
func TestRateLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		for range 2 {
			g.expect(slow, 200, "agent:helper")
		}
		w := g.ask("/mcp", "Bearer "+slow)
		want := `{"jsonrpc":"2.0","error":{"code":-32600,"message":"This token has sent more than 2 requests in 1m0s; try again in 60 s"}}`
		if got := w.Header().Get("Retry-After"); w.Code != 429 || got != "60" || w.Body.String() != want {
			t.Errorf("%d %s %s", w.Code, got, w.Body)
		}
		for range 6000 {
			g.expect(good, 200, "agent:helper")
		}
		g.expect(good, 429, "6000 requests in 1m0s")
		time.Sleep(time.Minute)
		g.expect(slow, 200, "agent:helper")
		if len(g.audit.records) > 0 {
			t.Error("a good token that comes too often was recorded as a bad one")
		}
		g.Limiter = failing{}
		g.expect(good, 503, "The rate limit cannot be checked")
		g.Limiter = nil
		g.expect(slow, 200, "agent:helper")
	})
}

// failing is a rate limiter that fails.
type failing struct{}

func (failing) Allow(context.Context, string, ratelimit.Rate, time.Time) (time.Duration, error) {
	return 0, errors.New("the database is away")
}

// TestChallenge checks the header and the status for each kind of denial by the engine.
func TestChallenge(t *testing.T) {
	const metadata = `resource_metadata="https://remit.example.com/.well-known/oauth-protected-resource/mcp`
	scope := fmt.Errorf("tasks/add_task: %w", &identity.ScopeError{Needs: identity.Scope{Set: "tasks", Write: true}})
	for _, tc := range []struct {
		name, path, token string
		err               error
		status            int
		header            string
	}{
		{"anonymous", "/tools/x", "", identity.AnonymousError(nil, "This server"), 401, `Bearer realm="remit", ` + metadata + `"`},
		{"anonymous, scope known", "/mcp", "", scope, 401, `Bearer realm="remit", scope="tasks:write", ` + metadata + `"`},
		{"a scope is missing", "/mcp", good, contract.Errorf(contract.Denied, "no").Because(scope), 403, `Bearer realm="remit", error="insufficient_scope", error_description="This needs a token with the scope tasks:write", scope="tasks:write", ` + metadata + `"`},
		{"of one toolset", "/mcp/tasks", good, scope, 403, `Bearer realm="remit", error="insufficient_scope", error_description="This needs a token with the scope tasks:write", scope="tasks:write", ` + metadata + `/tasks"`},
		{"denied for another reason", "/tools/x", good, contract.Errorf(contract.Denied, "no"), 0, ""},
		{"anonymous, another error", "/tools/x", "", contract.Errorf(contract.Invalid, "no"), 0, ""},
		{"nothing is wrong", "/tools/x", "", nil, 0, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := newRig(t)
			g.Mode = auth.On
			status, header := -1, ""
			next := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				status = g.Challenge(w, r, tc.err)
				header = w.Header().Get("WWW-Authenticate")
			})
			r := httptest.NewRequest(http.MethodPost, tc.path, nil)
			if tc.token != "" {
				r.Header.Set("Authorization", "Bearer "+tc.token)
			}
			g.Guard(next).ServeHTTP(httptest.NewRecorder(), r)
			if status != tc.status || header != tc.header {
				t.Errorf("%d %s\nwant %d %s", status, header, tc.status, tc.header)
			}
		})
	}
}

// TestMetadata checks the protected resource metadata of each endpoint.
func TestMetadata(t *testing.T) {
	const rest = `"scopes_supported":["tasks:read","tasks:write"],"bearer_methods_supported":["header"],"resource_name":"Remit"}`
	get := func(g *rig, path string) *httptest.ResponseRecorder {
		return g.send(httptest.NewRequest(http.MethodGet, "/.well-known/oauth-protected-resource"+path, nil))
	}
	for path, want := range map[string]string{
		"":           `{"resource":"https://remit.example.com","authorization_servers":["https://login.example.com"],` + rest,
		"/mcp":       `{"resource":"https://remit.example.com/mcp","authorization_servers":["https://login.example.com"],` + rest,
		"/mcp/tasks": `{"resource":"https://remit.example.com/mcp/tasks","authorization_servers":["https://login.example.com"],` + rest,
		"/mcp/a%22b": `{"resource":"https://remit.example.com/mcp/a%22b","authorization_servers":["https://login.example.com"],` + rest,
	} {
		g := newRig(t)
		g.Mode, g.Issuer = auth.On, &auth.OIDC{URL: "https://login.example.com"}
		w := get(g, path)
		if diff := cmp.Diff(want, w.Body.String()); diff != "" || w.Code != 200 || w.Header().Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("%s: %d %v %s", path, w.Code, w.Header(), diff)
		}
	}
	g := newRig(t)
	if w := get(g, "/mcp"); w.Body.String() != `{"resource":"https://remit.example.com/mcp",`+rest {
		t.Errorf("without an issuer: %s", w.Body)
	}
	w := g.send(httptest.NewRequest(http.MethodOptions, "/.well-known/oauth-protected-resource/mcp", nil))
	if w.Code != 204 || w.Header().Get("Access-Control-Allow-Headers") != "*" {
		t.Errorf("preflight: %d %v", w.Code, w.Header())
	}
	if got := g.ask("/tools/x").Header().Get("Access-Control-Allow-Origin"); got != "" {
		t.Errorf("web pages may read more than metadata: %s", got)
	}
	for request, want := range map[string]bool{
		"GET /.well-known/oauth-protected-resource": true, "OPTIONS /.well-known/oauth-protected-resource/mcp": true, "HEAD /.well-known/oauth-protected-resource/mcp/tasks": true,
		"POST /.well-known/oauth-protected-resource": false, "GET /.well-known/oauth-protected-resourcex": false, "GET /.well-known/oauth-protected-resource/../../tools": false, "GET /mcp": false,
	} {
		method, path, _ := strings.Cut(request, " ")
		if got := auth.IsMetadata(httptest.NewRequest(method, path, nil)); got != want {
			t.Errorf("IsMetadata(%s) = %v", request, got)
		}
	}
}

// discardWriter is a ResponseWriter that discards the body.
type discardWriter struct{ header http.Header }

func (s discardWriter) Header() http.Header         { return s.header }
func (s discardWriter) Write(b []byte) (int, error) { return len(b), nil }
func (s discardWriter) WriteHeader(int)             {}

// TestGuardAllocatesNothing checks that Guard and Identity allocate nothing if no token is
// required.
func TestGuardAllocatesNothing(t *testing.T) {
	g, r := newRig(t), httptest.NewRequest(http.MethodPost, "/tools/x", nil)
	handler := g.Guard(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if g.Identity(r).Principal != "local" {
			t.Error("wrong principal")
		}
	}))
	now := time.Now()
	g.Now = func() time.Time { return now }
	w := discardWriter{http.Header{}}
	if n := testing.AllocsPerRun(1000, func() { handler.ServeHTTP(w, r) }); n != 0 {
		t.Errorf("%v allocations a request, want 0", n)
	}
}

func BenchmarkGuard(b *testing.B) {
	for _, token := range []string{"", good} {
		name := "none"
		if token != "" {
			name = "token"
		}
		b.Run(name, func(b *testing.B) {
			g, r, w := newRig(b), httptest.NewRequest(http.MethodPost, "/tools/x", nil), discardWriter{http.Header{}}
			g.Limiter = nil
			if token != "" {
				r.Header.Set("Authorization", "Bearer "+token)
			}
			handler := g.Guard(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { g.Identity(r) }))
			b.ReportAllocs()
			for b.Loop() {
				handler.ServeHTTP(w, r)
			}
		})
	}
}

// TestTokenNotLeaked checks that no response, log line or audit record contains a token that was
// sent.
func TestTokenNotLeaked(t *testing.T) {
	for _, token := range []string{"remit_sEcReTsEcReT", "sEcReTsEcReT", "eyJhbGciOiJub25lIn0.sEcReTsEcReT.", "sEcReTsEcReT\"\r\n", strings.Repeat("sEcReT", 9000)} {
		g := newRig(t)
		for _, header := range []string{"Bearer " + token, "Basic " + token, token} {
			w := g.ask("/tools/x", header)
			seen := fmt.Sprint(w.Code, w.Header(), w.Body, g.log)
			for _, r := range g.audit.records {
				seen += string(r.Arguments.Append(nil)) + fmt.Sprint(*r)
			}
			if strings.Contains(seen, "sEcReT") {
				t.Errorf("the token was leaked: %s", seen)
			}
		}
	}
}

// TestRequiredConcurrent checks that concurrent requests share one check.
func TestRequiredConcurrent(t *testing.T) {
	g := newRig(t)
	g.Now = time.Now
	slow := &slowTokens{tokens: g.tokens, lookups: make(chan struct{}, 20), release: make(chan struct{})}
	g.Tokens = slow
	var all sync.WaitGroup
	all.Go(func() { g.Required(t.Context()) })
	<-slow.lookups
	for range 19 {
		all.Go(func() { g.Required(t.Context()) })
	}
	for range 10_000 {
		runtime.Gosched() // let them reach the lock
	}
	close(slow.release)
	all.Wait()
	if n := len(slow.lookups); n != 0 {
		t.Errorf("%d more checks", n)
	}
}

// slowTokens blocks until it is released.
type slowTokens struct {
	*tokens
	lookups, release chan struct{}
}

func (s *slowTokens) AnyCreated(context.Context) (bool, error) {
	s.lookups <- struct{}{}
	<-s.release
	return false, nil
}

// TestAdmitsOtherUser checks that without identity other users of the machine get no further than a
// health check, unless they send credentials, which are checked.
func TestAdmitsOtherUser(t *testing.T) {
	for _, tc := range []struct {
		name, path, authorization string
		mode                      auth.Mode
		anyToken, want            bool
	}{
		{"no identity", "/tools/x", "", auth.Auto, false, false},
		{"health", "/health", "", auth.Auto, false, true},
		{"almost health", "/health/", "", auth.Auto, false, false},
		{"credentials", "/tools/x", "Bearer remit_x", auth.Auto, false, true},
		{"a token exists", "/tools/x", "", auth.Auto, true, true},
		{"identity on", "/tools/x", "", auth.On, false, true},
		{"identity off", "/tools/x", "", auth.Off, true, false},
	} {
		g := newRig(t)
		g.Mode, g.tokens.any = tc.mode, tc.anyToken
		r := httptest.NewRequest(http.MethodGet, tc.path, nil)
		if tc.authorization != "" {
			r.Header.Set("Authorization", tc.authorization)
		}
		if got := g.AdmitsOtherUser(r); got != tc.want {
			t.Errorf("%s: %v", tc.name, got)
		}
	}
}

// TestRecordRejected checks that rejected requests are recorded, but not without limit, and that
// they do not count as guesses of a token.
func TestRecordRejected(t *testing.T) {
	g := newRig(t)
	for range 100 {
		r := httptest.NewRequest(http.MethodGet, "/tools/x", nil)
		r.RemoteAddr = "192.0.2.7:4711"
		g.RecordRejected(r, "another user")
	}
	if n := len(g.audit.records); n != 30 {
		t.Fatalf("%d records", n)
	}
	got := g.audit.records[0]
	if args := string(got.Arguments.Append(nil)); got.Tool != "auth/request" || got.Outcome != "denied" ||
		args != `{"address":"192.0.2.7","path":"/tools/x","reason":"another user"}` {
		t.Errorf("recorded %+v %s", got, args)
	}
	g.expect("remit_nobody", http.StatusUnauthorized, "")
}
