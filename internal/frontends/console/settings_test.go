package console

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"remit/internal/contract"
	"remit/internal/engine/identity"
)

func TestSettings(t *testing.T) {
	c := newFixture(t)
	rule := contract.Tightening{Hide: true, Title: "Look here", Rate: contract.Rate{Requests: 6, Per: time.Minute}, Deadline: contract.Duration(time.Second), Request: 100, Approval: true, Deny: []string{"secrets/**"}}
	look, err := c.Engine.Find("look")
	if err != nil {
		t.Fatal(err)
	}
	c.ToolRules = func() []ToolRule {
		return []ToolRule{{Tool: "look", File: "/etc/remit.yaml", Rule: rule, Contract: look.Contract}, {Tool: "gone", Rule: contract.Tightening{Hide: true}}}
	}
	w := c.as(identity.Admin)("GET", "/console/settings", nil)
	wants(t, w, 200, "<th scope=\"row\" class=\"mono\">approve</th>", "flag", "default", `href="/console/access"`,
		"no: the tool is hidden", "6/min per caller", "at most 100", "also secrets/**", "Look here", "/etc/remit.yaml", "tools.look.deadline", `<a href="/console/tools/look">`)
	lacks(t, w, `href="/console/tools/gone"`)
	w = c.as(identity.Viewer)("GET", "/console/tools/look", nil)
	wants(t, w, 200, "Rules of the operator", "6/min per caller", "tools.look.rate")
	wants(t, c.as(identity.Viewer)("GET", "/console/tools/write", nil), 200, "Who approves", ">default<", "approve</span>")
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

func TestOverview(t *testing.T) {
	c := newFixture(t)
	c.Clients = func(base, _ string) []Client {
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

	wants(t, viewer("GET", "/console/connect", nil), 200, "one mcp add", "/console/connect?client=two")
	wants(t, viewer("GET", "/console/connect?client=three", nil), 404, "no instructions")
	w = viewer("GET", "/console/connect?client=two", nil)
	wants(t, w, 200, `href="cursor://x/y?z=1&amp;a=2"`, "~/two.json", "http://127.0.0.1:8722/mcp", "curl ", "remit call ")
	if strings.Contains(w.Body.String(), "javascript:") {
		t.Error("a link runs a script")
	}
}
