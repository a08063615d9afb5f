package auth_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"remit/internal/contract"
	"remit/internal/engine/audit"
	"remit/internal/engine/identity"
	"remit/internal/engine/ratelimit"
	"remit/internal/frontends/auth"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const base = "https://remit.example.com"

// The tokens of the tests. None was ever valid anywhere.
const (
	good    = "remit_good"
	slow    = "remit_slow"
	revoked = "remit_revoked"
	broken  = "remit_broken"
)

// tokens is a fake token store.
type tokens struct {
	mu     sync.Mutex
	asked  int // how often it was asked whether there are any
	checks int
	any    bool
	err    error
}

func (k *tokens) Check(_ context.Context, secret string) (identity.Token, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.checks++
	token := identity.Token{ID: "1", Name: "helper", User: "ann", Scopes: identity.Scopes{{Set: "tasks"}: true}}
	switch secret {
	case good:
		return token, nil
	case slow:
		token.ID, token.Rate = "2", ratelimit.Rate{Requests: 2, Per: time.Minute}
		return token, nil
	case revoked:
		return identity.Token{}, contract.Errorf(contract.Denied, "The token %q was revoked\r\nSet-Cookie: a=b", `hel\per`)
	case broken:
		return identity.Token{}, contract.Errorf(contract.Unavailable, "no").Because(errors.New("the database is away"))
	default:
		return identity.Token{}, contract.Errorf(contract.Denied, "The token is unknown here")
	}
}

func (k *tokens) AnyCreated(context.Context) (bool, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.asked++
	return k.any, k.err
}

// auditor keeps audit records in memory.
type auditor struct {
	mu      sync.Mutex
	records []*audit.Record
}

func (a *auditor) Ready(time.Time) error { return nil }

func (a *auditor) Write(_ context.Context, r *audit.Record, _ bool) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.records = append(a.records, r)
	return nil
}

// rig is an authenticator with a handler behind it.
type rig struct {
	*auth.Authenticator
	t       testing.TB
	tokens  *tokens
	audit   *auditor
	log     *strings.Builder
	handler http.Handler
}

func newRig(t testing.TB) *rig {
	g := &rig{t: t, tokens: &tokens{}, audit: &auditor{}, log: &strings.Builder{}}
	g.Authenticator = &auth.Authenticator{
		Tokens: g.tokens, LocalIdentity: identity.Identity{Principal: "local"}, BaseURL: func() string { return base },
		Scopes: func() []string { return []string{"tasks:read", "tasks:write"} }, Limiter: ratelimit.NewMemory(), Audit: g.audit,
		Log: slog.New(slog.NewTextHandler(g.log, &slog.HandlerOptions{Level: slog.LevelDebug})), Now: time.Now,
	}
	mux := http.NewServeMux()
	g.Register(mux)
	mux.Handle("/known", g.RequireIdentity(http.HandlerFunc(g.answer)))
	mux.HandleFunc("/", g.answer)
	g.handler = g.Guard(mux)
	return g
}

// answer answers with the caller's identity and scopes.
func (g *rig) answer(w http.ResponseWriter, r *http.Request) {
	who := g.Identity(r)
	text := who.Principal
	if who.Grant != nil {
		text += " for " + who.Grant.User + " with " + who.Grant.Scopes.String()
	}
	_, _ = w.Write([]byte(text))
}

// ask sends a request with these Authorization headers.
func (g *rig) ask(path string, authorization ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, path, nil)
	r.RemoteAddr = "192.0.2.7:4711"
	if authorization != nil {
		r.Header["Authorization"] = authorization
	}
	return g.send(r)
}

func (g *rig) send(r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	g.handler.ServeHTTP(w, r)
	return w
}

// expect checks the response to a token.
func (g *rig) expect(token string, status int, words string) {
	g.t.Helper()
	w := g.ask("/tools/x", "Bearer "+token)
	if w.Code != status || !strings.Contains(w.Body.String(), words) {
		g.t.Errorf("%d %s, want %d and %q", w.Code, w.Body, status, words)
	}
}

// issuer is an in-memory OpenID issuer.
type issuer struct {
	http.Handler
	mu   sync.Mutex
	gets map[string]int // requests by path
	down bool
}

func (i *issuer) RoundTrip(r *http.Request) (*http.Response, error) {
	i.mu.Lock()
	i.gets[r.URL.Path]++
	down := i.down
	i.mu.Unlock()
	if down {
		return nil, errors.New("connection refused")
	}
	w := httptest.NewRecorder()
	i.ServeHTTP(w, r)
	return w.Result(), nil
}

func (i *issuer) set(down bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.down = down
}

func (i *issuer) asked(path string) int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.gets[path]
}

// isJSON fails the test unless the text is a JSON object.
func isJSON(t testing.TB, text string) {
	t.Helper()
	var object map[string]any
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		t.Errorf("no object: %s", text)
	}
}
