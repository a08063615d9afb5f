package console

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"remit/internal/engine/approval"
	"remit/internal/engine/identity"
)

func TestInboxGroupsAndFilters(t *testing.T) {
	c := newFixture(t)
	c.addRequest(t, "r1", "agent:lesson-writer", `{"book_id":"python","path":"part-1/loops.md"}`)
	c.addRequest(t, "r2", "agent:bot", `{"file":"decisions.jsonl","entry":{"decision":"use SQLite"}}`)
	c.addRequest(t, "r3", "agent:lesson-writer", `{"book_id":"python","path":"part-1/dicts.md"}`)
	get := c.as(identity.Approver)
	order := func(address string) string {
		t.Helper()
		body := get("GET", address, nil).Body.String()
		var ids []string
		for _, part := range strings.Split(body, `data-id="`)[1:] {
			ids = append(ids, part[:2])
		}
		return strings.Join(ids, " ")
	}
	for address, want := range map[string]string{
		"/console/approvals":                                         "r3 r1 r2",
		"/console/approvals?by=none":                                 "r3 r2 r1",
		"/console/approvals?by=file":                                 "r3 r2 r1",
		"/console/approvals?only=agent%3Abot":                        "r2",
		"/console/approvals?by=file&only=python%2Fpart-1%2Floops.md": "r1",
		"/console/approvals?q=sqlite+DECISIONS":                      "r2",
		"/console/approvals?q=sqlite+python":                         "",
	} {
		if got := order(address); got != want {
			t.Errorf("%s lists %q, want %q", address, got, want)
		}
	}
	wants(t, get("GET", "/console/approvals", nil), 200, "python/part-1/loops.md", ">LW</span>", `href="/console/approvals?only=agent%3Abot"`)
	wants(t, get("GET", "/console/approvals?q=nothing", nil), 200, "No request matches", "Show all requests")
	wants(t, get("GET", "/console/approvals?by=colour", nil), 400, "by must be agent, tool, file or none")
	wants(t, get("GET", "/console/approvals?q="+strings.Repeat("a", 256), nil), 400, "q must have at most 255 bytes")
	// The review keeps the list and leads to the neighbours in it.
	wants(t, get("GET", "/console/approvals/r1?q=python", nil), 200, "2 of 2", `href="/console/approvals/r3?q=python" data-step="-1"`,
		`action="/console/approvals/r1/decide?q=python"`)
}

// TestDecisionOpensTheNextRequest checks the answers to a form and to the script.
func TestDecisionOpensTheNextRequest(t *testing.T) {
	c := newFixture(t)
	for i := range 4 {
		c.addRequest(t, fmt.Sprintf("r%d", i), "agent:x", fmt.Sprintf(`{"n":%d}`, i))
	}
	send := c.as(identity.Approver)
	approve := func(id string, headers ...string) *httptest.ResponseRecorder {
		r, _ := c.approvals.Get(t.Context(), id)
		return send("POST", "/console/approvals/"+id+"/decide?by=tool", url.Values{"verdict": {"approve"}, "shown": {r.PageMark("")}}, headers...)
	}
	if w := approve("r2"); w.Code != 303 || w.Header().Get("Location") != "/console/approvals/r1?after=r2&by=tool" {
		t.Errorf("leads to %q", w.Header().Get("Location"))
	}
	wants(t, send("GET", "/console/approvals/r1?after=r2&by=tool", nil), 200, "<strong>Approved:</strong> Write something",
		"may now repeat the same call", `action="/console/approvals/r2/withdraw?by=tool"`)
	w := approve("r0", partHeader, "pane")
	wants(t, w, 200, `id="pane" class="review"`, `data-request="r1"`, `hx-swap-oob="innerMorph"`, `id="toasts"`, `data-id="r3"`)
	lacks(t, w, "<html")
	lacks(t, w, `data-id="r0"`)
	approve("r3")
	wants(t, approve("r1", partHeader, "pane"), 200, `class="review nothing"`, "Nothing is waiting")
	wants(t, send("POST", "/console/approvals/r1/withdraw", url.Values{}, partHeader, "pane"), 200, "<strong>Withdrawn:</strong>")
	wants(t, send("GET", "/console/approvals/r1/toast", nil), 200, "No call can use the approval")
}

// TestOutOfDate checks what a person sees whose request would do something else by now: the old
// difference stays, Approve is off, and what they typed is kept.
func TestOutOfDate(t *testing.T) {
	c := newFixture(t)
	c.shown = approval.Shown{State: "v1", Title: "Replace a.md", Before: "old\n", After: "new\n"}
	r := c.addRequest(t, "k3v9q2xa7m", "agent:x", `{}`)
	send := c.as(identity.Approver)
	c.shown = approval.Shown{State: "v2", Title: "Replace a.md", Before: "other\n", After: "new\n"}
	form := url.Values{"verdict": {"approve"}, "shown": {r.PageMark("v1")}, "reason": {"as agreed"}}
	w := send("POST", "/console/approvals/k3v9q2xa7m/decide", form, partHeader, "pane")
	wants(t, w, 409, `hx-swap-oob="outerHTML"`, "Show the new difference", `aria-disabled="true"`, `value="as agreed"`, "is no longer what would happen")
	lacks(t, w, `value="approve"`)
	lacks(t, w, "other")
	// Without a script, the page shows the new difference at once.
	wants(t, send("POST", "/console/approvals/k3v9q2xa7m/decide", form), 409, "has changed since you looked at it", r.PageMark("v2"),
		`value="as agreed"`, "other")
	if got := c.approvals.all[0].State; got != approval.Pending {
		t.Errorf("the request is %s", got)
	}
}

// TestSeveralAtOnce checks that only what was shown to the person is approved with others.
func TestSeveralAtOnce(t *testing.T) {
	c := newFixture(t)
	for i := range 5 {
		c.addRequest(t, fmt.Sprintf("r%d", i), "agent:x", fmt.Sprintf(`{"n":%d}`, i))
	}
	send, viewer := c.as(identity.Approver), c.as(identity.Viewer)
	states := func() string {
		var all []string
		for _, r := range c.approvals.all {
			all = append(all, string(r.State))
		}
		return strings.Join(all, " ")
	}
	form := url.Values{"verdict": {"approve-selected"}, "id": {"r0", "r1", "r2", "r3", "r0", "nothing"}}
	wants(t, viewer("POST", "/console/approvals/decide", form), 403)
	for _, id := range []string{"r0", "r1", "r2", "r3", "r4"} {
		// What a viewer sees is not shown to an approver.
		viewer("GET", "/console/approvals/"+id, nil)
	}
	wants(t, send("POST", "/console/approvals/decide", form), 200, "Left as they were: 5 requests not opened yet")
	if got := states(); got != strings.TrimSpace(strings.Repeat("pending ", 5)) {
		t.Fatalf("without a look: %s", got)
	}
	wants(t, send("GET", "/console/approvals/r0", nil), 200)
	send("HEAD", "/console/approvals/r3", nil) // shows nothing
	wants(t, send("GET", "/console/approvals/r1", nil, partHeader, "pane"), 200)
	c.shown.State = "v2"
	wants(t, send("GET", "/console/approvals/r2", nil), 200)
	w := send("POST", "/console/approvals/decide", form, partHeader, "pane")
	wants(t, w, 200, "Left as they were: 2 requests not opened yet, 2 requests out of date.")
	if got := states(); got != "pending pending approved pending pending" {
		t.Errorf("approved: %s", got)
	}
	wants(t, send("POST", "/console/approvals/withdraw", url.Values{"id": {"r2", "r0"}}, partHeader, "pane"), 200, "1 approval", "1 call ran before")
	wants(t, send("POST", "/console/approvals/decide", url.Values{"verdict": {"deny-selected"}, "id": {"r0", "r1", "r4"}, "open": {"r1"}}, partHeader, "pane"),
		200, "<strong>Denied:</strong> 3 requests", `data-request="r3"`)
	if got := states(); got != "denied denied withdrawn pending denied" {
		t.Errorf("decided: %s", got)
	}
	wants(t, send("POST", "/console/approvals/decide", url.Values{"verdict": {"deny-selected"}}), 400, "id must name")
}

// TestLongFile checks that a new file of 4,000 lines can be reviewed: its headings, its beginning,
// and every line on request.
func TestLongFile(t *testing.T) {
	c := newFixture(t)
	var text strings.Builder
	for i := range 4000 {
		if i%400 == 0 {
			fmt.Fprintf(&text, "## Part %d\n", i/400)
		} else {
			fmt.Fprintf(&text, "line <%d>\n", i+1)
		}
	}
	c.shown = approval.Shown{State: "none", Title: "Write course/long.md", After: text.String()}
	r := c.addRequest(t, "k3v9q2xa7m", "agent:x", `{"path":"long.md"}`)
	get := c.as(identity.Approver)
	w := get("GET", "/console/approvals/k3v9q2xa7m", nil)
	wants(t, w, 200, "4000 lines", `<a href="#line-2001" data-line="2001">Part 5</a>`, "line &lt;16&gt;", "Show 384 added lines", "Show 400 added lines: Part 9")
	lacks(t, w, "line &lt;17&gt;")
	if size := w.Body.Len(); size > 60_000 {
		t.Errorf("the page has %d bytes", size)
	}
	lines := "/console/approvals/k3v9q2xa7m/lines?shown=" + url.QueryEscape(r.PageMark("none"))
	got := get("GET", lines+"&from=16&to=400", nil, partHeader, "lines")
	wants(t, got, 200, "line &lt;17&gt;", "line &lt;400&gt;", `<tr class="add">`)
	lacks(t, got, "<html")
	wants(t, get("GET", lines+"&from=3999&to=4100", nil), 200, "<html", "line &lt;4000&gt;", "Back to the request")
	for _, bad := range []string{"&from=-1&to=5", "&from=5&to=5", "&from=0&to=4001", "&from=a&to=b"} {
		wants(t, get("GET", lines+bad, nil), 400, "from and to")
	}
	c.shown.State = "other"
	wants(t, get("GET", lines+"&from=16&to=400", nil), 409, "has changed; look at it again")
	wants(t, get("GET", "/console/approvals/k3v9q2xa7m/lines?shown=x&from=1&to=2", nil), 409, "another request")
}

func TestChangeIsShownAsWhatItIs(t *testing.T) {
	c := newFixture(t)
	approver := c.as(identity.Approver)
	open := func(id, tool, args string, shown approval.Shown) *httptest.ResponseRecorder {
		c.addRequest(t, id, "agent:x", args)
		c.approvals.all[len(c.approvals.all)-1].Tool = tool
		c.shown = shown
		return approver("GET", "/console/approvals/"+id, nil)
	}
	task := func(title, due string) string {
		return "title: " + title + "\ncompleted: false\npriority: High\ndue_date: " + due + "\n"
	}
	wants(t, open("r1", "tasks/update_task", `{"task_id":1}`, approval.Shown{State: "1", Title: "Update", Before: task("Buy some milk", "2026-01-01"), After: task("Buy some bread", "2026-01-01")}),
		200, `<th scope="row">title</th><td>Buy some <del>milk</del></td><td>Buy some <ins>bread</ins></td>`, `<tr class="same"><th scope="row">due date</th>`)
	lacks(t, open("r2", "tasks/update_task", `{"task_id":1}`, approval.Shown{State: "1", Title: "Update", Before: task("a", "b"), After: task("a\npriority: Low", "b")}), `class="values"`)
	wants(t, open("r3", "learning-os/write_memory_entry", `{"file":"decisions.jsonl"}`, approval.Shown{State: "1", Title: "Append to decisions.jsonl", Before: "{}\n", After: "{}\n{\"decision\":\"<b>\\u202e\"}\n"}),
		200, `<dl class="entry"><dt>decision</dt><dd>&lt;b&gt;\u202e</dd></dl>`)
	markdown := approval.Shown{State: "1", Title: "Write a.md", Before: "# One\n", After: "# One\n\n**new**\n"}
	wants(t, open("r4", "books/write_content", `{}`, markdown), 200, `view=rendered`, "**new**")
	wants(t, approver("GET", "/console/approvals/r4?view=rendered", nil), 200, "<strong>new</strong>", `value="approve"`)
	c.addRequest(t, "r5", "agent:x", `{}`)
	unseen := approver("GET", "/console/approvals/r5?view=rendered", nil)
	wants(t, unseen, 200, "Approve is off: look at the changes first")
	lacks(t, unseen, `value="approve"`)
}

func TestChangedWords(t *testing.T) {
	for _, test := range []struct {
		before, after  string
		removed, added []piece
	}{
		{
			"for i in range(len(numbers)):", "for number in numbers:",
			[]piece{{"for ", false}, {"i", true}, {" in ", false}, {"range(len(", true}, {"numbers", false}, {"))", true}, {":", false}},
			[]piece{{"for ", false}, {"number", true}, {" in numbers:", false}},
		},
		{"one two", "three four", nil, nil},
		{"the same", "the same", nil, nil},
		{"a b c d\u202e", "a b c e", []piece{{"a b c ", false}, {`d\u202e`, true}}, []piece{{"a b c ", false}, {"e", true}}},
		{strings.Repeat("a ", 300), strings.Repeat("a ", 300) + "b", nil, nil},
	} {
		removed, added := changedWords(wordTokens(test.before), wordTokens(test.after))
		if diff := cmp.Diff([][]piece{test.removed, test.added}, [][]piece{removed, added}); diff != "" {
			t.Errorf("%q and %q: %s", test.before, test.after, diff)
		}
	}
}

func TestOpenedForgetsTheOldest(t *testing.T) {
	var o opened
	for i := range maxOpened + 1 {
		o.add("ada", fmt.Sprint(i), "m")
	}
	if o.mark("ada", "0") != "" || o.mark("ada", "1") != "m" || o.mark("bob", "1") != "" {
		t.Error("not the oldest request was forgotten")
	}
	for i := range maxReaders {
		o.add(fmt.Sprint("person ", i), "r", "m")
	}
	if o.mark("ada", "1") != "" || o.mark("person 0", "r") != "m" {
		t.Error("not the oldest person was forgotten")
	}
}

// TestPartsKeepASession checks that what a person does by key counts as activity, and that what a
// page does by itself does not.
func TestPartsKeepASession(t *testing.T) {
	c := newFixture(t)
	get := c.as(identity.Viewer)
	for header, want := range map[string]int{partHeader: 1, "HX-Request": 0} {
		before := c.people.touches
		wants(t, get("GET", "/console/approvals", nil, header, "true", "Sec-Fetch-Mode", "cors"), http.StatusOK)
		if got := c.people.touches - before; got != want {
			t.Errorf("%s: %d records of activity, want %d", header, got, want)
		}
	}
}
