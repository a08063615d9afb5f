package console

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"remit/internal/engine/identity"
	"remit/internal/engine/ratelimit"
)

func TestSettings(t *testing.T) {
	c := newFixture(t)
	admin := c.as(identity.Admin)
	wants(t, admin("GET", "/console/settings", nil), 200, "No agent tokens", "<th scope=\"row\" class=\"mono\">approve</th>",
		"flag", "default", "demo:write")
	scopes, _ := identity.ParseScopes("demo:read", nil)
	c.tokens.list = []identity.Token{
		{ID: "1", Name: evil, Scopes: scopes, User: evil},
		{ID: "2", Name: "gone", Scopes: scopes, Revoked: c.now},
		{ID: "3", Name: "over", Scopes: scopes, Expires: c.now},
		{ID: "4", Name: "strange", Scopes: scopes, Foreign: true},
	}
	w := admin("GET", "/console/settings", nil)
	wants(t, w, 200, "&lt;script&gt;", `action="/console/settings/tokens/1/revoke"`, "Show 3 inactive")
	if strings.Contains(w.Body.String(), evil) || strings.Contains(w.Body.String(), ">gone<") {
		t.Error("markup or an inactive token is shown")
	}
	wants(t, admin("GET", "/console/settings?tokens=all", nil), 200, "revoked", "expired", "not created here")
}

// TestReload checks that an admin can reload the configuration, and is told what needs a restart.
func TestReload(t *testing.T) {
	c := newFixture(t)
	c.restart = []string{"approve", "tools"}
	wants(t, c.as(identity.Approver)("POST", "/console/settings/reload", url.Values{}), 403)
	admin := c.as(identity.Admin)
	wants(t, admin("POST", "/console/settings/reload", url.Values{}), 200, "was reloaded. Restart the server for changes of: approve, tools.")
	c.restart, c.invalid = nil, errors.New("remit.yaml:1:1: unknown key")
	wants(t, admin("POST", "/console/settings/reload", url.Values{}), 400, "nothing was reloaded: remit.yaml:1:1: unknown key")
	want := []string{
		`console:ada console/reload ok {"restart_for":"approve,tools","address":"192.0.2.1"}`,
		`console:ada console/reload invalid {"restart_for":"","address":"192.0.2.1"}`,
	}
	got := c.recorded()
	if diff := cmp.Diff(want, got[max(0, len(got)-2):]); diff != "" {
		t.Error(diff)
	}
}

func TestTokens(t *testing.T) {
	c := newFixture(t)
	admin := c.as(identity.Admin)
	w := admin("POST", "/console/settings/tokens", url.Values{
		"name": {" helper "}, "scope": {"demo:read", "demo:write"}, "user": {"ada"}, "days": {"30"}, "rate": {"600/min"},
	})
	wants(t, w, 200, "remit_secret-of-helper", "will not be shown again", "demo:read, demo:write")
	want, _ := identity.ParseScopes("demo:read,demo:write", nil)
	made := c.tokens.list[0]
	if made.Name != "helper" || made.User != "ada" || made.By != "console:ada" || !made.Expires.Equal(c.now.Add(30*24*time.Hour)) ||
		made.Rate != (ratelimit.Rate{Requests: 600, Per: time.Minute}) || !cmp.Equal(made.Scopes, want) {
		t.Errorf("created %+v", made)
	}
	wants(t, admin("POST", "/console/settings/tokens/t1/revoke", url.Values{}), 303)
	if c.tokens.list[0].Revoked.IsZero() {
		t.Error("the token is not revoked")
	}
	wants(t, admin("POST", "/console/settings/tokens/nothing/revoke", url.Values{}), 404)
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
		wants(t, admin("POST", "/console/settings/tokens", form), 400, message)
	}
	if len(c.tokens.list) != 0 {
		t.Errorf("created %v", c.tokens.list)
	}
}

func TestLinks(t *testing.T) {
	c := newFixture(t)
	admin := c.as(identity.Admin)
	w := admin("POST", "/console/settings/links", url.Values{"name": {"grace"}, "role": {"approver"}, "minutes": {"10"}})
	wants(t, w, 200, "http://127.0.0.1:8722/console/login?token=link%2Bfor%2Fgrace", "2026-08-01 12:10 UTC")
	if diff := cmp.Diff([]string{`console:ada console/link ok {"name":"grace","role":"approver","address":"192.0.2.1"}`}, c.recorded()); diff != "" {
		t.Error(diff)
	}
	wants(t, admin("POST", "/console/settings/links", url.Values{"name": {"grace"}, "role": {"nobody"}, "minutes": {"10"}}), 400,
		"must be viewer, approver or admin")
	wants(t, admin("POST", "/console/settings/links", url.Values{"name": {"grace"}, "role": {"viewer"}, "minutes": {"1e9"}}), 400,
		"minutes must be a number")
	wants(t, admin("POST", "/console/settings/links", url.Values{"role": {"viewer"}, "minutes": {"10"}}), 400, "A name is needed")
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
		w := admin("POST", "/console/settings/"+path, form)
		wants(t, w, 503, "nothing was created")
		lacks(t, w, "disk full")
	}
	// Revoking does not require the audit log.
	wants(t, admin("POST", "/console/settings/tokens/old/revoke", url.Values{}), 303)
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
	w := admin("GET", "/console/settings", nil)
	wants(t, w, 200, `action="/console/settings/signout"`, `name="name" value="ada"`, "approver")
	lacks(t, w, evil)
	wants(t, admin("POST", "/console/settings/signout", url.Values{"name": {"nobody"}}), 404, "Nobody called &#34;nobody&#34; is signed in")
	wants(t, c.as(identity.Approver)("POST", "/console/settings/signout", url.Values{"name": {evil}}), 403)
	c.records = nil
	wants(t, admin("POST", "/console/settings/signout", url.Values{"name": {evil}}), 303)
	if _, live := c.people.cookies["one"]; live || c.live.signOuts != 1 {
		t.Errorf("still signed in: %v; pages were notified %d times", live, c.live.signOuts)
	}
	if got := c.recorded(); len(got) != 1 || !strings.HasPrefix(got[0], "console:ada console/sign_out_other ok ") || !strings.Contains(got[0], `"sessions":2`) {
		t.Errorf("recorded %q", got)
	}
	wants(t, admin("GET", "/console/settings", nil), 200)
}

func TestOverview(t *testing.T) {
	c := newFixture(t)
	c.Clients = func(base string) []Client {
		return []Client{{ID: "one", Title: "One", Command: "one mcp add " + base, Link: "javascript:alert(1)"}, {ID: "two", Title: "Two", Snippet: "{}", File: "~/two.json", Link: "cursor://x/y?z=1&a=2"}}
	}
	c.Health = func(context.Context) map[string]error {
		return map[string]error{"database": nil, "code_index": errors.New("the secret reason")}
	}
	viewer := c.as(identity.Viewer)
	w := viewer("GET", "/", nil)
	wants(t, w, 200, "Fails: code index", "2 tools</a> served", "No calls yet", "one mcp add http://127.0.0.1:8722",
		"wait for a person if the contract requires approval")
	lacks(t, w, "secret reason", "/console/settings", "/home/ada/garden")
	wants(t, c.as(identity.Admin)("GET", "/console/settings", nil), 200, "/home/ada/garden", "2 tools, 1 of them writes", "code index", ">fails<", ">works<")
	wants(t, viewer("GET", "/console/overview/pulse", nil), 204)
	for range 7 {
		c.addRequest(t, "k3v9q2xa7m", "agent:x", `{}`)
	}
	wants(t, viewer("GET", "/", nil), 200, "/console/approvals/k3v9q2xa7m", ">All 7<", "waits for you", "7 requests")
	wants(t, viewer("GET", "/?window=5m", nil), 400, "use 30m, 6h, 24h or 7d")
	wants(t, viewer("GET", "/console/overview/other", nil), 404)

	w = viewer("GET", "/console/connect", nil)
	wants(t, w, 200, `href="cursor://x/y?z=1&amp;a=2"`, "~/two.json", "http://127.0.0.1:8722/mcp", "curl ", "remit call ")
	if strings.Contains(w.Body.String(), "javascript:") {
		t.Error("a link runs a script")
	}
}
