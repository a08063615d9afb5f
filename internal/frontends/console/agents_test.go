package console

import (
	"html"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"remit/internal/engine/approval"
	"remit/internal/engine/identity"
)

// agentStory is what an agent did: it asked, was approved, wrote and repeated; read; and failed.
var agentStory = []string{
	`"principal":"agent:a","session":"S1","tool":"demo/write","arguments":{"text":"new"},"outcome":"pending","request":"k3v9q2xa7m"`,
	`"principal":"cli:grace","tool":"approvals/approve","arguments":{"request":"k3v9q2xa7m"},"outcome":"ok"`,
	`"principal":"agent:a","session":"S1","tool":"demo/write","arguments":{"text":"new"},"outcome":"begun","approved":"k3v9q2xa7m","key":"f00","call":"CALL",` +
		`"effect":{"store":"memory","op":"append","path":"a&b.jsonl","at":0,"lines":1,"size":9,"new":"00"}`,
	`"principal":"agent:a","session":"S1","tool":"demo/write","arguments":{"text":"new"},"outcome":"ok","approved":"k3v9q2xa7m","key":"f00","call":"CALL"`,
	`"principal":"agent:a","session":"S1","tool":"demo/write","arguments":{"text":"new"},"outcome":"replayed","key":"f00"`,
	`"principal":"agent:a","session":"S2","tool":"demo/look","arguments":{"text":"a"},"outcome":"ok"`,
	`"principal":"agent:a","session":"S2","tool":"demo/look","arguments":{"text":"b"},"outcome":"ok"`,
	`"principal":"agent:a","session":"S2","tool":"demo/look","arguments":{"text":"c"},"outcome":"ok"`,
	`"principal":"agent:b","tool":"demo/look","arguments":{"text":"other"},"outcome":"ok"`,
	`"principal":"agent:a","session":"S2","tool":"demo/write","arguments":{"text":{"bytes":11,"sha256":"64ec88ca00b268e5"},"count":2},"outcome":"conflict","code":"STALE","message":"<b>Content</b> changed\u202e"`,
	`"principal":"agent:a","tool":"demo/write","arguments":{"text":"old"},"outcome":"denied"`,
	`"principal":"agent:a","session":"S2","tool":"demo/write","arguments":{"text":"later"},"outcome":"pending","request":"waiting111"`,
	`"principal":"agent:a","session":"S2","tool":"demo/write","arguments":{"text":"r"},"outcome":"ok","approved":"rule","rule":"rule1","call":"C2","effect":{"table":"tasks","id":7,"new":"x"}`,
}

func agentFixture(t *testing.T) *fixture {
	t.Helper()
	c := relatedFixture(t, agentStory...)
	r := c.addRequest(t, "k3v9q2xa7m", "agent:a", `{"text":"new"}`)
	if _, err := c.approvals.Decide(t.Context(), r.ID, approval.Verdict{Approve: true, By: "cli:grace"}, c.now.Add(-time.Second), c.now.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	c.addRequest(t, "waiting111", "agent:a", `{"text":"later"}`)
	c.tokens.list = []identity.Token{{ID: "t1", Name: "a", User: "ada", By: "person:grace", Created: c.now.Add(-48 * time.Hour), Role: identity.NoRole}}
	return c
}

var entryStart = regexp.MustCompile(`<li class="moment"`)

// entries returns the entries of a page, as HTML.
func entriesIn(body string) []string {
	if !entryStart.MatchString(body) {
		return nil
	}
	return entryStart.Split(body, -1)[1:]
}

// TestTimeline checks what the timeline of an agent says.
func TestTimeline(t *testing.T) {
	c := agentFixture(t)
	viewer := c.as(identity.Viewer)
	page := viewer("GET", "/console/agents/agent:a", nil)
	wants(t, page, 200, "<h1 class=\"named a", "<dd>10</dd>", "<dd>2</dd>", "2 times", `<dd class="mono">a</dd>`, "<dd>ada</dd>", "by person:grace",
		"Saturday, 1 August 2026", "data-news=")
	lacks(t, page, "<b>Content", "\u202e", "other", `rel="next"`)
	entries := entriesIn(page.Body.String())
	want := [][]string{ // newest first
		{"by rule", "rule1", `add <a class="mono" href="/console/tasks">task 7</a>`},
		{`href="/console/approvals/waiting111">Review`, "asked", "waiting"},
		{"denied", "The words of the error were not recorded then", "?call="},
		{`<strong>STALE</strong> &lt;b&gt;Content&lt;/b&gt; changed\u202e`, ">conflict<", "?session=S2"},
		{"3 calls that only read", "look ×3"},
		{
			"asked", "k3v9q2xa7m", "approved", "by cli:grace", "called", "repeated", "7 µs",
			`append <a class="mono" href="/console/memory?file=a%26b.jsonl">a&amp;b.jsonl</a>`, "&#43;1 line, 9 B", "?session=S1",
		},
	}
	if len(entries) != len(want) {
		t.Fatalf("%d entries, want %d:\n%s", len(entries), len(want), page.Body)
	}
	for i, texts := range want {
		for _, text := range texts {
			if !strings.Contains(entries[i], text) {
				t.Errorf("entry %d lacks %q:\n%s", i, text, entries[i])
			}
		}
	}
	for name, count := range map[string]int{
		"show=asked": 2, "show=changes": 2, "show=failures": 2, "tool=demo/look": 1, "session=S1": 1, "session=S2": 4, "q=NEW": 1, "q=content": 1,
		"q=64ec88ca": 0, "q=other": 0, "q=text": 0, "session=S2&show=failures": 1, "tool=nothing": 0,
	} {
		got := viewer("GET", "/console/agents/agent:a?"+name, nil)
		if n := len(entriesIn(got.Body.String())); got.Code != 200 || n != count {
			t.Errorf("%s: status %d and %d entries, want %d", name, got.Code, n, count)
		}
	}
	wants(t, viewer("GET", "/console/agents/agent:a?q=nothing", nil), 200, "No matching calls")
	wants(t, viewer("GET", "/console/agents/agent:nobody", nil), 404, "Nobody named")
	wants(t, viewer("GET", "/console/agents/agent:a?show=all", nil), 400, "show must be")
	wants(t, viewer("GET", "/console/agents/agent:a?page=x", nil), 400, "page cursor")
	part := viewer("GET", "/console/agents/agent:a", nil, "HX-Request", "true")
	wants(t, part, 200, `id="agent-facts"`, `id="timeline"`)
	lacks(t, part, "<html", "<h1")
	wants(t, viewer("GET", "/console/agents", nil), 200, `href="/console/agents/agent:a"`, `href="/console/agents/agent:b"`)
	// Everything that names the agent leads there.
	for _, address := range []string{"/console/calls?period=all", "/", "/console/approvals/waiting111", strings.TrimSuffix(callOf(t, page.Body.String()), "#try")} {
		wants(t, viewer("GET", address, nil), 200, `href="/console/agents/agent:a"`)
	}
}

// callOf returns the address of the first record that a page links to.
func callOf(t *testing.T, body string) string {
	t.Helper()
	link := callLink.FindStringSubmatch(body)
	if link == nil {
		t.Fatal("no link to a record")
	}
	return "/console/calls/" + link[1]
}

// TestRetry checks that a recorded call fills in the form, calls nothing, and says what was not
// recorded.
func TestRetry(t *testing.T) {
	c := agentFixture(t)
	approver := c.as(identity.Approver)
	body := approver("GET", "/console/agents/agent:a?q=stale", nil).Body.String()
	link := html.UnescapeString(regexp.MustCompile(`href="(/console/tools/write\?call=[^"]+)#try"`).FindStringSubmatch(body)[1])
	page := approver("GET", link, nil)
	wants(t, page, 200, "Filled in from", `value="2"`, "Not recorded, so left empty:</strong> <code>text</code>")
	lacks(t, page, "64ec88ca", `id="answer"`)
	if n := len(c.recorded()); n != 0 {
		t.Errorf("%d calls were made: %v", n, c.recorded())
	}
	wants(t, approver("GET", strings.Replace(link, "tools/write", "tools/look", 1), nil), 400, "is not of a call to look")
	wants(t, approver("GET", "/console/tools/write?call=nonsense", nil), 404)
	wants(t, c.as(identity.Viewer)("GET", link, nil), 200, "You need the approver role")
}

// TestExport checks that an export has exactly the calls of the filter.
func TestExport(t *testing.T) {
	c := agentFixture(t)
	viewer := c.as(identity.Viewer)
	for _, filter := range []url.Values{{}, {"session": {"S1"}}, {"show": {"failures"}}, {"q": {"stale"}}, {"tool": {"demo/nothing"}}} {
		filter.Set("format", "jsonl")
		got := viewer("GET", "/console/agents/agent:a/export?"+filter.Encode(), nil)
		filter.Set("format", "csv")
		table := viewer("GET", "/console/agents/agent:a/export?"+filter.Encode(), nil)
		lines, rows := strings.Count(got.Body.String(), "\n"), strings.Count(table.Body.String(), "\n")-1
		want := map[string]int{"S1": 3, "failures": 2, "stale": 1, "demo/nothing": 0}[filter.Get("session")+filter.Get("show")+filter.Get("q")+filter.Get("tool")]
		if len(filter) == 1 {
			want = 10
		}
		if lines != want || rows != want {
			t.Errorf("%v: %d lines and %d rows, want %d\n%s", filter, lines, rows, want, got.Body)
		}
		if diff := cmp.Diff(`attachment; filename=agent-a.csv`, table.Header().Get("Content-Disposition")); diff != "" {
			t.Error(diff)
		}
		lacks(t, got, "agent:b", "grace")
	}
	wants(t, viewer("GET", "/console/agents/agent:a/export?format=xml", nil), 400, "format must be csv or jsonl")
}

// TestSearchCalls checks the search for text on the page of calls.
func TestSearchCalls(t *testing.T) {
	c := agentFixture(t)
	viewer := c.as(identity.Viewer)
	page := viewer("GET", "/console/calls?period=all&q=Content", nil)
	wants(t, page, 200, "Calls with “Content”", "conflict", "All calls")
	if n := len(callLink.FindAllString(page.Body.String(), -1)); n != 1 {
		t.Errorf("%d calls, want 1", n)
	}
	lacks(t, page, "hx-get=\"/console/calls/live")
	wants(t, viewer("GET", "/console/calls?period=all&q=64ec", nil), 200, "No matching calls")
	wants(t, viewer("GET", "/console/calls?q="+strings.Repeat("x", 256), nil), 400, "q must have")
}
