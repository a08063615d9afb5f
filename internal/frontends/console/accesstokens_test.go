package console

import (
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"remit/internal/engine/identity"
	"remit/internal/engine/ratelimit"
)

func TestTokenList(t *testing.T) {
	c := newFixture(t)
	admin := c.as(identity.Admin)
	wants(t, admin("GET", "/console/access", nil), 200, "No agent tokens", `href="/console/access/tokens/new"`)
	wants(t, admin("GET", "/console/access/tokens/new", nil), 200, "demo:write")
	scopes, _ := identity.ParseScopes("demo:read", nil)
	c.tokens.list = []identity.Token{
		{ID: "1", Name: evil, Scopes: scopes, User: evil},
		{ID: "2", Name: "gone", Scopes: scopes, Revoked: c.now},
		{ID: "3", Name: "over", Scopes: scopes, Expires: c.now},
		{ID: "4", Name: "strange", Scopes: scopes, Foreign: true},
	}
	w := admin("GET", "/console/access", nil)
	wants(t, w, 200, "&lt;script&gt;", `href="/console/access/tokens/1/revoke"`, `href="/console/access/tokens/1/narrow"`, "Show 3 inactive")
	if strings.Contains(w.Body.String(), evil) || strings.Contains(w.Body.String(), ">gone<") {
		t.Error("markup or an inactive token is shown")
	}
	wants(t, admin("GET", "/console/access?tokens=all", nil), 200, "revoked", "expired", "not created here", `href="/console/access/tokens/new?like=2"`)
	w = c.as(identity.Approver)("GET", "/console/access", nil)
	wants(t, w, 200, "Standing permissions")
	lacks(t, w, "Tokens of agents")
	lacks(t, w, "Trust of the workspace")
}

func TestTokens(t *testing.T) {
	c := newFixture(t)
	admin := c.as(identity.Admin)
	w := admin("POST", "/console/access/tokens", url.Values{
		"name": {" helper "}, "scope": {"demo:read", "demo:write"}, "user": {"ada"}, "days": {"30"}, "rate": {"600/min"},
	})
	wants(t, w, 200, "remit_secret-of-helper", "will not be shown again", "demo:read, demo:write")
	want, _ := identity.ParseScopes("demo:read,demo:write", nil)
	made := c.tokens.list[0]
	if made.Name != "helper" || made.User != "ada" || made.By != "console:ada" || !made.Expires.Equal(c.now.Add(30*24*time.Hour)) ||
		made.Rate != (ratelimit.Rate{Requests: 600, Per: time.Minute}) || !cmp.Equal(made.Scopes, want) {
		t.Errorf("created %+v", made)
	}
	wants(t, admin("POST", "/console/access/tokens/t1/revoke", url.Values{}), 303)
	if c.tokens.list[0].Revoked.IsZero() {
		t.Error("the token is not revoked")
	}
	wants(t, admin("POST", "/console/access/tokens/nothing/revoke", url.Values{}), 404)
	records := []string{
		`console:ada console/token_create ok {"scopes":"demo:read,demo:write","address":"192.0.2.1","id":"t1","name":"helper"}`,
		`console:ada console/token_revoke ok {"address":"192.0.2.1","id":"t1","name":"helper"}`,
	}
	if diff := cmp.Diff(records, c.recorded()); diff != "" {
		t.Error(diff)
	}
	if strings.Contains(c.log.String()+strings.Join(c.recorded(), ""), "remit_secret") {
		t.Error("the secret is in the log or the audit records")
	}
}

func TestInvalidTokenForms(t *testing.T) {
	c := newFixture(t)
	admin := c.as(identity.Admin)
	for message, form := range map[string]url.Values{
		"did you mean &#34;demo&#34;": {"name": {"x"}, "scope": {"dem:read"}, "days": {"7"}},
		"name at least one scope":     {"name": {"x"}, "days": {"7"}},
		"days must be a number":       {"name": {"x"}, "scope": {"*:read"}, "days": {"99999"}},
		"is not a rate":               {"name": {"x"}, "scope": {"*:read"}, "days": {"never"}, "rate": {"often"}},
	} {
		wants(t, admin("POST", "/console/access/tokens", form), 400, message)
	}
	if len(c.tokens.list) != 0 {
		t.Errorf("created %v", c.tokens.list)
	}
}

func TestLinks(t *testing.T) {
	c := newFixture(t)
	admin := c.as(identity.Admin)
	w := admin("POST", "/console/access/links", url.Values{"name": {"grace"}, "role": {"approver"}, "minutes": {"10"}})
	wants(t, w, 200, "http://127.0.0.1:8722/console/login?token=link%2Bfor%2Fgrace", "2026-08-01 12:10 UTC")
	if diff := cmp.Diff([]string{`console:ada console/link ok {"name":"grace","role":"approver","address":"192.0.2.1"}`}, c.recorded()); diff != "" {
		t.Error(diff)
	}
	wants(t, admin("POST", "/console/access/links", url.Values{"name": {"grace"}, "role": {"nobody"}, "minutes": {"10"}}), 400,
		"must be viewer, approver or admin")
	wants(t, admin("POST", "/console/access/links", url.Values{"name": {"grace"}, "role": {"viewer"}, "minutes": {"1e9"}}), 400,
		"minutes must be a number")
	wants(t, admin("POST", "/console/access/links", url.Values{"role": {"viewer"}, "minutes": {"10"}}), 400, "A name is needed")
}

func TestNothingIsCreatedWithoutARecord(t *testing.T) {
	c := newFixture(t)
	admin := c.as(identity.Admin)
	c.tokens.list = []identity.Token{{ID: "old", Name: "old"}}
	c.auditErr = errors.New("disk full")
	for path, form := range map[string]url.Values{
		"tokens": {"name": {"x"}, "scope": {"demo:read"}, "days": {"7"}},
		"links":  {"name": {"grace"}, "role": {"viewer"}, "minutes": {"10"}},
	} {
		w := admin("POST", "/console/access/"+path, form)
		wants(t, w, 503, "nothing was created")
		lacks(t, w, "disk full")
	}
	// Revoking does not require the audit log.
	wants(t, admin("POST", "/console/access/tokens/old/revoke", url.Values{}), 303)
	if len(c.tokens.list) != 1 || c.tokens.list[0].Revoked.IsZero() {
		t.Errorf("tokens: %+v", c.tokens.list)
	}
}

// TestSignOutOther checks that an admin can end all sessions of a person, and that their open pages
// are notified.
func TestSignOutOther(t *testing.T) {
	c := newFixture(t)
	admin := c.as(identity.Admin)
	c.people.cookies["one"] = identity.Person{Name: evil, Role: identity.Viewer}
	c.people.cookies["two"] = identity.Person{Name: evil, Role: identity.Approver}
	w := admin("GET", "/console/access", nil)
	wants(t, w, 200, `href="/console/access/people/signout?name=ada"`, "approver")
	lacks(t, w, evil)
	wants(t, admin("GET", "/console/access/people/signout?name=ada", nil), 200, "What stops working", `name="name" value="ada"`, "This page too")
	wants(t, c.as(identity.Approver)("POST", "/console/access/people/signout", url.Values{"name": {evil}}), 403)
	c.records = nil
	wants(t, admin("POST", "/console/access/people/signout", url.Values{"name": {evil}}), 303)
	if _, live := c.people.cookies["one"]; live || c.live.signOuts != 1 {
		t.Errorf("still signed in: %v; pages were notified %d times", live, c.live.signOuts)
	}
	if got := c.recorded(); len(got) != 1 || !strings.HasPrefix(got[0], "console:ada console/sign_out_other ok ") || !strings.Contains(got[0], `"sessions":2`) {
		t.Errorf("recorded %q", got)
	}
	wants(t, admin("GET", "/console/access", nil), 200)
}

// TestMakeAgain revokes a token after a question, and makes another one of the same name and
// rights.
func TestMakeAgain(t *testing.T) {
	c := newFixture(t)
	admin := c.as(identity.Admin)
	scopes, _ := identity.ParseScopes("demo:read", nil)
	c.tokens.list = []identity.Token{{
		ID: "t0", Name: "helper", User: "bob", Scopes: scopes, Rate: ratelimit.Rate{Requests: 60, Per: time.Minute},
		Created: c.now.AddDate(0, 0, -3), Expires: c.now.AddDate(0, 0, 42), Elicits: true,
	}}
	c.addRequest(t, "k3v9q2xa7m", "agent:helper", `{}`)
	wants(t, admin("GET", "/console/access/tokens/t0/revoke", nil), 200, "Revoke token helper?", "Each call with this token is rejected", "1 request of agent:helper",
		`action="/console/access/tokens/t0/revoke"`, "none in the records")
	if !c.tokens.list[0].Revoked.IsZero() {
		t.Error("the question revokes")
	}
	w := admin("POST", "/console/access/tokens/t0/revoke", url.Values{})
	wants(t, w, 303)
	wants(t, admin("GET", w.Header().Get("Location"), nil), 200, "Token helper is revoked", `href="/console/access/tokens/new?like=t0">Make again`)
	wants(t, admin("GET", "/console/access/tokens/new?like=t0", nil), 200, `value="helper"`, `value="bob"`, `value="demo:read" checked`, `value="60/min"`,
		`<option value="45" selected>45 days`, `value="yes" checked`, "stays revoked")
	wants(t, admin("POST", "/console/access/tokens", url.Values{"name": {"helper"}, "scope": {"demo:read"}, "days": {"45"}}), 200, "remit_secret-of-helper", "/console/connect?agent=helper")
	if list := c.tokens.list; len(list) != 2 || list[0].Revoked.IsZero() || list[1].ID == "t0" {
		t.Errorf("tokens: %+v", list)
	}
	wants(t, admin("GET", "/console/access?revoked=t1", nil), 200)
	for _, path := range []string{"tokens/t0/revoke", "tokens/t0/narrow", "tokens/new", "links/new", "people/signout?name=ada", "sessions/x/end"} {
		wants(t, c.as(identity.Approver)("GET", "/console/access/"+path, nil), 403)
	}
	wants(t, admin("GET", "/console/access/tokens/t0/narrow", nil), 409, "no longer valid")
	wants(t, admin("GET", "/console/access/tokens/zzz/revoke", nil), 404)
}

func TestNarrowForm(t *testing.T) {
	c := newFixture(t)
	admin := c.as(identity.Admin)
	scopes, _ := identity.ParseScopes("*:read,demo:write", nil)
	c.tokens.list = []identity.Token{{ID: "t0", Name: "helper", User: "bob", Scopes: scopes, Expires: c.now.AddDate(0, 0, 20)}}
	w := admin("GET", "/console/access/tokens/t0/narrow", nil)
	wants(t, w, 200, `value="demo:read"`, `value="demo:write" checked`, `value="keep" selected`, `value="7"`)
	lacks(t, w, `value="*:write"`) // narrowing offers nothing that the token has not
	lacks(t, w, `value="30"`)
	wants(t, admin("POST", "/console/access/tokens/t0/narrow", url.Values{"days": {"keep"}}), 400, "at least one scope")
	wants(t, admin("POST", "/console/access/tokens/t0/narrow", url.Values{"scope": {"demo:read"}, "days": {"often"}}), 400, "days must be")
	wants(t, admin("POST", "/console/access/tokens/t0/narrow", url.Values{"scope": {"demo:read"}, "days": {"7"}, "rate": {"60/min"}}), 303)
	got := c.tokens.list[0]
	if got.ID == "t0" || got.Scopes.String() != "demo:read" || got.User != "" || !got.Expires.Equal(c.now.AddDate(0, 0, 7)) {
		t.Errorf("the token is %+v", got)
	}
	want := `console:ada console/token_narrow ok {"was":"t0","scopes":"demo:read","address":"192.0.2.1","id":"t0-narrow","name":"helper"}`
	if got := c.recorded(); len(got) != 1 || got[0] != want {
		t.Errorf("recorded %q", got)
	}
}

// TestEndOneSession ends a session of a person who has two, and tells the open pages.
func TestEndOneSession(t *testing.T) {
	c := newFixture(t)
	admin := c.as(identity.Admin)
	c.people.cookies["0000000000000001"] = identity.Person{Name: "bob", Role: identity.Viewer}
	c.people.cookies["0000000000000002"] = identity.Person{Name: "bob", Role: identity.Viewer}
	wants(t, admin("GET", "/console/access", nil), 200, `/console/access/sessions/0000000000000001/end`, "bob, another session")
	wants(t, admin("GET", "/console/access/sessions/0000000000000001/end", nil), 200, "End a session of bob?", "What stops working")
	w := admin("POST", "/console/access/sessions/0000000000000001/end", url.Values{})
	wants(t, w, 303)
	_, gone := c.people.cookies["0000000000000001"]
	_, kept := c.people.cookies["0000000000000002"]
	if gone || !kept || c.live.signOuts != 1 {
		t.Errorf("the first is there: %v, the second: %v; pages were notified %d times", gone, kept, c.live.signOuts)
	}
	wants(t, admin("GET", w.Header().Get("Location"), nil), 200, `href="/console/access/links/new?name=bob&amp;role=viewer"`)
	wants(t, admin("GET", "/console/access/links/new?name=bob&role=viewer", nil), 200, `value="bob"`, `value="viewer" selected`, "stay ended")
	wants(t, admin("POST", "/console/access/sessions/0000000000000001/end", url.Values{}), 404)
	if got := c.recorded(); len(got) == 0 || !strings.Contains(got[0], `console/session_end ok`) || !strings.Contains(got[0], `"name":"bob"`) {
		t.Errorf("recorded %q", got)
	}
}

func TestTrustShown(t *testing.T) {
	c := newFixture(t)
	c.Trust = func() Trust {
		return Trust{File: "/home/ada/garden/remit.yaml", Entries: []TrustedEntry{
			{Key: "approve", Value: "auto"}, {Key: "tools.look.title", Value: evil, InForce: true, By: "cli:ada", At: c.now},
		}}
	}
	w := c.as(identity.Admin)("GET", "/console/access", nil)
	wants(t, w, 200, "not trusted", "by nobody", "in force", "cli:ada", "remit trust")
	lacks(t, w, evil)
}
