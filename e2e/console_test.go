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

// markup is what callers may write where people look: it must show as the text it is.
const markup = `<script>document.title='owned'</script><img src=x onerror="document.title='owned'">`

// consoleSpace is a workspace in which every page of the console has something to show.
func consoleSpace(t *testing.T) *space {
	t.Helper()
	s := newSpace(t, map[string]string{
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

// busy makes some calls of each outcome.
func (w *web) busy() {
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

// request asks to write an entry, and gives the id of the request that waits.
func (w *web) request(decision string) string {
	w.t.Helper()
	got := w.post("/tools/write_memory_entry", entryOf(decision), nil)
	id := regexp.MustCompile(`/console/approvals/([0-9a-z]{10})`).FindSubmatch(got.body)
	if id == nil {
		w.t.Fatalf("it does not wait: %d %s", got.status, got.body)
	}
	return string(id[1])
}

func entryOf(decision string) string {
	return `{"file":"decisions.jsonl","entry":{"timestamp":"2026-01-09T10:30:00Z","type":"stack","decision":` + quoted(decision) + `}}`
}

// TestApprovalsInABrowser: an agent asks, a person sees it without loading the page
// again, and decides; the file holds what was approved and nothing else.
func TestApprovalsInABrowser(t *testing.T) {
	t.Parallel()
	s := newSpace(t, nil)
	w := s.serve()
	b := openBrowser(t)
	ada := b.window(w, "approver", "ada")
	ada.open("/console/approvals")
	evaluate[bool](ada, `window.sameDocument = true`)
	for _, verdict := range []string{"Approve", "Deny"} {
		id := w.request("we " + verdict)
		ada.sees("we " + verdict)
		if !evaluate[bool](ada, `window.sameDocument === true`) {
			t.Error("the page was loaded again")
		}
		ada.run(chromedp.Click(chromedp.CSS(`a[href="/console/approvals/` + id + `"]`)))
		ada.sees("we " + verdict)
		ada.shot("request-" + verdict)
		ada.press(verdict)
		ada.sees("console:ada") // who decided: the page that the form leads to is there
		ada.open("/console/approvals")
		evaluate[bool](ada, `window.sameDocument = true`)
		again := w.post("/tools/write_memory_entry", entryOf("we "+verdict), nil)
		held := strings.Contains(s.read(".claude/memory/decisions.jsonl"), "we "+verdict)
		if approved := verdict == "Approve"; approved != held || approved != (again.status == http.StatusOK) {
			t.Errorf("%s: the repeated call got %d %s, and the file holds %q", verdict, again.status, again.body, s.read(".claude/memory/decisions.jsonl"))
		}
	}
	ada.clean("approvals")
	w.end()
	s.auditHolds()
}

// press clicks the button with these words. What it leads to may still be on its way:
// sees waits for it, and open would end it.
func (v *tab) press(words string) {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.ctx, patience)
	defer cancel()
	if _, err := chromedp.RunResponse(ctx, chromedp.Click(chromedp.Search(fmt.Sprintf(`//main//button[contains(normalize-space(.), %q)]`, words)))); err != nil {
		v.t.Errorf("press %s at %s: %v\n%s", words, v.address(), err, v.shot("failed"))
	}
}

// TestTwoDecideAtOnce: one of two who decide at the same time wins, and the other is
// told who it was.
func TestTwoDecideAtOnce(t *testing.T) {
	t.Parallel()
	s := newSpace(t, nil)
	w := s.serve()
	b := openBrowser(t)
	people := map[string]*tab{"ada": b.window(w, "approver", "ada"), "bob": b.window(w, "approver", "bob")}
	id := w.request("both of us")
	verdicts := map[string]string{"ada": "Approve", "bob": "Deny"}
	for _, person := range people {
		person.open("/console/approvals/" + id)
	}
	// The page of the slower person may show the decision before they click: then they have no
	// button, and have lost.
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
	for end := time.Now().Add(patience); strings.Contains(s.remit("approvals", "list").out, id); {
		if time.Now().After(end) {
			t.Fatal("nobody decided")
		}
	}
	again := w.post("/tools/write_memory_entry", entryOf("both of us"), nil)
	winner, loser, state := "ada", "bob", "approved"
	if again.status != http.StatusOK {
		winner, loser, state = "bob", "ada", "denied"
	}
	people[loser].sees("console:" + winner)
	people[loser].sees(state)
	people[loser].shot("told")
	if held := strings.Contains(s.read(".claude/memory/decisions.jsonl"), "both of us"); held != (winner == "ada") {
		t.Errorf("%s decided, but the file holds %q", winner, s.read(".claude/memory/decisions.jsonl"))
	}
	w.end()
}

// TestRolesInABrowser: who may only look has no buttons, and no way around that.
func TestRolesInABrowser(t *testing.T) {
	t.Parallel()
	s := newSpace(t, nil)
	w := s.serve()
	b := openBrowser(t)
	eve := b.window(w, "viewer", "eve")
	id := w.request("not hers")
	eve.open("/console/approvals/" + id)
	eve.sees("not hers")
	if buttons := evaluate[int](eve, `document.querySelectorAll("main form[method=post] button").length`); buttons != 0 {
		t.Errorf("a viewer has %d buttons", buttons)
	}
	eve.clean("approval")
	for _, path := range []string{"/console/approvals/" + id + "/decide", "/console/tools/add_task/try", "/console/settings/tokens"} {
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

// TestEveryPage: each page of the console, found by following links, loads without an
// error, asks nobody else for anything, can be used by everybody, and fits.
func TestEveryPage(t *testing.T) {
	t.Parallel()
	s := consoleSpace(t)
	w := s.serve()
	w.busy()
	w.request("<b>bold</b> " + markup)
	b := openBrowser(t)
	admin := b.window(w, "admin", "ada")
	pages := admin.crawl()
	for _, needed := range []string{
		"/", "/console/approvals", "/console/tools", "/console/calls", "/console/tasks", "/console/books", "/console/search", "/console/memory",
		"/console/connect", "/console/settings",
	} {
		if !slices.Contains(pages, needed) {
			t.Errorf("no link leads to %s", needed)
		}
	}
	t.Logf("%d pages: %s", len(pages), strings.Join(pages, " "))
	for _, l := range looks() {
		admin.as(l)
		for _, path := range pages {
			where := fmt.Sprintf("%s %s", path, l)
			admin.open(path)
			admin.settled()
			title := evaluate[string](admin, `document.title`)
			if title == "owned" || title == "" {
				t.Errorf("%s: the title is %q", where, title)
			}
			if wide := evaluate[int](admin, `document.documentElement.scrollWidth - document.documentElement.clientWidth`); wide > 0 {
				t.Errorf("%s: the page is %d px wider than the window", where, wide)
			}
			admin.clean(where)
			admin.usable(where)
			admin.settled()
			admin.clean(where + " after axe")
			admin.shot(pictureOf(path) + "-" + l.String())
		}
	}
	w.end()
}

// settled waits until scripts have done what they do at first, and have got what they
// asked for.
func (v *tab) settled() {
	v.t.Helper()
	for deadline := time.Now().Add(patience); ; {
		// A browser without time to paint gives no animation frame for minutes; then a second has
		// to do.
		evaluate[bool](v, `new Promise(done => { setTimeout(() => done(true), 1000); requestAnimationFrame(() => setTimeout(() => done(true), 60)); })`)
		open := v.waits()
		if len(open) == 0 {
			return
		}
		if time.Now().After(deadline) {
			v.t.Fatalf("%s never gets %s", v.address(), strings.Join(open, ", "))
		}
	}
}

// mostOfAKind is how many pages are looked at that differ only in what they are about.
const mostOfAKind = 2

// crawl finds the pages of the console by following links from the overview, and from
// what people get by typing.
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
			if kind := kindOfPage(to); kinds[kind] < mostOfAKind {
				kinds[kind]++
				queue = append(queue, to)
			}
		}
	}
	return found
}

// kindOfPage is what pages have in common that show the same of something else.
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

// pictureOf names the picture of a page.
func pictureOf(path string) string {
	name := strings.Trim(strings.NewReplacer("/console/", "", "?", "-", "&", "-", "=", "-", "/", "-", "%", "").Replace(path), "-")
	if name == "" {
		name = "overview"
	}
	return name[:min(len(name), 80)]
}
