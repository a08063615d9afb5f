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

// TestWho: who calls, by mode and by what they send.
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
		{"nothing is asked for", auth.Auto, false, "", 200, "local"},
		{"there is a token", auth.Auto, true, "", 200, ""},
		{"identity is on", auth.On, false, "", 200, ""},
		{"identity is off", auth.Off, true, "", 200, "local"},
		{"a good token restricts where none is needed", auth.Off, false, good, 200, agent},
		{"a good token where none is there yet", auth.Auto, false, good, 200, agent},
		{"a good token where one is needed", auth.On, true, good, 200, agent},
		{"a bad token where none is needed", auth.Off, false, "remit_bad", 401, `{"error":"The token is unknown here"}`},
		{"a token of somebody else", auth.Auto, false, "eyJhbGciOiJub25lIn0.e30.", 401, `{"error":"This is no token of Remit: those begin with remit_"}`},
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

// TestStill: what stays open ends when its credentials are not good any more, and not
// because they cannot be checked right now.
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
		{"nobody, where none is needed", false, nil, "", true},
		{"nobody, where one is needed now", true, nil, "", false},
		{"nobody, where that cannot be told", false, errors.New("the database is away"), "", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := newRig(t)
			g.tokens.any, g.tokens.err = tc.any, tc.err
			ctx, cancel := context.WithCancel(t.Context())
			cancel() // whoever has left may still read
			r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/mcp", nil)
			if tc.token != "" {
				r.Header.Set("Authorization", "Bearer "+tc.token)
			}
			if got := g.Still(r); got != tc.want {
				t.Errorf("Still = %v, want %v", got, tc.want)
			}
			if len(g.audit.records) > 0 {
				t.Errorf("a look is no guess: %v", g.audit.records)
			}
		})
	}
}

// TestUnguarded: credentials that Guard has not seen are nobody's.
func TestUnguarded(t *testing.T) {
	g := newRig(t)
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header.Set("Authorization", "Bearer "+good)
	if who := g.Who(r); who.Principal != "" || who.Grant != nil {
		t.Errorf("%v, want nobody", who)
	}
}

// TestKnown: what is not for everybody tells nobody how to become somebody.
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
		t.Errorf("no credentials are no bad ones, but were recorded: %v", g.audit.records[0])
	}
}

// TestRequired: it is looked for tokens once a second, until there was one.
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
		check(true, 2) // there may be one
		if who := g.Who(httptest.NewRequest(http.MethodGet, "/", http.NoBody)); who.Principal != "" || who.Grant != identity.Unsure {
			t.Errorf("while nobody can tell, it is %+v who calls", who)
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

// TestRequiredWhereTheClockIsSetBack: then it is looked again at once.
func TestRequiredWhereTheClockIsSetBack(t *testing.T) {
	g := newRig(t)
	now := time.Now()
	g.Now = func() time.Time { return now }
	g.Required(t.Context())
	now, g.tokens.any = now.Add(-time.Hour), true
	if !g.Required(t.Context()) {
		t.Error("a token that was made after the clock was set back is not seen")
	}
}

// TestRequiredOfOneWhoLeaves: one who has left asks for those who stay.
func TestRequiredOfOneWhoLeaves(t *testing.T) {
	g := newRig(t)
	g.Tokens = leaver{g.tokens}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if g.Required(ctx) {
		t.Error("the end of one request made identity necessary for all")
	}
}

// leaver heeds its context.
type leaver struct{ *tokens }

func (l leaver) Any(ctx context.Context) (bool, error) { return false, ctx.Err() }

// TestRequiredWithIssuer: an issuer is reason enough.
func TestRequiredWithIssuer(t *testing.T) {
	g := newRig(t)
	g.Issuer = &auth.OIDC{URL: "https://login.example.com"}
	if !g.Required(t.Context()) || g.tokens.asked > 0 {
		t.Error("with an issuer callers have to say who they are, whatever tokens there are")
	}
}

// TestRates: each token has its own, and the default where it has none.
func TestRates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		for range 2 {
			g.expect(slow, 200, "agent:helper")
		}
		w := g.ask("/mcp", "Bearer "+slow)
		want := `{"jsonrpc":"2.0","error":{"code":-32600,"message":"This token has sent more than 2 requests in 1m0s; try again in 30 s"}}`
		if got := w.Header().Get("Retry-After"); w.Code != 429 || got != "30" || w.Body.String() != want {
			t.Errorf("%d %s %s", w.Code, got, w.Body)
		}
		for range 6000 {
			g.expect(good, 200, "agent:helper")
		}
		g.expect(good, 429, "6000 requests in 1m0s")
		time.Sleep(30 * time.Second)
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

// failing cannot tell.
type failing struct{}

func (failing) Allow(context.Context, string, ratelimit.Rate, time.Time) (time.Duration, error) {
	return 0, errors.New("the database is away")
}

// TestChallenge: an engine's denial tells what would help, or that nothing would.
func TestChallenge(t *testing.T) {
	const metadata = `resource_metadata="https://remit.example.com/.well-known/oauth-protected-resource/mcp`
	scope := fmt.Errorf("tasks/add_task: %w", &identity.ScopeError{Needs: identity.Scope{Set: "tasks", Write: true}})
	for _, tc := range []struct {
		name, path, token string
		err               error
		status            int
		header            string
	}{
		{"nobody", "/tools/x", "", identity.Unnamed(nil, "This server"), 401, `Bearer realm="remit", ` + metadata + `"`},
		{"nobody, and it is known what is needed", "/mcp", "", scope, 401, `Bearer realm="remit", scope="tasks:write", ` + metadata + `"`},
		{"a scope is missing", "/mcp", good, contract.Errorf(contract.Denied, "no").Because(scope), 403, `Bearer realm="remit", error="insufficient_scope", error_description="This needs a token with the scope tasks:write", scope="tasks:write", ` + metadata + `"`},
		{"of one toolset", "/mcp/tasks", good, scope, 403, `Bearer realm="remit", error="insufficient_scope", error_description="This needs a token with the scope tasks:write", scope="tasks:write", ` + metadata + `/tasks"`},
		{"denied for another reason", "/tools/x", good, contract.Errorf(contract.Denied, "no"), 0, ""},
		{"nobody fails", "/tools/x", "", contract.Errorf(contract.Invalid, "no"), 0, ""},
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

// TestMetadata: clients learn where tokens come from, at the address of each endpoint.
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
		t.Errorf("before a web page asks: %d %v", w.Code, w.Header())
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
			t.Errorf("%s is for everybody: %v", request, got)
		}
	}
}

// silent is a client that reads nothing.
type silent struct{ header http.Header }

func (s silent) Header() http.Header         { return s.header }
func (s silent) Write(b []byte) (int, error) { return len(b), nil }
func (s silent) WriteHeader(int)             {}

// TestNothingIsAllocated: whoever calls where identity is off pays nothing for it.
func TestNothingIsAllocated(t *testing.T) {
	g, r := newRig(t), httptest.NewRequest(http.MethodPost, "/tools/x", nil)
	handler := g.Guard(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if g.Who(r).Principal != "local" {
			t.Error("somebody else calls")
		}
	}))
	now := time.Now()
	g.Now = func() time.Time { return now }
	w := silent{http.Header{}}
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
			g, r, w := newRig(b), httptest.NewRequest(http.MethodPost, "/tools/x", nil), silent{http.Header{}}
			g.Limiter = nil
			if token != "" {
				r.Header.Set("Authorization", "Bearer "+token)
			}
			handler := g.Guard(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { g.Who(r) }))
			b.ReportAllocs()
			for b.Loop() {
				handler.ServeHTTP(w, r)
			}
		})
	}
}

// TestTokenIsNowhere: whatever is sent, nothing that others see repeats it.
func TestTokenIsNowhere(t *testing.T) {
	for _, token := range []string{"remit_sEcReTsEcReT", "sEcReTsEcReT", "eyJhbGciOiJub25lIn0.sEcReTsEcReT.", "sEcReTsEcReT\"\r\n", strings.Repeat("sEcReT", 9000)} {
		g := newRig(t)
		for _, header := range []string{"Bearer " + token, "Basic " + token, token} {
			w := g.ask("/tools/x", header)
			seen := fmt.Sprint(w.Code, w.Header(), w.Body, g.log)
			for _, r := range g.audit.records {
				seen += string(r.Arguments.Append(nil)) + fmt.Sprint(*r)
			}
			if strings.Contains(seen, "sEcReT") {
				t.Errorf("it is told: %s", seen)
			}
		}
	}
}

// TestRequiredOfMany: those who ask while somebody looks go by that look.
func TestRequiredOfMany(t *testing.T) {
	g := newRig(t)
	g.Now = time.Now
	slow := &slowTokens{tokens: g.tokens, looking: make(chan struct{}, 20), goOn: make(chan struct{})}
	g.Tokens = slow
	var all sync.WaitGroup
	all.Go(func() { g.Required(t.Context()) })
	<-slow.looking
	for range 19 {
		all.Go(func() { g.Required(t.Context()) })
	}
	for range 10_000 {
		runtime.Gosched() // so that they wait by now
	}
	close(slow.goOn)
	all.Wait()
	if n := len(slow.looking); n != 0 {
		t.Errorf("%d looked again", n)
	}
}

// slowTokens takes its time.
type slowTokens struct {
	*tokens
	looking, goOn chan struct{}
}

func (s *slowTokens) Any(context.Context) (bool, error) {
	s.looking <- struct{}{}
	<-s.goOn
	return false, nil
}
