package e2e

import (
	"fmt"
	"testing"
)

// waitTextIn waits until an element of the page contains a text.
func (v *tab) waitTextIn(element, words string) {
	v.t.Helper()
	evaluate[bool](v, fmt.Sprintf(`new Promise(done => {
		const look = () => [...document.querySelectorAll(%q)].some((e) => e.textContent.includes(%q)) ? done(true) : setTimeout(look, 20);
		look();
	})`, element, words))
}

// checkPulse checks that the overview shows new calls, failures and requests by itself, and that
// nothing on it moves.
func checkPulse(t *testing.T, ada *tab, w *httpServer) {
	t.Helper()
	for _, l := range []viewport{{"light", 1440}, {"dark", 1024}, {"light", 390}} {
		ada.emulate(l)
		ada.open("/?window=6h")
		ada.waitTextIn("#pulse", "in the last 6 hours")
		ada.waitSettled()
		ada.markDocument()
		ada.watchShifts()
		number := func(element string) int {
			return evaluate[int](ada, fmt.Sprintf(`parseInt(document.querySelector(%q).textContent.replace(/\D/g, ""))`, element))
		}
		failures, waiting := number("#fail + a"), number("#wait + a")
		w.post("/tools/read_repo_file", `{"path":".env"}`, nil)
		w.post("/tools/hello", `{"name":"Ada"}`, nil)
		ada.waitTextIn("#fail + a", fmt.Sprintf("All %d", failures+1))
		id := w.request("pulse at " + l.String())
		ada.waitTextIn("#wait + a", fmt.Sprintf("All %d", waiting+1))
		ada.waitSettled()
		ada.checkShifts("the overview " + l.String())
		ada.checkNotReloaded()
		ada.checkFaults("the overview " + l.String())
		ada.checkAccessibility("the overview " + l.String())
		ada.screenshot("pulse-" + l.String())
		if got := w.workspace.person("approvals", "deny", id, "--root", w.workspace.root); got.code != 0 {
			t.Fatalf("deny: %+v", got)
		}
	}
	// A failure leads to its calls.
	to := evaluate[string](ada, `document.querySelector("#pulse .entries a[href*='outcome=denied']").getAttribute("href")`)
	ada.open(to)
	ada.waitForText("learning-os/read_repo_file")
}
