package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// clickLink follows the link in the page whose text contains words.
func (v *tab) clickLink(words string) {
	v.t.Helper()
	v.run(chromedp.Click(chromedp.Search(fmt.Sprintf(`//main//a[contains(normalize-space(.), %q)]`, words))))
}

// checkPage checks the open page in each viewport: that it fits the window, has no faults and is
// accessible.
func (v *tab) checkPage(name string) {
	v.t.Helper()
	for _, l := range append(viewports(), viewport{"light", 1024}, viewport{"light", 1440}) {
		v.emulate(l)
		v.waitSettled()
		where := fmt.Sprintf("%s %s", name, l)
		if wide := evaluate[int](v, `document.documentElement.scrollWidth - document.documentElement.clientWidth`); wide > 0 {
			v.t.Errorf("%s: the page is %d px wider than the window", where, wide)
		}
		v.checkAccessibility(where)
		v.checkFaults(where)
		v.screenshot(name + "-" + l.String())
	}
}

// fillIn types a text into the field with an id.
func (v *tab) fillIn(id, text string) {
	v.t.Helper()
	v.waitFor(`Boolean(document.getElementById(` + quoted(id) + `))`)
	evaluate[bool](v, `(() => { const at = document.getElementById(`+quoted(id)+`); at.closest("details")?.setAttribute("open", ""); at.value = `+quoted(text)+`; return true })()`)
}

// TestAccessInABrowser connects a client with a token that is made on the page Connect, and sees it
// arrive. Then it narrows the token, revokes it after a question, and makes another one of the same
// name. The old secret never works again.
func TestAccessInABrowser(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, nil)
	w := s.serve()
	ada := openBrowser(t).window(w, "admin", "ada")
	old := ada.connectsClient(w)
	call := func(secret string, want int) {
		t.Helper()
		if got := w.post("/tools/list_books", `{}`, bearer(secret)); got.status != want {
			t.Errorf("the call got %d %s, want %d", got.status, got.body, want)
		}
	}
	call(old, http.StatusOK)
	ada.open("/console/access")
	ada.waitForText("Trust of the workspace")
	ada.checkPage("access")
	ada.clickLink("Narrow...")
	ada.waitForText("can do less with it")
	ada.checkPage("narrow")
	evaluate[bool](ada, `(() => { for (const box of document.querySelectorAll("[name=scope]")) box.checked = box.value === "tasks:read"; return true })()`)
	ada.press("Narrow the token")
	ada.waitForText("Trust of the workspace")
	call(old, http.StatusForbidden)
	ada.clickLink("Revoke...")
	ada.waitForText("What stops working")
	ada.waitForText("books/list_books, from")
	ada.checkPage("revoke")
	ada.press("Revoke helper")
	ada.waitForText("Token helper is revoked")
	call(old, http.StatusUnauthorized)
	ada.clickLink("Make again...")
	ada.waitForText("what was revoked stays revoked")
	ada.checkPage("again")
	ada.press("Create token")
	ada.waitForText("will not be shown again")
	fresh := evaluate[string](ada, `document.getElementById("secret").textContent`)
	if fresh == old {
		t.Error("the same token was made again")
	}
	call(old, http.StatusUnauthorized)
	if got := w.post("/tools/list_tasks", `{"user_id":"ada"}`, bearer(fresh)); got.status != http.StatusOK {
		t.Errorf("the new token got %d %s", got.status, got.body)
	}
	ada.checkFaults("tokens")
	ada.endsSessions(w)
	w.end()
	s.verifyAudit()
}

// connectsClient makes a token for a client on the page Connect, sees that the client has called
// hello, and returns the secret.
func (v *tab) connectsClient(w *httpServer) (secret string) {
	v.t.Helper()
	v.open("/console/connect?client=cursor")
	v.waitForText("Waiting for a first request")
	v.checkPage("connect")
	v.fillIn("token-name", "helper")
	evaluate[bool](v, `(() => { document.querySelector("[name=scope][value='tasks:read']").checked = true; return true })()`)
	v.press("Make the token")
	v.waitForText("Waiting for a first request with the token helper")
	secret = strings.TrimPrefix(strings.TrimSpace(evaluate[string](v, `document.getElementById("token-variable").textContent`)), "export REMIT_TOKEN=")
	v.markDocument()
	w.post("/tools/hello", `{}`, bearer("remit_wrong"))
	body := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"cursor-vscode","version":"1"}}}`
	header := bearer(secret)
	header.Set("Accept", "application/json, text/event-stream")
	if got := w.post("/mcp", body, header); got.status != http.StatusOK {
		v.t.Fatalf("initialize: %d %s", got.status, got.body)
	}
	v.waitForText("cursor-vscode/1 connected via http (initialize, 2025-11-25)")
	if got := w.post("/tools/hello", `{"name":"Ada"}`, bearer(secret)); got.status != http.StatusOK {
		v.t.Fatalf("hello: %d %s", got.status, got.body)
	}
	v.waitForText("Called learning-os/hello from")
	v.waitForText("not valid")
	v.waitFor(`/ \d+ s ago|now/.test(document.querySelector("#connect-live").innerText)`)
	v.checkNotReloaded()
	v.checkPage("connected")
	return secret
}

// endsSessions ends one session of a person, and then signs them out everywhere.
func (v *tab) endsSessions(w *httpServer) {
	v.t.Helper()
	bob := openBrowser(v.t).window(w, "viewer", "bob")
	bob.open("/console/tasks")
	v.open("/console/access")
	v.waitForText("bob")
	v.run(chromedp.Click(chromedp.Search(`//main//tr[contains(., "bob")]//a[contains(., "End...")]`)))
	v.waitForText("End a session of bob?")
	v.press("End the session")
	v.waitForText("has ended for good")
	bob.waitForText("Your session has ended")
	v.clickLink("Make again...")
	v.waitForText("Sign-in link")
	v.checkPage("link")
	if got := evaluate[string](v, `document.getElementById("link-name").value + " " + document.getElementById("link-role").value`); got != "bob viewer" {
		v.t.Errorf("the form is filled with %q", got)
	}
	v.press("Create link")
	v.waitForText("Whoever opens this link first")
	v.checkFaults("sessions")
}
