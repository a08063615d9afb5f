package console

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine"
	"remit/internal/engine/approval"
	"remit/internal/engine/audit"
	"remit/internal/engine/enginetest"
	"remit/internal/engine/identity"
	"remit/internal/engine/ratelimit"
)

// fixture is a console with fakes around it and a clock that stands still.
type fixture struct {
	*Console
	mux       *http.ServeMux
	approvals *requestStore
	people    *fakePeople
	tokens    *fakeTokens
	log       bytes.Buffer
	now       time.Time
	shown     approval.Shown // what every request would do
	restart   []string       // what Reload returns
	invalid   error

	mu       sync.Mutex
	records  []audit.Record
	auditErr error // returned by Ready
}

func fixtureTool(name, more string) string {
	return "name: " + name + `
title: Do something
description: Does something.
input:
  type: object
  properties:
    text: {type: string, maxLength: 100, default: nothing, description: What}
  additionalProperties: false
output:
  type: object
  properties:
    said: {type: string, description: What was said}
  required: [said]
  additionalProperties: false
examples: []
` + more
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	c := &fixture{
		now:    time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC),
		people: &fakePeople{cookies: map[string]identity.Person{}}, tokens: &fakeTokens{}, approvals: &requestStore{},
	}
	c.Console = &Console{
		Version: "9.9.9", Root: "/home/ada/garden", Engine: fixtureEngine(t, c),
		Approvals: func(context.Context) (approval.Store, error) { return c.approvals, nil },
		People:    c.people, Tokens: c.tokens,
		Settings: func() []Setting {
			return []Setting{{"root", "/home/ada/garden", "flag"}, {"approve", "ask", "default"}}
		},
		Trust:     func() Trust { return Trust{} },
		ToolRules: func() []ToolRule { return nil },
		Reload:    func() ([]string, error) { return c.restart, c.invalid },
		Health:    func(context.Context) map[string]error { return map[string]error{"database": nil} },
		Base:      func() string { return "http://127.0.0.1:8722/" },
		Identity:  func() string { return "Whoever is on this machine may call" },
		Audit:     c, Limiter: ratelimit.NewMemory(), Now: func() time.Time { return c.now },
		Log:            slog.New(slog.NewTextHandler(&c.log, nil)),
		TokensRequired: func() bool { return false },
		Clients:        func(string, string) []Client { return nil },
		Address: func(r *http.Request) string {
			host, _, _ := net.SplitHostPort(r.RemoteAddr) // as the server does
			return host
		},
	}
	c.Pages = c.Engine
	c.Desk = &approval.Desk{
		Open: func(context.Context) (approval.Store, error) {
			return &approval.Recorded{Store: c.approvals, Audit: c}, nil
		},
		Show: func(context.Context, approval.Request, string) (approval.Shown, error) { return c.shown, nil },
		Now:  c.Now,
	}
	c.people.now = c.Now
	c.mux = http.NewServeMux()
	c.Register(c.mux)
	return c
}

func fixtureEngine(t testing.TB, auditor engine.Auditor) *engine.Engine {
	t.Helper()
	type in struct {
		Text string `json:"text"`
	}
	type out struct {
		Said string `json:"said"`
	}
	say := engine.Handle(func(_ context.Context, in in) (out, error) { return out{in.Text}, nil })
	set := enginetest.Load(t, enginetest.PublicSet, map[string]string{
		"look":  fixtureTool("look", "hints: {readOnly: true, destructive: false, idempotent: true, openWorld: false}\n"),
		"write": fixtureTool("write", "hints: {readOnly: false, destructive: false, idempotent: false, openWorld: false}\napproval: {required: true, window: 1h}\n"),
	})
	return enginetest.New(t, set, map[string]engine.Handler{"look": say, "write": say},
		engine.Options{Approvals: &approval.Gate{}, Audit: auditor})
}

func (c *fixture) Ready(time.Time) error { return c.auditErr }

func (c *fixture) Write(_ context.Context, r *audit.Record, _ bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.records = append(c.records, *r)
	return nil
}

// recorded returns the audit records, one line each.
func (c *fixture) recorded() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var lines []string
	for _, r := range c.records {
		lines = append(lines, cmp.Or(r.Principal, "nobody")+" "+r.Tool+" "+r.Outcome+" "+string(r.Arguments.Append(nil)))
	}
	return lines
}

// as signs a person in and returns a function that sends requests as that person.
func (c *fixture) as(role identity.Role) func(method, target string, form url.Values, headers ...string) *httptest.ResponseRecorder {
	secret := "session-of-" + role.String()
	c.people.mu.Lock()
	c.people.cookies[secret] = identity.Person{Name: "ada", Role: role}
	c.people.mu.Unlock()
	return func(method, target string, form url.Values, headers ...string) *httptest.ResponseRecorder {
		return c.send(method, target, form, append(headers, "Cookie", c.cookieName()+"="+secret)...)
	}
}

// send sends a request as a browser does.
func (c *fixture) send(method, target string, form url.Values, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, strings.NewReader(form.Encode()))
	r.Header.Set("Accept", "text/html,application/xhtml+xml")
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	c.mux.ServeHTTP(w, r)
	return w
}

// addRequest adds a waiting approval request.
func (c *fixture) addRequest(t testing.TB, id, principal, arguments string) approval.Request {
	t.Helper()
	tool, err := c.Engine.Find("write")
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.approvals.Ask(t.Context(), approval.Request{
		ID: id, Key: id, Principal: principal, Tool: tool.ID, Version: "1.2.3", Digest: tool.Digest, Arguments: []byte(arguments),
		Summary: "Write something", State: approval.Pending, CreatedAt: c.now.Add(-time.Minute), ExpiresAt: c.now.Add(59 * time.Minute),
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// wants checks the status of a response and that it contains texts.
func wants(t *testing.T, w *httptest.ResponseRecorder, status int, texts ...string) {
	t.Helper()
	if w.Code != status {
		t.Errorf("status %d, want %d", w.Code, status)
	}
	for _, text := range texts {
		if !strings.Contains(w.Body.String(), text) {
			t.Errorf("no %q in:\n%s", text, w.Body)
		}
	}
}

// fakePeople is a People with sessions by cookie and links by token.
type fakePeople struct {
	mu      sync.Mutex
	now     func() time.Time
	cookies map[string]identity.Person
	links   map[string]identity.Person
	touches int // number of calls of Person
	finds   int // and of PersonWithoutTouch
	fail    error
}

func (p *fakePeople) Peek(token string) (identity.Person, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	who, ok := p.links[token]
	if !ok {
		return who, contract.Errorf(contract.Denied, "This link was altered")
	}
	return who, p.fail
}

func (p *fakePeople) Redeem(ctx context.Context, token string) (string, identity.Person, time.Time, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	who, ok := p.links[token]
	if p.fail != nil {
		return "", who, time.Time{}, p.fail
	}
	if !ok {
		return "", who, time.Time{}, contract.Errorf(contract.Denied, "This link was used already")
	}
	delete(p.links, token)
	p.cookies["new-session"] = who
	audit.EffectFrom(ctx).SetPrincipal(who.Principal())
	audit.EffectFrom(ctx).Describe(jsontree.M("role", jsontree.Str(who.Role.String())))
	return "new-session", who, p.now().Add(12 * time.Hour), nil
}

func (p *fakePeople) Person(ctx context.Context, cookie string) (identity.Person, error) {
	p.mu.Lock()
	p.touches++
	p.mu.Unlock()
	return p.PersonWithoutTouch(ctx, cookie)
}

func (p *fakePeople) lookups() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.finds
}

func (p *fakePeople) PersonWithoutTouch(_ context.Context, cookie string) (identity.Person, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.finds++
	if p.fail != nil {
		return identity.Person{}, p.fail
	}
	if who, ok := p.cookies[cookie]; ok {
		return who, nil
	}
	return identity.Person{}, contract.Errorf(contract.Denied, "The session is over")
}

func (p *fakePeople) End(_ context.Context, cookie string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.cookies, cookie)
	return p.fail
}

func (p *fakePeople) People(context.Context) ([]identity.Session, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []identity.Session
	for cookie, who := range p.cookies {
		all = append(all, identity.Session{Hash: cookie, Name: who.Name, Role: who.Role, Created: p.now(), Seen: p.now(), Expires: p.now().Add(12 * time.Hour)})
	}
	return all, p.fail
}

func (p *fakePeople) SignOut(_ context.Context, name string) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := len(p.cookies)
	maps.DeleteFunc(p.cookies, func(_ string, who identity.Person) bool { return who.Name == name })
	return before - len(p.cookies), p.fail
}

func (p *fakePeople) EndSession(ctx context.Context, id string) (identity.Session, error) {
	sessions, err := p.People(ctx)
	for _, s := range sessions {
		if s.ID() == id {
			return s, p.End(ctx, s.Hash)
		}
	}
	return identity.Session{}, cmp.Or[error](err, contract.Errorf(contract.NotFound, "There is no such session"))
}

func (p *fakePeople) Link(who identity.Person, _ time.Duration) (string, error) {
	if who.Name == "" {
		return "", contract.Errorf(contract.Invalid, "A name is needed")
	}
	return "link+for/" + who.Name, nil
}

// fakeTokens is a Tokens in memory.
type fakeTokens struct{ list []identity.Token }

func (f *fakeTokens) Create(ctx context.Context, n identity.NewToken) (string, identity.Token, error) {
	if n.Name == "" {
		return "", identity.Token{}, contract.Errorf(contract.Invalid, "The name is empty")
	}
	made := identity.Token{ID: fmt.Sprintf("t%d", len(f.list)+1), Role: n.Role, Name: n.Name, User: n.User, Scopes: n.Scopes, Rate: n.Rate, By: n.By, Expires: n.Expires}
	f.list = append(f.list, made)
	made.DescribeIn(ctx)
	return "remit_secret-of-" + n.Name, made, nil
}

func (f *fakeTokens) List(context.Context) ([]identity.Token, error) { return f.list, nil }

func (f *fakeTokens) Revoke(ctx context.Context, name string) (identity.Token, error) {
	for i := range f.list {
		if f.list[i].ID == name {
			f.list[i].Revoked = time.Unix(1, 0)
			f.list[i].DescribeIn(ctx)
			return f.list[i], nil
		}
	}
	return identity.Token{}, contract.Errorf(contract.NotFound, "There is no token %s", name)
}

func (f *fakeTokens) Narrow(ctx context.Context, id string, n identity.Narrowing) (identity.Token, error) {
	for i := range f.list {
		if t := &f.list[i]; t.ID == id {
			t.ID, t.Scopes, t.User, t.Rate, t.Expires = id+"-narrow", n.Scopes, n.User, n.Rate, n.Expires
			t.DescribeIn(ctx)
			return *t, nil
		}
	}
	return identity.Token{}, contract.Errorf(contract.NotFound, "There is no token %s", id)
}

// requestStore is an approval.Store in memory.
type requestStore struct {
	approval.Store
	mu   sync.Mutex
	all  []approval.Request // oldest first
	fail error

	hang chan struct{} // Waiting waits until it is closed, if it is set

	listed, waited int // number of calls of List and of Waiting
}

func (s *requestStore) lists() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.listed
}

func (s *requestStore) polls() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waited
}

func (s *requestStore) Ask(_ context.Context, r approval.Request) (approval.Request, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, r)
	return r, nil
}

func (s *requestStore) Get(_ context.Context, id string) (approval.Request, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.all {
		if r.ID == id {
			return r, s.fail
		}
	}
	return approval.Request{}, contract.Errorf(contract.NotFound, "There is no request %s", id)
}

func (s *requestStore) Decide(_ context.Context, id string, v approval.Verdict, now, expires time.Time) (approval.Request, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.all, func(r approval.Request) bool { return r.ID == id })
	if i < 0 {
		return approval.Request{}, errors.New("no such request")
	}
	r := &s.all[i]
	if r.State != approval.Pending {
		return *r, contract.Errorf(contract.Conflict, "Request %s was %s at %s by %s", id, r.State, r.DecidedAt.Format(time.RFC3339), r.DecidedBy)
	}
	r.State, r.DecidedBy, r.DecidedAt, r.Reason, r.ExpiresAt, r.Shown = approval.Denied, v.By, now, v.Reason, expires, v.Shown
	if v.Approve {
		r.State = approval.Approved
	}
	return *r, nil
}

func (s *requestStore) Withdraw(_ context.Context, id string, v approval.Verdict, now time.Time) (approval.Request, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.all, func(r approval.Request) bool { return r.ID == id })
	if i < 0 || s.all[i].Stage(now) != string(approval.Approved) {
		return approval.Request{ID: id}, contract.Errorf(contract.Conflict, "Request %s is not approved", id)
	}
	s.all[i].State, s.all[i].DecidedBy, s.all[i].DecidedAt = approval.Withdrawn, v.By, now
	return s.all[i], nil
}

func (s *requestStore) List(_ context.Context, o approval.ListOptions) ([]approval.Request, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listed++
	var list []approval.Request
	for _, r := range slices.Backward(s.all) {
		if (o.All || r.State == approval.Pending && !r.Expired(o.Now)) && len(list) < o.Limit {
			list = append(list, r)
		}
	}
	return list, s.fail
}

func (s *requestStore) WaitingIDs(_ context.Context, now time.Time) (ids []string, err error) {
	s.mu.Lock()
	hang := s.hang
	s.mu.Unlock()
	if hang != nil {
		<-hang
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waited++
	for _, r := range s.all {
		if r.State == approval.Pending && !r.Expired(now) {
			ids = append(ids, r.ID)
		}
	}
	return ids, s.fail
}
