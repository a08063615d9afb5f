package e2e

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// another opens a page in another tab of the same person, behind the tabs that are open already.
func (v *tab) another(path string) *tab {
	v.t.Helper()
	ctx, cancel := chromedp.NewContext(v.ctx, chromedp.WithNewWindow(false))
	v.t.Cleanup(cancel)
	other := &tab{t: v.t, ctx: ctx, base: v.base, started: map[network.RequestID]string{}, finished: map[network.RequestID]string{}, loads: map[network.RequestID]string{}}
	if err := chromedp.Do(ctx, chromedp.Navigate("about:blank")); err != nil {
		v.t.Fatal(err)
	}
	other.listen()
	onEvent(other, network.RequestWillBeSent, func(e network.EventRequestWillBeSent) {
		if e.Type == network.ResourceTypeEventSource {
			other.fault("the page has a stream of its own")
		}
	})
	other.before(lookAway)
	other.open(path)
	return other
}

// lookAway turns notifications on. A person who looks at a page gets none, and headless browsers
// give the focus to several pages.
const lookAway = `document.hasFocus = () => false; localStorage.setItem("remit-notify", "on")`

// before runs a script in every page of the tab before its own scripts.
func (v *tab) before(script string) {
	v.t.Helper()
	if _, err := chromedp.Call(v.ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: script}); err != nil {
		v.t.Fatal(err)
	}
}

// waitFor waits until an expression in the page is true.
func (v *tab) waitFor(expression string) {
	v.t.Helper()
	for deadline := time.Now().Add(timeout); !evaluate[bool](v, expression); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			v.t.Fatalf("%s: %s does not become true; %s\n%s", v.address(), expression, clip(v.text()), v.screenshot(failed))
		}
	}
}

// worker returns the shared worker of the console, of which there must be exactly one.
func (v *tab) worker() *tab {
	v.t.Helper()
	targets, err := chromedp.Targets(v.ctx)
	if err != nil {
		v.t.Fatal(err)
	}
	var found []*tab
	for _, one := range targets {
		if one.Type == "shared_worker" && strings.HasPrefix(one.URL, v.base+"/console/static/") {
			ctx, cancel := chromedp.NewContext(v.ctx, chromedp.WithTargetID(one.TargetID), chromedp.WithDetachOnCancel())
			v.t.Cleanup(cancel)
			// The worker ends when the context of the first action ends, so use that of the worker.
			if _, err := chromedp.Run(ctx, chromedp.Evaluate[bool](`true`)); err != nil {
				v.t.Fatal(err)
			}
			found = append(found, &tab{t: v.t, ctx: ctx, base: v.base})
		}
	}
	if len(found) != 1 {
		v.t.Fatalf("%d shared workers, want 1", len(found))
	}
	return found[0]
}

// TestPresence checks that eight tabs share one connection, that hidden ones follow it, and that
// nothing is lost while the server is away.
func TestPresence(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, nil)
	w := s.serve()
	ada := openBrowser(t).window(w, "approver", "ada")
	id := w.request("one")
	ada.before(lookAway)
	tabs := []*tab{ada}
	for range 7 {
		tabs = append(tabs, ada.another("/console/approvals"))
	}
	ada.open("/console/approvals/" + id)
	hidden := 0
	for _, one := range tabs {
		one.waitFor(`document.title.startsWith("(1) ")`)
		if evaluate[bool](one, `document.hidden`) {
			hidden++
		}
	}
	if hidden == 0 {
		t.Error("no tab is hidden, so the test does not show that hidden tabs follow")
	}
	worker := ada.worker()
	// Headless browsers show no notifications.
	evaluate[bool](worker, `(() => {
		self.shown = [];
		self.Notification = class { static permission = "granted"; constructor(title, {body, tag}) { shown.push({title, body, tag}); } close() {} };
		return true;
	})()`)
	second := w.request("two words of the caller")
	for _, one := range tabs {
		one.waitFor(`document.title.startsWith("(2) ") && document.querySelector("link[rel=icon]").href.endsWith("/icon-waiting.svg")`)
		one.checkFaults("eight tabs")
	}
	worker.waitFor(`self.shown.length > 0`)
	checkNotification(t, worker, second)
	ada.checkOutage(w, id)
}

// checkNotification checks what the worker showed about a request.
func checkNotification(t *testing.T, worker *tab, id string) {
	t.Helper()
	var shown []struct{ Title, Body, Tag string }
	if err := json.Unmarshal([]byte(evaluate[string](worker, `JSON.stringify(self.shown)`)), &shown); err != nil {
		t.Fatal(err)
	}
	if len(shown) != 1 || shown[0].Tag != id || shown[0].Title != "Waiting for approval: Append a memory entry" || strings.Contains(shown[0].Body, "two words") ||
		!strings.HasSuffix(shown[0].Body, "\ndecisions.jsonl") {
		t.Errorf("shown: %+v", shown)
	}
}

// checkOutage kills the server while a person types a reason, and starts it again.
func (v *tab) checkOutage(w *httpServer, id string) {
	v.t.Helper()
	const reason, words = `document.querySelector("#reason")`, "not without a test"
	// The tab may be hidden, and a hidden tab lays nothing out that unfolds.
	evaluate[bool](v, `(() => {
		document.querySelector("#verdict .deny").open = true;
		const field = `+reason+`;
		field.value = "`+words+`";
		return field.dispatchEvent(new InputEvent("input", {bubbles: true}));
	})()`)
	v.markDocument()
	const place = `JSON.stringify(document.querySelector("#pane-title").getBoundingClientRect())`
	before := evaluate[string](v, place)
	w.kill()
	v.waitForText("No connection to the server since")
	if after := evaluate[string](v, place); after != before {
		v.t.Errorf("the banner moves the page from %s to %s", before, after)
	}
	if open := evaluate[int](v, `document.querySelectorAll("main form[method=post] button:not([aria-disabled=true])").length`); open != 0 {
		v.t.Errorf("%d buttons seem to work without the server", open)
	}
	for _, l := range viewports() {
		v.emulate(l)
		v.run(chromedp.ScrollIntoView(chromedp.CSS("#pane-title")))
		v.screenshot("offline-" + l.String())
		if wide := evaluate[int](v, `document.documentElement.scrollWidth - document.documentElement.clientWidth`); wide > 0 {
			v.t.Errorf("%s: the page is %d px wider than the window", l, wide)
		}
	}
	evaluate[bool](v, `(() => { for (const button of document.querySelectorAll("main form[method=post] button")) button.click(); return true; })()`)
	again := w.workspace.serve("--addr", strings.TrimPrefix(w.url, "http://"))
	again.request("three")
	v.waitFor(`document.title.startsWith("(3) ") && document.querySelector(".offline").hidden && !document.querySelector("#verdict [aria-disabled=true]")`)
	v.checkNotReloaded()
	v.screenshot("back")
	if got := evaluate[string](v, reason+`.value`); got != words {
		v.t.Errorf("the reason is %q", got)
	}
	v.open("/console/approvals/" + id)
	if got := evaluate[string](v, reason+`.value`); got != words {
		v.t.Errorf("after a reload the reason is %q", got)
	}
	evaluate[bool](v, `document.querySelector("#verdict .deny button").click() === undefined`)
	v.waitForText("Denied: Append an entry")
	v.waitFor(`Object.keys(sessionStorage).length === 0`)
	v.checkWithoutWorker(again)
	again.end()
}

// checkWithoutWorker checks that a page keeps up to date in a browser without shared workers.
func (v *tab) checkWithoutWorker(w *httpServer) {
	v.t.Helper()
	v.before(`delete window.SharedWorker`)
	v.open("/console/approvals")
	v.waitFor(`document.title.startsWith("(2) ") && !("SharedWorker" in window)`)
	w.request("four")
	v.waitForText("four")
	v.waitFor(`document.title.startsWith("(3) ")`)
}
