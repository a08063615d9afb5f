package e2e

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// markup is HTML in a caller's text. Pages must show it as text.
const markup = `<script>document.title='owned'</script><img src=x onerror="document.title='owned'">`

// consoleWorkspace returns a workspace with content for every page of the console.
func consoleWorkspace(t *testing.T) *workspace {
	t.Helper()
	s := newWorkspace(t, map[string]string{
		"README.md":                               "# Project\n\nWords about it. TODO: more of them.\n",
		"docs/adr/0001-database.md":               "# 1. SQLite\n\n## Decision\n\nWe keep state in SQLite.\n",
		"src/main.go":                             "package main\n\n// main greets. DECISION: greet in English.\nfunc main() { println(\"hello\") }\n",
		".claude/memory/decisions.jsonl":          `{"timestamp":"2026-01-09T10:30:00Z","type":"stack","decision":` + quoted(markup) + "}\n",
		".claude/memory/best_practices.md":        "# Practices\n\n- Write tests. " + markup + "\n",
		"course/lessons/part-1/chapter-01/one.md": "---\ntitle: One\n---\n# One\n\n" + markup + "\n\n[bad](javascript:alert(1)) ![dot](../../../assets/images/dot.png)\n\n```go\nfunc main() {}\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n",
		"course/lessons/part-1/chapter-01/two.md": "# Two\n\nMore.\n",
		"course/chapters/chapter-01/.summary.md":  "What the chapter says.\n",
		"course/assets/images/dot.png":            "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89\x00\x00\x00\rIDATx\x9cc\xf8\xff\xff?\x00\x05\xfe\x02\xfe\xa75\x81\x84\x00\x00\x00\x00IEND\xaeB`\x82",
	})
	if got := s.remit("books", "import", "course", "--root", s.root); got.code != 0 {
		t.Fatalf("import: %+v", got)
	}
	return s
}

// makeCalls makes calls with each outcome.
func (w *httpServer) makeCalls() {
	w.t.Helper()
	today := time.Now().Format(time.DateOnly)
	for _, c := range []string{
		`hello {"name":"Ada"}`, `hello {}`, `read_repo_file {"path":"README.md"}`, `read_repo_file {"path":".env"}`, `read_file {"path":"missing.go"}`,
		`add_task {"user_id":"ada","title":` + quoted(markup) + `,"priority":"High","due_date":"` + today + `"}`,
		`add_task {"user_id":"ada","title":"Later","description":"Not now"}`, `add_task {"user_id":"ada","title":"Long ago","due_date":"2025-01-30"}`,
		`grep_codebase {"pattern":"TODO"}`, `context_search {"query":"which database"}`, `list_books {}`,
	} {
		tool, args, _ := strings.Cut(c, " ")
		w.post("/tools/"+tool, args, nil)
	}
}

// request calls write_memory_entry and returns the id of the pending approval.
func (w *httpServer) request(decision string) string {
	w.t.Helper()
	got := w.post("/tools/write_memory_entry", entryOf(decision), nil)
	id := regexp.MustCompile(`/console/approvals/([0-9a-z]{10})`).FindSubmatch(got.body)
	if id == nil {
		w.t.Fatalf("the call is not pending: %d %s", got.status, got.body)
	}
	return string(id[1])
}

func entryOf(decision string) string {
	return `{"file":"decisions.jsonl","entry":{"timestamp":"2026-01-09T10:30:00Z","type":"stack","decision":` + quoted(decision) + `}}`
}

// TestApprovalsInABrowser checks that a person sees an agent's request without reloading the page
// and decides it, and that the file then contains only what was approved.
func TestApprovalsInABrowser(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, nil)
	w := s.serve()
	b := openBrowser(t)
	ada := b.window(w, "approver", "ada")
	ada.emulate(viewport{"light", 1280})
	ada.open("/console/approvals")
	evaluate[bool](ada, `window.sameDocument = true`)
	open := func(id string) {
		ada.run(chromedp.Click(chromedp.CSS(`a[href="/console/approvals/` + id + `"]`)))
	}
	for _, verdict := range []string{"Approve", "Deny"} {
		id := w.request("we " + verdict)
		ada.waitForText("we " + verdict)
		if !evaluate[bool](ada, `window.sameDocument === true`) {
			t.Error("the page was reloaded")
		}
		open(id)
		ada.waitReady(id)
		ada.screenshot("request-" + verdict)
		if verdict == "Deny" {
			ada.hold("d", 0) // opens the form with the reason
		}
		ada.run(chromedp.Click(chromedp.CSS(`#verdict button[value="` + strings.ToLower(verdict) + `"]`)))
		ada.waitForText(map[string]string{"Approve": "Approved: Append", "Deny": "Denied: Append"}[verdict])
		ada.waitForText("Nothing is waiting")
		again := w.post("/tools/write_memory_entry", entryOf("we "+verdict), nil)
		held := strings.Contains(s.read(".claude/memory/decisions.jsonl"), "we "+verdict)
		if approved := verdict == "Approve"; approved != held || approved != (again.status == http.StatusOK) {
			t.Errorf("%s: the repeated call got %d %s, and the file contains %q", verdict, again.status, again.body, s.read(".claude/memory/decisions.jsonl"))
		}
	}
	ada.checkFaults("approvals")
	w.end()
	s.verifyAudit()
}

// press clicks the button with a text. The next page may still load: wait for it with waitForText,
// because open would cancel it.
func (v *tab) press(words string) {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.ctx, timeout)
	defer cancel()
	if _, err := chromedp.RunResponse(ctx, chromedp.Click(chromedp.Search(fmt.Sprintf(`//main//button[contains(normalize-space(.), %q)]`, words)))); err != nil {
		v.t.Errorf("press %s at %s: %v\n%s", words, v.address(), err, v.screenshot("failed"))
	}
}

// TestConcurrentDecisions lets two people decide at the same time. One wins, and the other sees who
// it was.
func TestConcurrentDecisions(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, nil)
	w := s.serve()
	b := openBrowser(t)
	people := map[string]*tab{"ada": b.window(w, "approver", "ada"), "bob": b.window(w, "approver", "bob")}
	id := w.request("both of us")
	verdicts := map[string]string{"ada": "Approve", "bob": "Deny"}
	for _, person := range people {
		person.open("/console/approvals/" + id)
	}
	// The page of the slower person may show the decision before the click. Then there is no button
	// to click, and the other person has won.
	const click = `(() => {
		const button = [...document.querySelectorAll("main form button")].find(b => b.textContent.includes(%q))
		if (button) button.click()
		return Boolean(button)
	})()`
	var both sync.WaitGroup
	var clicks atomic.Int32
	for name, person := range people {
		both.Go(func() {
			if evaluate[bool](person, fmt.Sprintf(click, verdicts[name])) {
				clicks.Add(1)
			}
		})
	}
	both.Wait()
	if clicks.Load() == 0 {
		t.Fatal("nobody had a button")
	}
	for end := time.Now().Add(timeout); strings.Contains(s.remit("approvals", "list").out, id); {
		if time.Now().After(end) {
			t.Fatal("nobody decided")
		}
	}
	again := w.post("/tools/write_memory_entry", entryOf("both of us"), nil)
	winner, loser, state := "ada", "bob", "approved"
	if again.status != http.StatusOK {
		winner, loser, state = "bob", "ada", "denied"
	}
	people[loser].waitForText("console:" + winner)
	people[loser].waitForText(state)
	people[loser].screenshot("told")
	if held := strings.Contains(s.read(".claude/memory/decisions.jsonl"), "both of us"); held != (winner == "ada") {
		t.Errorf("%s decided, but the file contains %q", winner, s.read(".claude/memory/decisions.jsonl"))
	}
	w.end()
}

// TestRolesInABrowser checks that a viewer has no buttons, and that the server rejects a viewer's
// forms.
func TestRolesInABrowser(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, nil)
	w := s.serve()
	b := openBrowser(t)
	eve := b.window(w, "viewer", "eve")
	id := w.request("not hers")
	eve.open("/console/approvals/" + id)
	eve.waitForText("not hers")
	if buttons := evaluate[int](eve, `document.querySelectorAll("main form[method=post] button").length`); buttons != 0 {
		t.Errorf("a viewer has %d buttons", buttons)
	}
	eve.checkFaults("approval")
	for _, path := range []string{"/console/approvals/" + id + "/decide", "/console/tools/add_task/try", "/console/access/tokens"} {
		status := evaluate[int](eve, fmt.Sprintf(`fetch(%q, {method: "POST", body: new URLSearchParams({verdict: "approve", name: "x"})}).then(r => r.status)`, path))
		if status != http.StatusForbidden {
			t.Errorf("POST %s: %d, want 403", path, status)
		}
	}
	if status := evaluate[int](eve, `fetch("/console/settings").then(r => r.status)`); status != 403 {
		t.Errorf("a viewer reads the configuration: %d", status)
	}
	w.end()
}

// TestEveryPage checks every page of the console that links lead to. It must load without errors
// and without requests to other hosts, be accessible, and fit the window.
func TestEveryPage(t *testing.T) {
	t.Parallel()
	s := consoleWorkspace(t)
	w := s.serve()
	w.makeCalls()
	w.request("<b>bold</b> " + markup)
	b := openBrowser(t)
	admin := b.window(w, "admin", "ada")
	checkPulse(t, admin, w)
	pages := admin.crawl()
	for _, needed := range []string{
		"/", "/console/approvals", "/console/tools", "/console/calls", "/console/tasks", "/console/books", "/console/search", "/console/memory",
		"/console/connect", "/console/settings", "/console/passkeys",
	} {
		if !slices.Contains(pages, needed) {
			t.Errorf("no link leads to %s", needed)
		}
	}
	t.Logf("%d pages: %s", len(pages), strings.Join(pages, " "))
	for _, l := range viewports() {
		admin.emulate(l)
		for _, path := range pages {
			where := fmt.Sprintf("%s %s", path, l)
			admin.open(path)
			admin.waitSettled()
			title := evaluate[string](admin, `document.title`)
			if title == "owned" || title == "" {
				t.Errorf("%s: the title is %q", where, title)
			}
			if wide := evaluate[int](admin, `document.documentElement.scrollWidth - document.documentElement.clientWidth`); wide > 0 {
				t.Errorf("%s: the page is %d px wider than the window", where, wide)
			}
			if outside := evaluate[[]string](admin, outOfSight); len(outside) > 0 {
				t.Errorf("%s: out of sight: %q", where, outside)
			}
			admin.checkFaults(where)
			admin.checkAccessibility(where)
			admin.waitSettled()
			admin.checkFaults(where + " after axe")
			admin.screenshot(pictureOf(path) + "-" + l.String())
		}
	}
	w.end()
}

// outOfSight lists the sections, tables and forms above or left of the page. Nobody can scroll to
// them.
const outOfSight = `[...document.querySelectorAll("main :is(section, .card, table, form)")].filter(e => {
	const box = e.getBoundingClientRect();
	return box.height > 0 && (box.top + scrollY < 0 || box.left + scrollX < 0);
}).map(e => e.outerHTML.slice(0, 100))`

// waitSettled waits until the scripts of the page have run and their requests have finished.
func (v *tab) waitSettled() {
	v.t.Helper()
	for deadline := time.Now().Add(timeout); ; {
		// A browser that has no time to paint may give no animation frame for minutes. Then one
		// second is enough.
		evaluate[bool](v, `new Promise(done => { setTimeout(() => done(true), 1000); requestAnimationFrame(() => setTimeout(() => done(true), 60)); })`)
		open := v.pending()
		if len(open) == 0 {
			return
		}
		if time.Now().After(deadline) {
			v.t.Fatalf("%s: these requests do not finish: %s", v.address(), strings.Join(open, ", "))
		}
	}
}

// maxPagesOfKind limits how many pages of the same kind are checked.
const maxPagesOfKind = 2

// crawl returns the pages of the console: those that links lead to from the overview, and some that
// people reach by typing.
func (v *tab) crawl() []string {
	v.t.Helper()
	queue, found := []string{"/", "/console/search?q=TODO", "/console/tasks?user=ada", "/console/files/src/main.go", "/console/calls?tool=hello&outcome=error"}, []string(nil)
	seen, kinds := map[string]bool{}, map[string]int{}
	for _, path := range queue {
		seen[path] = true
	}
	for len(queue) > 0 {
		path := queue[0]
		queue = queue[1:]
		v.open(path)
		found = append(found, path)
		for _, link := range evaluate[[]string](v, `[...document.querySelectorAll("a[href]")].map(a => a.href)`) {
			to := pathOf(strings.SplitN(link, "#", 2)[0])
			if !strings.HasPrefix(link, v.base+"/") || !strings.HasPrefix(to, "/console/") && to != "/" || strings.HasPrefix(to, "/console/static/") || strings.Contains(to, "/asset/") || seen[to] {
				continue
			}
			seen[to] = true
			if kind := kindOfPage(to); kinds[kind] < maxPagesOfKind {
				kinds[kind]++
				queue = append(queue, to)
			}
		}
	}
	return found
}

// kindOfPage returns the kind of a page: pages about different items of one type have the same
// kind.
func kindOfPage(path string) string {
	path, query, _ := strings.Cut(path, "?")
	parts := strings.Split(strings.Trim(path, "/"), "/")
	kind := strings.Join(parts[:min(len(parts), 2)], "/")
	if len(parts) > 2 {
		kind += "/*"
	}
	if len(parts) > 3 {
		kind += "/" + parts[3]
	}
	if query != "" {
		kind += "?"
	}
	return kind
}

// pictureOf returns the screenshot name of a page.
func pictureOf(path string) string {
	name := strings.Trim(strings.NewReplacer("/console/", "", "?", "-", "&", "-", "=", "-", "/", "-", "%", "").Replace(path), "-")
	if name == "" {
		name = "overview"
	}
	return name[:min(len(name), 80)]
}
