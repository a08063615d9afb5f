package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestTimelineInABrowser checks the timeline of an agent: what it says about a call that was asked,
// approved and made, that new calls come in without moving what somebody looks at, and that "Try
// again" only fills in a form.
func TestTimelineInABrowser(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, map[string]string{"docs/setup.md": "# Setup\n"})
	w := s.serve()
	agent := bearer(s.token("--name", "lesson-writer", "--scopes", "*:read,*:write", "--user", "ada"))
	call := func(tool, args string, want int) {
		t.Helper()
		if got := w.post("/tools/"+tool, args, agent); got.status != want {
			t.Fatalf("%s %s: %d %s, want %d", tool, args, got.status, got.body, want)
		}
	}
	entry := entryOf("Use SQLite. " + markup)
	call("write_memory_entry", entry, http.StatusForbidden)
	ada := openBrowser(t).window(w, "approver", "ada")
	ada.emulate(viewport{"light", 1280})
	ada.open("/console/approvals")
	ada.waitReview("", true)
	ada.approveOpen()
	ada.waitForText("Nothing is waiting")
	call("write_memory_entry", entry, http.StatusOK)
	for range 4 {
		call("hello", `{"name":"Ada"}`, http.StatusOK)
	}
	call("read_repo_file", `{"path":"docs/missing.md"}`, http.StatusNotFound)
	call("add_task", `{"user_id":"ada","title":"Read the setup"}`, http.StatusOK)

	ada.open("/console/calls")
	ada.follow(`table.calls a[href="/console/agents/agent:lesson-writer"]`)
	for _, words := range []string{
		"lesson-writer", "Append an entry of type stack to decisions.jsonl", "by console:ada", "append decisions.jsonl", "4 calls that only read",
		"File not found: docs/missing.md", "add task 1",
	} {
		ada.waitForText(words)
	}
	for _, l := range viewports() {
		ada.emulate(l)
		ada.waitSettled()
		ada.checkAccessibility("timeline " + l.String())
		if wide := evaluate[int](ada, `document.documentElement.scrollWidth - document.documentElement.clientWidth`); wide > 0 {
			t.Errorf("%s: the page is %d px wider than the window", l, wide)
		}
		ada.screenshot("timeline-" + l.String())
	}
	ada.checkLiveTimeline(func(i int) { call("add_task", fmt.Sprintf(`{"user_id":"ada","title":"Task %d"}`, i), http.StatusOK) })
	ada.checkRetry()
	for _, format := range []string{"csv", "jsonl"} {
		lines := evaluate[int](ada, `fetch("/console/agents/agent:lesson-writer/export?show=failures&format=`+format+`").then(r => r.text()).then(t => t.trim().split("\n").length)`)
		if want := map[string]int{"csv": 2, "jsonl": 1}[format]; lines != want {
			t.Errorf("the export as %s has %d lines, want %d", format, lines, want)
		}
	}
	ada.checkFaults("timeline")
	w.end()
	s.verifyAudit()
}

// checkLiveTimeline checks that new calls are announced, and that nothing moves while somebody
// looks at the list.
func (v *tab) checkLiveTimeline(call func(i int)) {
	v.t.Helper()
	v.emulate(viewport{"light", 1280})
	v.open("/console/agents/agent:lesson-writer")
	v.markDocument()
	evaluate[bool](v, `document.querySelector("#timeline").focus() === undefined`)
	v.watchShifts()
	before := evaluate[float64](v, `document.querySelector(".moment").getBoundingClientRect().top`)
	for i := range 3 {
		call(i)
	}
	v.waitForText("Show 3 new entries")
	after := evaluate[float64](v, `document.querySelector(".moment").getBoundingClientRect().top`)
	if before != after {
		v.t.Errorf("the first entry moved from %v to %v", before, after)
	}
	v.checkShifts("timeline")
	v.run(chromedp.Click(chromedp.CSS("[data-take]")))
	v.waitForText("add task 4")
	v.checkNotReloaded()
}

// follow opens the first link that a selector finds, with the keyboard.
func (v *tab) follow(selector string) {
	v.t.Helper()
	evaluate[bool](v, `document.querySelector(`+quoted(selector)+`).focus() === undefined`)
	v.followLink(pathOf(strings.SplitN(evaluate[string](v, `document.activeElement.href`), "#", 2)[0]))
}

// checkRetry follows "Try again" of the call that failed.
func (v *tab) checkRetry() {
	v.t.Helper()
	v.open("/console/agents/agent:lesson-writer?show=failures&q=MISSING")
	v.follow(`.moment a[href*="?call="]`)
	v.waitForText("Nothing was called yet")
	if path := evaluate[string](v, `document.querySelector("#arg-path").value`); path != "docs/missing.md" {
		v.t.Errorf("the form has the path %q", path)
	}
	if evaluate[bool](v, `document.querySelector("#answer") !== null`) {
		v.t.Error("the call was made")
	}
	v.screenshot("retry")
}
