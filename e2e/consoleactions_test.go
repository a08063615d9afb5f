package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	browsers "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// markDocument marks the document, so that checkNotReloaded can see whether it was reloaded.
func (v *tab) markDocument() { evaluate[bool](v, `window.sameDocument = true`) }

func (v *tab) checkNotReloaded() {
	v.t.Helper()
	if !evaluate[bool](v, `window.sameDocument === true`) {
		v.t.Errorf("%s was reloaded", v.address())
	}
}

// TestToolInABrowser checks that a person can call a tool through the form made from its contract,
// and that the commands which the page offers to copy work.
func TestToolInABrowser(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, nil)
	w := s.serve()
	ada := openBrowser(t).window(w, "approver", "ada")
	ada.open("/console/tools/add_task")
	field := func(name string) chromedp.CSS { return chromedp.CSS("#arg-" + name) }
	ada.run(
		chromedp.SendKeys(field("user_id"), "ada"), chromedp.SendKeys(field("title"), "Water <b>the</b> garden"),
		chromedp.SetValue(field("priority"), "High"), chromedp.SendKeys(field("due_date"), "someday"),
	)
	ada.press("Call add_task")
	ada.waitForText("due_date")
	if wrong := evaluate[string](ada, `document.querySelector("[aria-invalid]")?.id ?? ""`); wrong != "arg-due_date" {
		t.Errorf("the error belongs to the field %q", wrong)
	}
	ada.run(chromedp.SetValue(field("due_date"), "2030-01-31"))
	ada.press("Call add_task")
	ada.waitForText(`"title": "Water <b>the</b> garden"`)
	ada.screenshot("tried")
	if got := w.post("/tools/list_tasks", `{"user_id":"ada"}`, nil); !strings.Contains(string(got.body), `"due_date":"2030-01-31"`) || strings.Contains(string(got.body), `"description":""`) {
		t.Errorf("the list contains %s", got.body)
	}
	ada.checkFaults("a tool")
	ada.copyAndRun(s, "curl", `"title":"Buy groceries"`)
	ada.copyAndRun(s, "cli", `"title":"Buy groceries"`)
	w.end()
	s.verifyAudit()
}

// copyAndRun presses a copy button, waits until the page confirms it, and runs the copied command.
func (v *tab) copyAndRun(s *workspace, kind, want string) {
	v.t.Helper()
	v.run(chromedp.Click(chromedp.CSS(`[data-copy="snippet-` + kind + `"]`)))
	v.waitForText("Copied")
	pasted := v.clipboard()
	cmd := exec.Command("bash", "-c", pasted)
	cmd.Dir, cmd.Env = s.root, environment(append(s.env, "PATH="+filepath.Dir(remitBin)+":/usr/local/bin:/usr/bin:/bin")...)
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), want) {
		v.t.Errorf("pasted: %s\n%v: %s", pasted, err, out)
	}
}

// clipboard returns the text that was copied last.
func (v *tab) clipboard() string {
	v.t.Helper()
	_, err := chromedp.Call(v.ctx, browsers.SetPermission, browsers.SetPermissionParams{
		Permission: &browsers.PermissionDescriptor{Name: "clipboard-read"}, Setting: browsers.PermissionSettingGranted,
		Origin: v.base, BrowserContextID: chromedp.FromContext(v.ctx).BrowserContextID,
	})
	if err != nil {
		v.t.Fatal(err)
	}
	return evaluate[string](v, `navigator.clipboard.readText()`)
}

// TestCallsInABrowser checks that new calls appear on open pages. Reads that pages do for
// themselves are listed only on request.
func TestCallsInABrowser(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, nil)
	w := s.serve()
	b := openBrowser(t)
	ada, bob := b.window(w, "viewer", "ada"), b.window(w, "viewer", "bob")
	ada.open("/")
	ada.waitForText("No calls yet")
	ada.markDocument()
	bob.open("/console/calls")
	bob.markDocument()
	w.post("/tools/hello", `{"name":"Ada"}`, nil)
	ada.waitForText("learning-os/hello")
	bob.waitForText("learning-os/hello")
	ada.checkNotReloaded()
	bob.checkNotReloaded()
	ada.open("/console/tasks?user=ada")
	w.post("/tools/hello", `{}`, nil)
	bob.waitForText("invalid")
	if strings.Contains(bob.text(), "tasks/list_tasks") {
		t.Error("a page's own read is listed as a call")
	}
	bob.open("/console/calls?face=page")
	bob.waitForText("tasks/list_tasks")
	bob.open("/console/calls?view=times&tool=learning-os/hello")
	bob.waitForText("invalid 1")
	if drawn := evaluate[int](bob, `new Promise(done => { const look = () => document.querySelectorAll(".plot canvas").length ? done(document.querySelectorAll(".plot canvas").length) : setTimeout(look, 20); look(); })`); drawn != 2 {
		t.Errorf("%d charts, want 2", drawn)
	}
	bob.emulate(viewport{"light", 1280})
	bob.waitSettled()
	bob.screenshot("times")
	ada.checkFaults("tasks")
	bob.checkFaults("calls")
	w.end()
}

// TestDecisionInTerminal checks that an open page shows a decision made in a terminal, and that the
// caller gets the reason.
func TestDecisionInTerminal(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, nil)
	w := s.serve()
	ada := openBrowser(t).window(w, "approver", "ada")
	id := w.request("from elsewhere")
	ada.open("/console/approvals/" + id)
	ada.markDocument()
	ada.hold("d", 0)
	ada.run(chromedp.SendKeys(chromedp.CSS("#reason"), "half a reason"))
	w.request("another one") // must not change the text that the person types
	ada.waitForText("2 waiting")
	if typed := evaluate[string](ada, `document.activeElement.id + ": " + document.activeElement.value`); typed != "reason: half a reason" {
		t.Errorf("the text field contains %q", typed)
	}
	if got := s.person("approvals", "deny", id, "--reason", "not <b>this</b> week", "--root", s.root); got.code != 0 {
		t.Fatalf("deny: %+v", got)
	}
	ada.waitForText("Reason: not <b>this</b> week")
	ada.waitForText("Nothing was run")
	ada.checkNotReloaded()
	if buttons := evaluate[int](ada, `document.querySelectorAll("#verdict form button").length`); buttons != 0 {
		t.Errorf("%d buttons, want none", buttons)
	}
	ada.screenshot("told")
	ada.checkFaults("a request")
	again := w.post("/tools/write_memory_entry", entryOf("from elsewhere"), nil)
	if again.status != http.StatusForbidden || !strings.Contains(string(again.body), "not <b>this</b> week") && !strings.Contains(string(again.body), `not \u003cb`) {
		t.Errorf("the caller got %d %s", again.status, again.body)
	}
	w.end()
}

// TestEnterNeverApproves checks that Enter in the reason denies, because the reason belongs to
// that, and that Enter on the button that approves does nothing.
func TestEnterNeverApproves(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, nil)
	w := s.serve()
	ada := openBrowser(t).window(w, "approver", "ada")
	id := w.request("by accident")
	ada.open("/console/approvals/" + id)
	ada.waitReady(id)
	evaluate[bool](ada, `document.querySelector("#verdict button[value=approve]").focus() === undefined`)
	ada.key(kb.Enter)
	ada.hold("d", 0)
	ada.run(chromedp.SendKeys(chromedp.CSS("#reason"), "not yet"))
	ada.key(kb.Enter)
	ada.waitForText("Denied: Append an entry of type")
	ada.checkFaults("a request")
	w.end()
	var decisions []string
	for _, r := range s.records() {
		if strings.HasPrefix(r.Tool, "approvals/") {
			decisions = append(decisions, r.Tool)
		}
	}
	if got := strings.Join(decisions, " "); got != "approvals/deny" {
		t.Errorf("recorded %s", got)
	}
}

// TestKeyboardOnly checks that a person with a narrow window and only a keyboard can find and
// approve a request, and always sees which element has the focus.
func TestKeyboardOnly(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, nil)
	w := s.serve()
	ada := openBrowser(t).window(w, "approver", "ada")
	ada.emulate(viewport{"light", 390})
	id := w.request("by keyboard")
	ada.open("/console/tools")
	ada.key(kb.Tab)
	if on := evaluate[string](ada, `document.activeElement.className`); on != "skip" {
		t.Errorf("the first element with focus is %q", on)
	}
	ada.tabTo(".menu > summary")
	ada.key(kb.Enter)
	ada.tabTo(`.menu a[href="/console/tools"]`)
	ada.key(kb.Escape)
	if evaluate[bool](ada, `document.querySelector(".menu").open || !document.activeElement.matches("summary")`) {
		t.Error("Escape does not close the menu")
	}
	ada.key(kb.Enter)
	ada.tabTo(`.menu a[href="/console/approvals"]`)
	ada.followLink("/console/approvals")
	ada.tabTo(`main a[href="/console/approvals/` + id + `"]`)
	ada.followLink("/console/approvals/" + id)
	ada.tabTo(`button[value="approve"]`)
	ada.waitReady(id)
	ada.key(" ")
	ada.waitForText("The agent may now repeat the same call")
	ada.checkFaults("by keyboard")
	if again := w.post("/tools/write_memory_entry", entryOf("by keyboard"), nil); again.status != http.StatusOK {
		t.Errorf("the call got %d %s", again.status, again.body)
	}
	w.end()
}

// key presses keys one after another.
func (v *tab) key(keys string) {
	v.t.Helper()
	v.run(chromedp.KeyEvent(keys))
}

// tabTo presses Tab until an element has the focus, and checks that each element on the way shows
// its focus.
func (v *tab) tabTo(selector string) {
	v.t.Helper()
	for range 80 {
		v.key(kb.Tab)
		at := evaluate[string](v, `(() => { const e = document.activeElement, s = getComputedStyle(e); return s.outlineStyle === "none" || s.outlineWidth === "0px" ? "cannot be seen: " + e.outerHTML : "" })()`)
		if at != "" {
			v.t.Errorf("the element with focus %s", clip(at))
		}
		if evaluate[bool](v, fmt.Sprintf(`document.activeElement.matches(%q)`, selector)) {
			return
		}
	}
	v.t.Fatalf("Tab does not reach %s at %s\n%s", selector, v.address(), v.screenshot("failed"))
}

// followLink opens the link that has the focus, and waits for its page.
func (v *tab) followLink(path string) {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.ctx, timeout)
	defer cancel()
	if _, err := chromedp.RunResponse(ctx, chromedp.KeyEvent(kb.Enter)); err != nil {
		v.t.Fatal(err)
	}
	for deadline := time.Now().Add(timeout); pathOf(v.address()) != path; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			v.t.Fatalf("at %s, want %s", v.address(), path)
		}
	}
}
