package e2e

import (
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// TestSearchEverything searches from the box in the frame of a page, by keyboard. Each group loads
// by itself, and links to all of its results.
func TestSearchEverything(t *testing.T) {
	t.Parallel()
	s := consoleWorkspace(t)
	w := s.serve()
	w.makeCalls()
	w.request("greet in English " + markup)
	ada := openBrowser(t).window(w, "admin", "ada")
	ada.emulate(viewport{"light", 1280})
	ada.open("/console/tasks?user=ada")
	ada.waitFor(`document.readyState === "complete" && Boolean(window.htmx)`)
	ada.hold("/", 0)
	ada.waitFor(`document.activeElement.matches("[data-everywhere]")`)
	ada.key("greet" + kb.Enter)
	ada.waitForText("Waiting requests")
	ada.waitFor(`!document.querySelector(".found-group .pending")`)
	for _, one := range []string{"src/main.go:3", "Append", "decisions.jsonl"} {
		ada.waitForText(one)
	}
	ada.checkPage("found")
	ada.open("/console/search?q=hello")
	ada.waitForText("learning-os/hello")
	ada.open("/console/search?q=Later")
	ada.waitForText("1 task of ada")
	ada.open("/console/search?q=More.")
	ada.waitForText("two.md:3")
	ada.clickLink("books/course/lessons/part-1/chapter-01/two.md:3")
	ada.waitForText("Two")
	// In a narrow window there is no box in the frame, so the key opens the page that has it.
	ada.emulate(viewport{"light", 1024})
	ada.open("/console/tasks")
	ada.waitFor(`document.readyState === "complete" && Boolean(window.htmx)`)
	ada.hold("/", 0)
	ada.waitForText("Each source answers by itself")
	ada.waitFor(`document.activeElement.matches("main [data-find]")`)
	ada.checkPage("search")
	ada.checkFaults("search")
	w.end()
}
