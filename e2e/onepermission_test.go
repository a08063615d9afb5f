package e2e

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestOnePermissionForMany lets a person answer a hundred requests with one standing permission, in
// three clicks. Then every one of the calls passes.
func TestOnePermissionForMany(t *testing.T) {
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
	for _, click := range []string{".request a.what", "#verdict [data-rule]", `form.decide button[value="allow"]`} {
		ada.waitFor(`Boolean(document.querySelector(` + quoted(click) + `))`)
		ada.run(chromedp.Click(chromedp.CSS(click)))
	}
	ada.waitForText("0 of 100")
	ada.open("/console/approvals")
	ada.waitForText("Nothing is waiting")
	ada.checkFaults("one permission")
	for i := range queued {
		if got := w.post("/tools/write_memory_entry", entryOf(fmt.Sprintf("decision %d", i)), nil); got.status != http.StatusOK {
			t.Fatalf("call %d got %d %s", i, got.status, got.body)
		}
	}
	w.end()
	s.verifyAudit()
}
