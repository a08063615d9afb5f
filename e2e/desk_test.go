package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// waitReview waits until the review of a request is open and can be approved; of another request
// than id if other is true. It returns the id of that request, or "" if no request is open.
func (v *tab) waitReview(id string, other bool) string {
	v.t.Helper()
	return evaluate[string](v, fmt.Sprintf(`new Promise(done => {
		const look = () => {
			const { request = "", ready } = document.querySelector("#pane")?.dataset ?? {};
			if (ready === "yes" && (request === %q) !== %v) return done(request);
			setTimeout(look, 20);
		};
		look();
	})`, id, other))
}

// waitReady waits until the review of a request is open and can be approved.
func (v *tab) waitReady(id string) { v.waitReview(id, false) }

// hold presses a key as a keyboard does, and holds it down until it has repeated a number of times.
func (v *tab) hold(key string, times int) {
	v.t.Helper()
	press := input.DispatchKeyEventParams{Key: key, Code: "Key" + strings.ToUpper(key), Text: key, WindowsVirtualKeyCode: int64(strings.ToUpper(key)[0])}
	for i := range times + 1 {
		press.Type, press.AutoRepeat = input.DispatchKeyEventTypeKeyDown, new(i > 0)
		if _, err := chromedp.Call(v.ctx, input.DispatchKeyEvent, press); err != nil {
			v.t.Fatal(err)
		}
	}
	press.Type, press.Text, press.AutoRepeat = input.DispatchKeyEventTypeKeyUp, "", nil
	if _, err := chromedp.Call(v.ctx, input.DispatchKeyEvent, press); err != nil {
		v.t.Fatal(err)
	}
}

// TestDeskByKeyboard lets a person decide a hundred requests by keyboard alone. Each is shown
// before it is decided, the next one opens with the focus on its heading, and a key that is held
// down decides once.
func TestDeskByKeyboard(t *testing.T) {
	t.Parallel()
	const queued = 100
	s := newWorkspace(t, nil)
	w := s.serve()
	for i := range queued {
		w.request(fmt.Sprintf("decision %d", i))
	}
	ada := openBrowser(t).window(w, "approver", "ada")
	ada.emulate(viewport{"light", 1280})
	ada.open("/console/approvals")
	ada.markDocument()
	id := ada.waitReview("", true)
	ada.screenshot("desk")
	ada.hold("a", 30)
	id = ada.waitReview(id, true)
	if left := evaluate[int](ada, `document.querySelectorAll(".request").length`); left != queued-1 {
		t.Fatalf("after a was held down, %d of %d requests are left", left, queued)
	}
	// Enter approves nothing, wherever the focus is.
	evaluate[bool](ada, `document.querySelector("#verdict button[value=approve]").focus() === undefined`)
	ada.key(kb.Enter)
	// Several at once: the second is not opened, so it stays.
	ada.hold("x", 0)
	ada.hold("j", 0)
	second := ada.waitReview(id, true)
	evaluate[bool](ada, `document.querySelectorAll(".request.unseen .pick input")[0].click() === undefined`)
	ada.waitForText("2 selected, 1 not opened yet")
	ada.hold("A", 0)
	ada.waitForText("1 request not opened yet")
	ada.hold("u", 0)
	ada.waitForText("Withdrawn: 1 approval")
	for id = second; id != ""; {
		if at := evaluate[string](ada, `document.activeElement.tagName`); at == "BODY" {
			t.Errorf("the focus is lost at %s", id)
		}
		if id == second {
			ada.hold("d", 0)
			ada.key("not today" + kb.Enter)
		} else {
			ada.hold("a", 0)
		}
		id = ada.waitReview(id, true)
	}
	ada.waitForText("Nothing is waiting")
	ada.checkNotReloaded()
	ada.checkFaults("the desk")
	w.end()
	count := map[string]int{}
	for _, r := range s.records() {
		if strings.HasPrefix(r.Tool, "approvals/") {
			count[r.Tool+" "+r.Outcome]++
		}
	}
	if count["approvals/approve ok"] != queued-1 || count["approvals/deny ok"] != 1 || count["approvals/withdraw ok"] != 1 || len(count) != 3 {
		t.Errorf("recorded %v", count)
	}
}
