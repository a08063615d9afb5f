package console

import (
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"remit/internal/engine/identity"
)

// TestConnectToken makes a token on the page that shows how to connect. The instructions contain it
// once.
func TestConnectToken(t *testing.T) {
	c := newFixture(t)
	c.Clients = func(_, token string) []Client {
		return []Client{
			{ID: "one", Title: "One", Command: "one add", Snippet: "token " + token},
			{ID: "two", Title: "Two", Snippet: "token " + token, Literal: true},
		}
	}
	form := url.Values{"client": {"two"}, "name": {"helper"}, "scope": {"demo:read"}, "days": {"7"}}
	wants(t, c.as(identity.Approver)("POST", "/console/connect/token", form), 403)
	lacks(t, c.as(identity.Approver)("GET", "/console/connect", nil), "Make a token")
	admin := c.as(identity.Admin)
	wants(t, admin("GET", "/console/connect?client=two", nil), 200, "Make a token for this client", `name="client" value="two"`, "token </pre>")
	w := admin("POST", "/console/connect/token", form)
	wants(t, w, 200, "export REMIT_TOKEN=remit_secret-of-helper", "token remit_secret-of-helper", "contains the token itself", "token <strong>helper</strong>")
	wants(t, admin("GET", "/console/connect?client=two&agent=helper", nil), 200, `<option value="helper" selected>`)
	form.Set("name", "")
	form.Set("user", "bob")
	wants(t, admin("POST", "/console/connect/token", form), 400, "The name is empty", `value="bob"`, `value="demo:read" checked`)
	if got := strings.Join(c.recorded(), "\n"); strings.Contains(got, "secret-of") || !strings.Contains(got, "console/token_create ok") {
		t.Errorf("recorded %s", got)
	}
}

// TestConnectLive checks what the page says about a client: nothing yet, what to try, and what
// came.
func TestConnectLive(t *testing.T) {
	c := newFixture(t)
	c.Arrivals = &Arrivals{}
	viewer := c.as(identity.Viewer)
	live := func(since time.Time) string {
		return "/console/connect/live?agent=helper&since=" + strconv.FormatInt(since.UnixMicro(), 10)
	}
	w := viewer("GET", live(c.now), nil)
	wants(t, w, 200, "Waiting for a first request with the token <strong>helper</strong>")
	lacks(t, w, "If nothing comes")
	wants(t, viewer("GET", live(c.now.Add(-connectPatience)), nil), 200, "If nothing comes", "remit doctor")
	for _, a := range []Arrival{
		{At: c.now.Add(-time.Hour), Principal: "agent:helper", Client: "old", Method: "initialize"},
		{At: c.now, Principal: "agent:other", Client: "stranger", Method: "initialize"},
		{At: c.now, Principal: "agent:helper", Client: evil, Frontend: "http", Version: "2025-11-25", Method: "initialize"},
		{At: c.now, Principal: "agent:helper", Client: "again", Method: "initialize"},
		{At: c.now, Principal: "agent:helper", Method: "tools/list"},
	} {
		c.Arrivals.Note(a)
	}
	w = viewer("GET", live(c.now.Add(-time.Minute)), nil)
	wants(t, w, 200, "&lt;script&gt;", "connected via http (initialize, 2025-11-25)", "asked for the list of tools", "to call <code>hello</code>")
	for _, other := range []string{evil, "stranger", "old", "again"} {
		lacks(t, w, other)
	}
	wants(t, viewer("GET", "/console/connect/live?since=x", nil), 400)
}

func TestArrivalsAreBounded(t *testing.T) {
	var a Arrivals
	for i := range 2*maxArrivals + 1 {
		a.Note(Arrival{At: time.Unix(int64(i), 0), Method: strconv.Itoa(i)})
	}
	if got := a.since(time.Time{}, ""); len(got) != maxArrivals || got[0].Method != strconv.Itoa(maxArrivals+1) {
		t.Errorf("%d arrivals, the first is %v", len(got), got[0])
	}
}
