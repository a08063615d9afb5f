package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp"
)

// hostile is a lesson that tries to track its readers or to run code in their browsers.
const hostile = "# Hostile\n\n" + markup + "\n\n" +
	"![pixel](http://203.0.113.1/p.png) ![pixel](//203.0.113.1/p.png) ![pixel](HTTPS://203.0.113.1/p.png) <img src=\"http://203.0.113.1/p.png\">\n\n" +
	"[a](javascript:alert(1)) [b](JaVaScRiPt:alert(1)) [c](java&#x0a;script:alert(1)) [d](&#1;javascript:alert(1)) [e](data:text/html,x) [f](vbscript:x) <javascript:alert(1)>\n\n" +
	"<iframe src=\"http://203.0.113.1/\"></iframe>\n\n<style>@import 'http://203.0.113.1/x.css';</style>\n\n<svg><script>document.title='owned'</script></svg>\n\n" +
	"![svg](../assets/images/bad.svg)\n"

const badPicture = `<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9" onload="document.title='owned'"><script>document.title='owned'</script>` +
	`<image href="http://203.0.113.1/p.png" width="9" height="9"/></svg>`

// hostileWorkspace returns a workspace with very long, very large and hostile content.
func hostileWorkspace(t *testing.T) *workspace {
	t.Helper()
	s := newWorkspace(t, map[string]string{
		"line.txt":                       strings.Repeat("word ", 1<<20/5) + "\n",
		"long.md":                        strings.Repeat("Words *and* more.\n\n", 1<<20/20),
		".env":                           "SECRET=hunter2\n",
		"course/lessons/hostile.md":      hostile,
		"course/lessons/long.md":         strings.Repeat("## Part\n\nText *a* and `code`.\n\n```go\nfunc a() {}\n```\n\n", 1<<20/56),
		"course/assets/images/bad.svg":   badPicture,
		".claude/memory/decisions.jsonl": `{"timestamp":"2026-01-09T10:30:00Z","type":"stack","decision":` + quoted(hostile) + "}\n",
	})
	if err := os.Symlink("/etc/passwd", filepath.Join(s.root, "out.txt")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if got := s.remit("books", "import", "course", "--root", s.root); got.code != 0 {
			t.Fatalf("import: %+v", got)
		}
		s.write("course/lessons/hostile.md", hostile+"\nOne line more.\n")
	}
	return s
}

// TestHostileContentInABrowser checks that content of others runs no code, sends no requests to
// other hosts and does not block the browser, and that the history shows changes.
func TestHostileContentInABrowser(t *testing.T) {
	t.Parallel()
	s := hostileWorkspace(t)
	w := s.serve()
	ada := openBrowser(t).window(w, "viewer", "ada")
	for _, path := range []string{
		"/console/books/course/read/lessons/hostile.md", "/console/books/course/read/lessons/long.md", "/console/books/course/read/lessons/long.md?page=2",
		"/console/files/line.txt", "/console/files/long.md", "/console/memory", "/console/search?q=words",
	} {
		ada.open(path) // stops a page that hangs
		ada.waitSettled()
		if title := evaluate[string](ada, `document.title`); title == "owned" || title == "" {
			t.Errorf("%s: the title is %q", path, title)
		}
		ada.checkFaults(path)
	}
	ada.open("/console/books/course/read/lessons/hostile.md")
	if links := evaluate[int](ada, `[...document.querySelectorAll("main article a")].filter(a => !/^https?:$/.test(a.protocol)).length`); links != 0 {
		t.Errorf("%d links run code", links)
	}
	ada.run(chromedp.Click(chromedp.CSS(`main a[href*="/changes/"]`)))
	ada.waitForText("One line more.")
	for _, l := range viewports() {
		ada.emulate(l)
		ada.waitSettled()
		ada.checkAccessibility("a change " + l.String())
		ada.checkFaults("a change " + l.String())
		ada.screenshot("change-" + l.String())
	}
	w.end()
}

// TestSVGScriptsDoNotRun checks that an SVG with scripts is shown but does not run them. Browsers
// also report requests that a policy blocks, so a server counts those that arrive.
func TestSVGScriptsDoNotRun(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer elsewhere.Close()
	s := newWorkspace(t, map[string]string{
		"course/lessons/one.md":        "# One\n",
		"course/assets/images/bad.svg": strings.ReplaceAll(badPicture, "http://203.0.113.1", elsewhere.URL),
	})
	if got := s.remit("books", "import", "course", "--root", s.root); got.code != 0 {
		t.Fatalf("import: %+v", got)
	}
	w := s.serve()
	ada := openBrowser(t).window(w, "viewer", "ada")
	ada.run(chromedp.Navigate(ada.base+"/console/books/course/asset/assets/images/bad.svg"), chromedp.WaitReady(chromedp.CSS("svg")))
	if title := evaluate[string](ada, `document.title`); title == "owned" {
		t.Error("its script ran")
	}
	if n := asked.Load(); n > 0 {
		t.Errorf("it sent %d requests to another server", n)
	}
	w.end()
}

// TestPagesDenyPaths checks that pages deny the same paths as tools, with an audit record.
func TestPagesDenyPaths(t *testing.T) {
	t.Parallel()
	s := hostileWorkspace(t)
	w := s.serve()
	ada := openBrowser(t).window(w, "viewer", "ada")
	paths := map[string]string{
		"..%2f..%2fetc/passwd": "../../etc/passwd", "%2fetc%2fpasswd": "/etc/passwd", ".env": ".env", ".remit/remit.db": ".remit/remit.db",
		".git/config": ".git/config", "out.txt": "out.txt", "a%00b": `a\u0000b`,
	}
	for path := range paths {
		got := evaluate[string](ada, fmt.Sprintf(`fetch("/console/files/" + %q, {headers: {Accept: "text/html"}}).then(async r => r.status + " " + await r.text())`, path))
		if !strings.HasPrefix(got, "403 ") || strings.Contains(got, "root:") || strings.Contains(got, "hunter2") {
			t.Errorf("%s: %s", path, clip(got))
		}
	}
	w.end()
	s.verifyAudit()
	kept, err := filepath.Glob(filepath.Join(s.root, ".remit", "audit", "*.jsonl"))
	if err != nil || len(kept) == 0 {
		t.Fatal(kept, err)
	}
	text, err := os.ReadFile(kept[len(kept)-1])
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range paths {
		if !strings.Contains(string(text), `"path":"`+name+`"},"outcome":"denied"`) {
			t.Errorf("there is no audit record of the denied path %s", name)
		}
	}
}
