package console

import (
	"encoding/json"
	"fmt"
	"html"
	"io/fs"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"remit/internal/engine/audit"
	"remit/internal/engine/audit/auditindex"
	"remit/internal/engine/audit/auditindex/auditindextest"
	"remit/internal/engine/identity"
)

// newCallFixture returns a console with audit records: many calls to a tool in the last hour, one
// record yesterday that is not of a tool, and one with markup in every field.
func newCallFixture(t testing.TB, many int) (*fixture, fstest.MapFS) {
	t.Helper()
	c := newToolFixture(t)
	files, last := fstest.MapFS{}, audit.InitialHash
	record := func(at time.Time, caller, frontend, tool, outcome string, took time.Duration) {
		line := audit.Seal(last, fmt.Appendf(nil, `{"time":%q,"principal":%q,"face":%q,"client":"c/1","tool":%q,"version":"1.2.3","arguments":{"text":"<script>alert(2)</script>"},"outcome":%q,"approved":%q,"micros":%d,"bytes":2048}`,
			at.Format("2006-01-02T15:04:05.000000Z"), caller, frontend, tool, outcome, map[bool]string{true: "auto", false: "k3m9p2x7qa"}[caller == "agent:a"], took.Microseconds()))
		last = audit.HashOf(line)
		name := audit.FileOf(at.Format(time.DateOnly))
		if files[name] == nil {
			files[name] = &fstest.MapFile{}
		}
		files[name].Data = append(append(files[name].Data, line...), '\n')
	}
	record(c.now.Add(-30*time.Hour), "agent:b", "stdio", "resources/read", "not_found", time.Millisecond)
	for i := range many {
		record(c.now.Add(-time.Duration(many-i)*time.Second), "agent:a", "http", "demo/look",
			[]string{"ok", "limited", "invalid", "ok"}[i%4], time.Duration(i+1)*time.Millisecond)
	}
	record(c.now.Add(-time.Second), "agent:<script>alert(3)</script>\u202e", "http", "<img src=x onerror=alert(4)>", "ok", 2*time.Minute)
	c.Calls = callsIn(files, c.Now)
	t.Cleanup(c.Calls.Close)
	return c, files
}

// callsIn returns an index of the records in a folder.
func callsIn(files fs.FS, now func() time.Time) *auditindex.Index {
	return &auditindex.Index{Records: audit.Folder{FS: files}, Open: new(auditindextest.Memory).Open, Now: now}
}

func TestCallPages(t *testing.T) {
	c, _ := newCallFixture(t, 120)
	viewer := c.as(identity.Viewer)
	page := viewer("GET", "/console/calls", nil)
	wants(t, page, 200, "<strong>121</strong> calls, last 24 hours; <strong>60</strong> failed", "demo/look", `rel="next"`,
		`hx-get="/console/calls/live`, "&lt;img src=x", `\u202e`)
	lacks(t, page, "<script>alert", "<img", "resources/read", ">agent:<script>")
	if seen := regexp.MustCompile(`(value|href|hx-get)="[^"]*"`).ReplaceAllString(page.Body.String(), ""); strings.Contains(seen, "\u202e") {
		t.Error("a character that changes the text direction is not escaped")
	}
	wants(t, viewer("GET", "/console/calls?period=all&outcome=failed", nil), 200, "<strong>61</strong> calls", "resources/read")
	wants(t, viewer("GET", "/console/calls?period=all&tool=resources/read&caller=agent:b&face=stdio&outcome=not_found", nil), 200,
		"<strong>1</strong> call,", "Clear")
	wants(t, viewer("GET", "/console/calls?tool=%3Cb%3Enothing", nil), 200, "No matching calls", "&lt;b&gt;nothing (0)")
	wants(t, viewer("GET", "/console/calls?live=off", nil), 200, "paused", "Resume")
	lacks(t, viewer("GET", "/console/calls?live=off", nil), "hx-get")
	part := viewer("GET", "/console/calls/live?outcome=limited", nil)
	wants(t, part, 200, "<strong>30</strong> calls")
	lacks(t, part, "<html", "<h1>")
	wants(t, viewer("GET", "/console/calls?page=nonsense", nil), 400)
	wants(t, viewer("GET", "/console/calls?period=1y", nil), 400, "Unknown period")
	wants(t, viewer("GET", "/console/calls/series?period=1y", nil), 400)
}

var callLink = regexp.MustCompile(`href="/console/calls/(2026-[^"#]+)"`)

// TestPagesOfCalls checks that every call is on exactly one page, and that the links back lead to
// the same pages.
func TestPagesOfCalls(t *testing.T) {
	c, _ := newCallFixture(t, 120)
	viewer := c.as(identity.Viewer)
	next := regexp.MustCompile(`rel="(next|prev)" href="([^"]+)"`)
	seen := map[string]bool{}
	var first string
	for address, pages := "/console/calls?period=all", 1; address != ""; pages++ {
		body := viewer("GET", address, nil).Body.String()
		for _, link := range callLink.FindAllStringSubmatch(body, -1) {
			if seen[link[1]] {
				t.Fatalf("%s is listed twice", link[1])
			}
			seen[link[1]] = true
			if first == "" {
				first = link[1]
			}
		}
		links := map[string]string{}
		for _, m := range next.FindAllStringSubmatch(body, -1) {
			links[m[1]] = html.UnescapeString(m[2])
		}
		if (links["prev"] == "") != (pages == 1) {
			t.Errorf("page %d links back to %q", pages, links["prev"])
		}
		if pages == 2 && !strings.Contains(viewer("GET", links["prev"], nil).Body.String(), first) {
			t.Error("the link back does not lead to the newest calls")
		}
		address = links["next"]
	}
	if len(seen) != 122 {
		t.Errorf("%d calls on all pages, want 122", len(seen))
	}
}

func TestToolsAndLatency(t *testing.T) {
	c, _ := newCallFixture(t, 120)
	c.now = c.now.Add(time.Minute)
	viewer := c.as(identity.Viewer)
	page := viewer("GET", "/console/calls?view=times&period=1h", nil)
	wants(t, page, 200, "demo/look", "limited 30", "invalid 30", "60 ms", "114 ms", "119 ms",
		`data-series="/console/calls/series?view=times&amp;period=1h"`, "one row per 1 min")
	lacks(t, page, "<img")
	w := viewer("GET", "/console/calls/series?period=1h&tool=demo/look", nil)
	wants(t, w, 200)
	var p points
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || w.Header().Get("Content-Type") != "application/json" {
		t.Fatal(err)
	}
	calls, failed := 0, 0
	for i := range p.Start {
		calls, failed = calls+p.Calls[i], failed+p.Failed[i]
		if (p.P50[i] == nil) != (p.Calls[i] == 0) {
			t.Errorf("interval %d: %d calls, p50 %v", i, p.Calls[i], p.P50[i])
		}
	}
	if len(p.Start) != 60 || calls != 120 || failed != 60 || p.Target != 1000 || p.Start[1]-p.Start[0] != 60 || p.Start[0]%60 != 0 {
		t.Errorf("%d intervals, %d calls, %d failed: %+v", len(p.Start), calls, failed, p)
	}
	slow, _ := newCallFixture(t, 1)
	slow.Calls = callsIn(fstest.MapFS{"2026-08-01.jsonl": {Data: []byte(
		`{"time":"2026-08-01T11:59:00Z","tool":"demo/look","outcome":"ok","micros":1500000}` + "\n")}}, slow.Now)
	wants(t, slow.as(identity.Viewer)("GET", "/console/calls?view=times", nil), 200,
		`<span class="over">1.5 s<span class="sr"> (over the target)`)
	wants(t, slow.as(identity.Viewer)("GET", "/console/calls", nil), 200, ">slow<")
}

func TestOneCall(t *testing.T) {
	c, files := newCallFixture(t, 3)
	viewer := c.as(identity.Viewer)
	links := callLink.FindAllStringSubmatch(viewer("GET", "/console/calls?period=all", nil).Body.String(), -1)
	if len(links) != 5 {
		t.Fatalf("%d calls", len(links))
	}
	odd := viewer("GET", "/console/calls/"+links[0][1], nil)
	wants(t, odd, 200, ">intact<", "this is the newest record", "&lt;script&gt;alert(2)", "&lt;img src=x", "2m0s", `href="/console/approvals/k3m9p2x7qa"`)
	lacks(t, odd, "<script>alert", "<img", "\u202e")
	wants(t, viewer("GET", "/console/calls/"+links[1][1], nil), 200, `href="/console/tools/look"`, "(target 1.0 s)", "2.0 KiB", "nobody was asked")
	wants(t, viewer("GET", "/console/calls/"+links[4][1], nil), 200, "this is the first record")
	name := "2026-08-01.jsonl"
	files[name].Data = []byte(strings.Replace(string(files[name].Data), "agent:a", "agent:b", 1))
	wants(t, viewer("GET", "/console/calls/"+links[3][1], nil), 200, "The hash chain does not match here", "it was altered")
	for _, id := range []string{"x", "2026-08-01.0.00000000", "2026-08-01.zz.00000000", "..%2f..%2fx", url.PathEscape("<script>")} {
		w := viewer("GET", "/console/calls/"+id, nil)
		wants(t, w, 404)
		lacks(t, w, "<script>")
	}
}

// TestPagesAreNotCalls checks that reads of pages are recorded, but left out of every list and
// figure unless they are selected, and that records without a duration do not count in latencies.
func TestPagesAreNotCalls(t *testing.T) {
	c := newToolFixture(t)
	var day []byte
	for i, call := range []string{`"face":"http","tool":"demo/look","micros":40000`, `"face":"page","tool":"demo/look","micros":900000`, `"face":"page","tool":"demo/read","micros":7`, `"face":"console","tool":"console/approve","micros":0`} {
		day = fmt.Appendf(day, `{"time":"2026-08-01T11:59:%02dZ","principal":"ada","outcome":"ok",%s}`+"\n", i, call)
	}
	c.Calls = callsIn(fstest.MapFS{"2026-08-01.jsonl": {Data: day}}, c.Now)
	viewer := c.as(identity.Viewer)
	for address, want := range map[string][2][]string{
		"/console/calls":                      {{"<strong>2</strong> calls", "console/approve", ">demo/look (1)<"}, {"demo/read", "<td>page"}},
		"/console/calls?view=times":           {{"<td class=\"number\">40 ms</td>", "<span class=\"muted\">–</span>"}, {"900 ms", "demo/read", "0 ns"}},
		"/console/calls/series":               {{",40"}, {",900,", ",900]", "null,0,"}},
		"/console/calls?face=all":             {{"<strong>4</strong> calls", "demo/read", `value="all" selected`, ">page (2)<"}, nil},
		"/console/calls?face=all&view=times":  {{"900 ms", `name="view"`}, nil},
		"/console/calls?face=page":            {{"<strong>2</strong> calls", "demo/read", `value="page" selected`}, {"console/approve</td>"}},
		"/console/calls/live?face=console":    {{"<strong>1</strong> call,"}, {"demo/look"}},
		"/console/overview/pulse":             {{"1 in the last 30 minutes", "demo/look"}, {"demo/read", "console/approve"}},
		"/console/calls?face=nothing&view=ab": {{"No matching calls", "nothing (0)"}, nil},
	} {
		w := viewer("GET", address, nil)
		wants(t, w, 200, want[0]...)
		lacks(t, w, want[1]...)
	}
}

// TestNoCallsYet checks that the empty page says what to do.
func TestNoCallsYet(t *testing.T) {
	c := newToolFixture(t)
	c.Calls = callsIn(fstest.MapFS{}, c.Now)
	viewer := c.as(identity.Viewer)
	wants(t, viewer("GET", "/console/calls?period=all", nil), 200, "No calls yet", "remit call hello name=Ada")
	wants(t, viewer("GET", "/console/calls?period=all&view=times", nil), 200, "No matching calls")
	wants(t, viewer("GET", "/console/calls/series?period=all", nil), 200, `"start":[]`, `"calls":[]`, `"failed":[]`, `"p50":[]`,
		`"p95":[]`, `"p99":[]`)
}
