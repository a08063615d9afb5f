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

// stays marks the document, so that stayed can tell whether it was loaded again.
func (v *tab) stays() { evaluate[bool](v, `window.sameDocument = true`) }

func (v *tab) stayed() {
	v.t.Helper()
	if !evaluate[bool](v, `window.sameDocument === true`) {
		v.t.Errorf("%s was loaded again", v.address())
	}
}

// TestToolInABrowser: a person tries a tool through the form that its contract makes,
// and what the page gives to copy works where it is pasted.
func TestToolInABrowser(t *testing.T) {
	t.Parallel()
	s := newSpace(t, nil)
	w := s.serve()
	ada := openBrowser(t).window(w, "approver", "ada")
	ada.open("/console/tools/add_task")
	field := func(name string) chromedp.CSS { return chromedp.CSS("#arg-" + name) }
	ada.run(
		chromedp.SendKeys(field("user_id"), "ada"), chromedp.SendKeys(field("title"), "Water <b>the</b> garden"),
		chromedp.SetValue(field("priority"), "High"), chromedp.SendKeys(field("due_date"), "someday"),
	)
	ada.press("Call add_task")
	ada.sees("due_date")
	if wrong := evaluate[string](ada, `document.querySelector("[aria-invalid]")?.id ?? ""`); wrong != "arg-due_date" {
		t.Errorf("what is wrong is said of %q", wrong)
	}
	ada.run(chromedp.SetValue(field("due_date"), "2030-01-31"))
	ada.press("Call add_task")
	ada.sees(`"title": "Water <b>the</b> garden"`)
	ada.shot("tried")
	if got := w.post("/tools/list_tasks", `{"user_id":"ada"}`, nil); !strings.Contains(string(got.body), `"due_date":"2030-01-31"`) || strings.Contains(string(got.body), `"description":""`) {
		t.Errorf("the list holds %s", got.body)
	}
	ada.clean("a tool")
	ada.copies(s, "curl", `"title":"Buy groceries"`)
	ada.copies(s, "cli", `"title":"Buy groceries"`)
	w.end()
	s.auditHolds()
}

// copies presses a button that copies, which says so once the browser has done it, and
// runs what was copied.
func (v *tab) copies(s *space, kind, want string) {
	v.t.Helper()
	v.run(chromedp.Click(chromedp.CSS(`[data-copy="snippet-` + kind + `"]`)))
	v.sees("Copied")
	pasted := v.clipboard()
	cmd := exec.Command("bash", "-c", pasted)
	cmd.Dir, cmd.Env = s.root, environment(append(s.env, "PATH="+filepath.Dir(remitBin)+":/usr/local/bin:/usr/bin:/bin")...)
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), want) {
		v.t.Errorf("pasted: %s\n%v: %s", pasted, err, out)
	}
}

// clipboard is what was copied last.
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

// TestCallsInABrowser: calls appear while somebody looks; what pages read to show
// themselves is no call, and is there for whoever asks for it.
func TestCallsInABrowser(t *testing.T) {
	t.Parallel()
	s := newSpace(t, nil)
	w := s.serve()
	b := openBrowser(t)
	ada, bob := b.window(w, "viewer", "ada"), b.window(w, "viewer", "bob")
	ada.open("/")
	ada.sees("No calls yet")
	ada.stays()
	bob.open("/console/calls")
	bob.stays()
	w.post("/tools/hello", `{"name":"Ada"}`, nil)
	ada.sees("learning-os/hello")
	bob.sees("learning-os/hello")
	ada.stayed()
	bob.stayed()
	ada.open("/console/tasks?user=ada")
	w.post("/tools/hello", `{}`, nil)
	bob.sees("invalid")
	if strings.Contains(bob.text(), "tasks/list_tasks") {
		t.Error("what a page reads is listed as a call")
	}
	bob.open("/console/calls?face=page")
	bob.sees("tasks/list_tasks")
	bob.open("/console/calls?view=times&tool=learning-os/hello")
	bob.sees("invalid 1")
	if drawn := evaluate[int](bob, `new Promise(done => { const look = () => document.querySelectorAll(".plot canvas").length ? done(document.querySelectorAll(".plot canvas").length) : setTimeout(look, 20); look(); })`); drawn != 2 {
		t.Errorf("%d charts", drawn)
	}
	bob.as(look{"light", 1280})
	bob.settled()
	bob.shot("times")
	ada.clean("tasks")
	bob.clean("calls")
	w.end()
}

// TestDecidedElsewhere: who looks at a request is told when somebody decides it in a
// terminal, and the caller is told why.
func TestDecidedElsewhere(t *testing.T) {
	t.Parallel()
	s := newSpace(t, nil)
	w := s.serve()
	ada := openBrowser(t).window(w, "approver", "ada")
	id := w.request("from elsewhere")
	ada.open("/console/approvals/" + id)
	ada.stays()
	ada.run(chromedp.SendKeys(chromedp.CSS("#reason"), "half a reason"))
	w.request("another one") // which must not disturb what is being typed
	ada.sees("2 waiting")
	if typed := evaluate[string](ada, `document.activeElement.id + ": " + document.activeElement.value`); typed != "reason: half a reason" {
		t.Errorf("what was being typed is %q", typed)
	}
	if got := s.remit("approvals", "deny", id, "--reason", "not <b>this</b> week", "--root", s.root); got.code != 0 {
		t.Fatalf("deny: %+v", got)
	}
	ada.sees("Reason: not <b>this</b> week")
	ada.sees("Nothing was run")
	ada.stayed()
	if buttons := evaluate[int](ada, `document.querySelectorAll("main form button").length`); buttons != 0 {
		t.Errorf("%d buttons are left", buttons)
	}
	ada.shot("told")
	ada.clean("a request")
	again := w.post("/tools/write_memory_entry", entryOf("from elsewhere"), nil)
	if again.status != http.StatusForbidden || !strings.Contains(string(again.body), "not <b>this</b> week") && !strings.Contains(string(again.body), `not \u003cb`) {
		t.Errorf("the caller is told %d %s", again.status, again.body)
	}
	w.end()
}

// TestKeyboardAlone: on a phone's width, without pointing at anything, somebody finds a
// request and approves it, and always sees where they are.
func TestKeyboardAlone(t *testing.T) {
	t.Parallel()
	s := newSpace(t, nil)
	w := s.serve()
	ada := openBrowser(t).window(w, "approver", "ada")
	ada.as(look{"light", 390})
	id := w.request("by keyboard")
	ada.open("/console/tools")
	ada.key(kb.Tab)
	if on := evaluate[string](ada, `document.activeElement.className`); on != "skip" {
		t.Errorf("the first stop is %q", on)
	}
	ada.reach(".menu > summary")
	ada.key(kb.Enter)
	ada.reach(`.menu a[href="/console/tools"]`)
	ada.key(kb.Escape)
	if evaluate[bool](ada, `document.querySelector(".menu").open || !document.activeElement.matches("summary")`) {
		t.Error("Escape does not close the menu")
	}
	ada.key(kb.Enter)
	ada.reach(`.menu a[href="/console/approvals"]`)
	ada.follow("/console/approvals")
	ada.reach(`main a[href="/console/approvals/` + id + `"]`)
	ada.follow("/console/approvals/" + id)
	ada.reach("#reason")
	ada.key("fine")
	ada.reach(`button[value="approve"]`)
	ada.key(kb.Enter)
	ada.sees("The agent may now repeat the same call")
	ada.clean("by keyboard")
	if again := w.post("/tools/write_memory_entry", entryOf("by keyboard"), nil); again.status != http.StatusOK {
		t.Errorf("the call got %d %s", again.status, again.body)
	}
	w.end()
}

// key presses keys, one after the other.
func (v *tab) key(keys string) {
	v.t.Helper()
	v.run(chromedp.KeyEvent(keys))
}

// reach goes on from stop to stop until it is at an element, and checks that each stop
// can be seen.
func (v *tab) reach(selector string) {
	v.t.Helper()
	for range 80 {
		v.key(kb.Tab)
		at := evaluate[string](v, `(() => { const e = document.activeElement, s = getComputedStyle(e); return s.outlineStyle === "none" || s.outlineWidth === "0px" ? "cannot be seen: " + e.outerHTML : "" })()`)
		if at != "" {
			v.t.Errorf("a stop %s", clip(at))
		}
		if evaluate[bool](v, fmt.Sprintf(`document.activeElement.matches(%q)`, selector)) {
			return
		}
	}
	v.t.Fatalf("no key leads to %s at %s\n%s", selector, v.address(), v.shot("failed"))
}

// follow opens the link that has the focus, and waits for its page.
func (v *tab) follow(path string) {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.ctx, patience)
	defer cancel()
	if _, err := chromedp.RunResponse(ctx, chromedp.KeyEvent(kb.Enter)); err != nil {
		v.t.Fatal(err)
	}
	for deadline := time.Now().Add(patience); pathOf(v.address()) != path; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			v.t.Fatalf("at %s, not at %s", v.address(), path)
		}
	}
}
