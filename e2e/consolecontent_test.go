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
	"time"

	"github.com/chromedp/chromedp"
)

// hostile is a lesson of somebody who wants to know who reads it, or to run something
// in their browser.
const hostile = "# Hostile\n\n" + markup + "\n\n" +
	"![pixel](http://203.0.113.1/p.png) ![pixel](//203.0.113.1/p.png) ![pixel](HTTPS://203.0.113.1/p.png) <img src=\"http://203.0.113.1/p.png\">\n\n" +
	"[a](javascript:alert(1)) [b](JaVaScRiPt:alert(1)) [c](java&#x0a;script:alert(1)) [d](&#1;javascript:alert(1)) [e](data:text/html,x) [f](vbscript:x) <javascript:alert(1)>\n\n" +
	"<iframe src=\"http://203.0.113.1/\"></iframe>\n\n<style>@import 'http://203.0.113.1/x.css';</style>\n\n<svg><script>document.title='owned'</script></svg>\n\n" +
	"![svg](../assets/images/bad.svg)\n"

const badPicture = `<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9" onload="document.title='owned'"><script>document.title='owned'</script>` +
	`<image href="http://203.0.113.1/p.png" width="9" height="9"/></svg>`

// contentSpace is a workspace with what is too long, too much or ill-meant.
func contentSpace(t *testing.T) *space {
	t.Helper()
	s := newSpace(t, map[string]string{
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

// TestContentsInABrowser: nothing that others wrote runs, asks other servers for
// anything, or keeps the browser busy; and the history shows what changed.
func TestContentsInABrowser(t *testing.T) {
	t.Parallel()
	s := contentSpace(t)
	w := s.serve()
	ada := openBrowser(t).window(w, "viewer", "ada")
	for _, path := range []string{
		"/console/books/course/read/lessons/hostile.md", "/console/books/course/read/lessons/long.md", "/console/books/course/read/lessons/long.md?page=2",
		"/console/files/line.txt", "/console/files/long.md", "/console/memory", "/console/search?q=words",
	} {
		ada.open(path) // which ends what hangs
		ada.settled()
		if title := evaluate[string](ada, `document.title`); title == "owned" || title == "" {
			t.Errorf("%s: the title is %q", path, title)
		}
		ada.clean(path)
	}
	ada.open("/console/books/course/read/lessons/hostile.md")
	if links := evaluate[int](ada, `[...document.querySelectorAll("main article a")].filter(a => !/^https?:$/.test(a.protocol)).length`); links != 0 {
		t.Errorf("%d links run something", links)
	}
	ada.run(chromedp.Click(chromedp.CSS(`main a[href*="/changes/"]`)))
	ada.sees("One line more.")
	for _, l := range looks() {
		ada.as(l)
		ada.settled()
		ada.usable("a change " + l.String())
		ada.clean("a change " + l.String())
		ada.shot("change-" + l.String())
	}
	w.end()
}

// TestPictureThatIsAProgram: an SVG with scripts shows, and does nothing else. Browsers
// tell of requests that a policy stops, so a server tells which ones came.
func TestPictureThatIsAProgram(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer elsewhere.Close()
	s := newSpace(t, map[string]string{
		"course/lessons/one.md":        "# One\n",
		"course/assets/images/bad.svg": strings.ReplaceAll(badPicture, "http://203.0.113.1", elsewhere.URL),
	})
	if got := s.remit("books", "import", "course", "--root", s.root); got.code != 0 {
		t.Fatalf("import: %+v", got)
	}
	w := s.serve()
	ada := openBrowser(t).window(w, "viewer", "ada")
	evaluate[bool](ada, `location.assign("/console/books/course/asset/assets/images/bad.svg"), true`)
	for deadline := time.Now().Add(patience); evaluate[string](ada, `document.documentElement.tagName + document.readyState`) != "svgcomplete"; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the picture never shows")
		}
	}
	if title := evaluate[string](ada, `document.title`); title == "owned" {
		t.Error("its script ran")
	}
	if n := asked.Load(); n > 0 {
		t.Errorf("it asked another server %d times", n)
	}
	w.end()
}

// TestPathsOfPages: what tools refuse, pages refuse too, and the audit tells of it.
func TestPathsOfPages(t *testing.T) {
	t.Parallel()
	s := contentSpace(t)
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
	s.auditHolds()
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
			t.Errorf("the audit does not tell that %s was refused", name)
		}
	}
}
