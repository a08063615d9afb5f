package console

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"remit/internal/contract"
	"remit/internal/engine/approval"
	"remit/internal/engine/identity"
)

const evil = `<script>alert(1)</script>"><img src=x onerror=alert(1)>`

func TestInbox(t *testing.T) {
	c := newFixture(t)
	viewer := c.as(identity.Viewer)
	wants(t, viewer("GET", "/console/approvals", nil), 200, "Nothing is waiting", "remit approvals list",
		"<title>Approvals · Remit</title>")
	wants(t, viewer("GET", "/console/approvals?show=decided", nil), 200, "No decisions yet")
	for i := range 240 {
		c.addRequest(t, fmt.Sprintf("r%03d", i), "agent:x", `{"n":1}`)
	}
	for i := range 120 {
		if _, err := c.approvals.Decide(t.Context(), fmt.Sprintf("r%03d", i), approval.Verdict{Approve: i%2 == 0, By: "cli:grace"}, c.now, c.now.Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	w := viewer("GET", "/console/approvals", nil)
	wants(t, w, 200, `href="/console/approvals/r239"`, `href="/console/approvals/r140"`, `href="/console/approvals?page=2"`,
		"<title>(120) Approvals · Remit</title>")
	lacks(t, w, `href="/console/approvals/r139"`)
	w = viewer("GET", "/console/approvals?page=2", nil)
	wants(t, w, 200, `href="/console/approvals/r139"`, `href="/console/approvals/r120"`, `href="/console/approvals"`)
	lacks(t, w, `rel="next"`)
	lacks(t, w, `href="/console/approvals/r119"`) // it is decided
	w = viewer("GET", "/console/approvals?show=decided", nil)
	wants(t, w, 200, "/console/approvals/r119?show=decided", "/console/approvals/r020?", `href="/console/approvals?page=2&amp;show=decided"`,
		"cli:grace", ">approved<", ">denied<")
	wants(t, viewer("GET", "/console/approvals?show=decided&page=2", nil), 200, "/console/approvals/r019?", "/console/approvals/r000?")
	wants(t, viewer("GET", "/console/approvals?page=0", nil), 400, "page must be a number")
	wants(t, viewer("GET", "/console/approvals?page=99999999999999999999", nil), 400, "page must be a number")

	w = viewer("GET", "/console/approvals?show=decided", nil, "HX-Request", "true")
	wants(t, w, 200, "/console/approvals/r119")
	if strings.Contains(w.Body.String(), "<html") {
		t.Error("the part contains a whole page")
	}
}

// TestInboxEnds checks that the last page has no next page and shows all decided requests before
// it.
func TestInboxEnds(t *testing.T) {
	c := newFixture(t)
	viewer := c.as(identity.Viewer)
	for i := range maxInboxRequests + 50 {
		c.addRequest(t, fmt.Sprintf("r%04d", i), "agent:x", `{}`)
	}
	lacks(t, viewer("GET", "/console/approvals?page=10", nil), `rel="next"`)
	for i := range maxInboxRequests + 10 {
		c.approvals.all[i].State = approval.Denied
	}
	w := viewer("GET", "/console/approvals?page=10&show=decided", nil)
	// The 40 newest are waiting.
	wants(t, w, 200, "/console/approvals/r0109", "/console/approvals/r0010")
	lacks(t, w, `rel="next"`)
	before := c.approvals.lists()
	wants(t, viewer("GET", "/console/approvals?show=decided", nil, "HX-Request", "true"), 200, "/console/approvals/r1009")
	if n := c.approvals.lists() - before; n > 2 {
		t.Errorf("listed %d times for one page", n)
	}
}

func TestRequestPage(t *testing.T) {
	c := newFixture(t)
	c.shown = approval.Shown{State: "v1", Title: "Write " + evil, Before: "old " + evil + "\n", After: "new " + evil + "\u202e\n"}
	r := c.addRequest(t, "k3v9q2xa7m", "agent:"+evil+"\u202e",
		`{"text":"line 1\nline 2\u202e<b>","list":[1,{"a":"`+strings.ReplaceAll(evil, `"`, `\"`)+`"}]}`)
	w := c.as(identity.Approver)("GET", "/console/approvals/"+r.ID, nil)
	wants(t, w, 200,
		`<h2 tabindex="-1" id="pane-title">Write something</h2>`,
		`href="/console/tools/write"`, "1.2.3", r.Digest[:18],
		"line 1\nline 2\\u202e&lt;b&gt;", // invisible characters escaped, line breaks kept
		`aria-hidden="true">−</span><span class="sr">removed: </span>`, `aria-hidden="true">&#43;</span><span class="sr">added: </span>`,
		`action="/console/approvals/k3v9q2xa7m/decide"`, "in 59 min",
	)
	for _, bad := range []string{"<script>alert", "<img", "\u202e"} {
		if strings.Contains(w.Body.String(), bad) {
			t.Errorf("the page contains %q", bad)
		}
	}
	if strings.Contains(w.Body.String(), "has changed since") || strings.Contains(w.Body.String(), "yourself") {
		t.Error("a warning is shown without reason")
	}
	wants(t, c.as(identity.Viewer)("GET", "/console/approvals/"+r.ID, nil), 200, "You need the approver role")
	wants(t, c.as(identity.Viewer)("GET", "/console/approvals/nothing", nil), 404, "There is no request nothing")
	wants(t, c.as(identity.Viewer)("GET", "/console/approvals/..%2f..%2fetc", nil), 404)

	c.approvals.all[0].Digest = "sha256:other"
	c.approvals.all[0].Principal = "console:ada"
	wants(t, c.as(identity.Approver)("GET", "/console/approvals/"+r.ID, nil), 200, "has changed since the request",
		"You requested this call yourself")
	c.approvals.all[0].Tool = "other/write"
	wants(t, c.as(identity.Approver)("GET", "/console/approvals/"+r.ID, nil), 200, "(not served)")
	c.now = c.now.Add(time.Hour)
	wants(t, c.as(identity.Approver)("GET", "/console/approvals/"+r.ID, nil), 200, "Nobody decided in time")
}

func TestDecide(t *testing.T) {
	for verdict, want := range map[string]approval.Request{
		"approve": {State: approval.Approved, DecidedBy: "console:ada", Reason: "fine"},
		"deny":    {State: approval.Denied, DecidedBy: "console:ada", Reason: "fine"},
	} {
		c := newFixture(t)
		r := c.addRequest(t, "k3v9q2xa7m", "agent:x", `{}`)
		approver := c.as(identity.Approver)
		w := approver("POST", "/console/approvals/k3v9q2xa7m/decide", url.Values{"verdict": {verdict}, "reason": {" fine\r\n"}, "shown": {r.PageMark("")}})
		wants(t, w, 303)
		if got := w.Header().Get("Location"); got != "/console/approvals?after=k3v9q2xa7m" {
			t.Errorf("redirects to %q", got)
		}
		got := c.approvals.all[0]
		if got.State != want.State || got.DecidedBy != want.DecidedBy || got.Reason != want.Reason || !got.DecidedAt.Equal(c.now) {
			t.Errorf("stored %+v", got)
		}
		if window := r.ExpiresAt.Sub(r.CreatedAt); got.ExpiresAt.Sub(c.now) != window {
			t.Errorf("the decision is valid for %s, want %s", got.ExpiresAt.Sub(c.now), window)
		}
		wants(t, approver("GET", "/console/approvals/k3v9q2xa7m", nil), 200, "console:ada", "Reason: fine")
		records := []string{`console:ada approvals/` + verdict + ` ok {"request":"k3v9q2xa7m","reason":"fine","address":"192.0.2.1","tool":"demo/write","caller":"agent:x"}`}
		if diff := cmp.Diff(records, c.recorded()); diff != "" {
			t.Error(diff)
		}
	}
}

func TestNothingIsDecidedWithoutARecord(t *testing.T) {
	c := newFixture(t)
	r := c.addRequest(t, "k3v9q2xa7m", "agent:x", `{}`)
	c.auditErr = errors.New("disk full")
	form := url.Values{"verdict": {"approve"}, "shown": {r.PageMark("")}}
	wants(t, c.as(identity.Approver)("POST", "/console/approvals/k3v9q2xa7m/decide", form), 503,
		"nothing was decided")
	if got := c.approvals.all[0].State; got != approval.Pending {
		t.Errorf("the request is %s", got)
	}
}

func TestTwoDecideAtOnce(t *testing.T) {
	c := newFixture(t)
	r := c.addRequest(t, "k3v9q2xa7m", "agent:x", `{}`)
	approver := c.as(identity.Approver)
	answers := make([]int, 20)
	var all sync.WaitGroup
	for i := range answers {
		all.Go(func() {
			verdict := []string{"approve", "deny"}[i%2]
			w := approver("POST", "/console/approvals/k3v9q2xa7m/decide", url.Values{"verdict": {verdict}, "shown": {r.PageMark("")}})
			answers[i] = w.Code
			if w.Code == 409 && !strings.Contains(w.Body.String(), "at 2026-08-01T12:00:00Z by console:ada") {
				t.Errorf("does not say who, what and when:\n%s", w.Body)
			}
		})
	}
	all.Wait()
	count := map[int]int{}
	for _, status := range answers {
		count[status]++
	}
	if diff := cmp.Diff(map[int]int{303: 1, 409: 19}, count); diff != "" {
		t.Error(diff)
	}
	outcomes := map[string]int{}
	for _, r := range c.records {
		outcomes[r.Outcome]++
	}
	if diff := cmp.Diff(map[string]int{"ok": 1, "conflict": 19}, outcomes); diff != "" {
		t.Error(diff)
	}
}

func TestRequestStateWaitsForADecision(t *testing.T) {
	c := newFixture(t)
	c.Desk.Show = func(context.Context, approval.Request, string) (approval.Shown, error) {
		t.Error("the diff is computed although it is not shown")
		return approval.Shown{}, nil
	}
	c.addRequest(t, "k3v9q2xa7m", "agent:x", `{}`)
	viewer := c.as(identity.Viewer)
	wants(t, viewer("GET", "/console/approvals/k3v9q2xa7m/state", nil), 204)
	if _, err := c.approvals.Decide(t.Context(), "k3v9q2xa7m", approval.Verdict{By: "cli:grace", Reason: evil}, c.now, c.now.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	w := viewer("GET", "/console/approvals/k3v9q2xa7m/state", nil)
	wants(t, w, 200, "Denied", "cli:grace", "&lt;script&gt;")
	if strings.Contains(w.Body.String(), "<html") || strings.Contains(w.Body.String(), "<script>") {
		t.Error("the response is not the requested part")
	}
}

func TestApprovalIsForThePageThatWasSeen(t *testing.T) {
	c := newFixture(t)
	c.shown = approval.Shown{State: "v1", Title: "Replace a.md", Before: "old\n", After: "new\n"}
	r := c.addRequest(t, "k3v9q2xa7m", "agent:x", `{}`)
	other := c.addRequest(t, "m3v9q2xa7m", "agent:x", `{"n":1}`)
	approver := c.as(identity.Approver)
	post := func(verdict, mark string) int {
		return approver("POST", "/console/approvals/k3v9q2xa7m/decide", url.Values{"verdict": {verdict}, "shown": {mark}}).Code
	}
	wants(t, approver("GET", "/console/approvals/k3v9q2xa7m", nil), 200,
		`<input type="hidden" name="shown" value="`+r.PageMark("v1")+`">`, `id="reason"`, "Replace a.md")
	for name, mark := range map[string]string{
		"no mark": "", "the mark of another request": other.PageMark("v1"), "an older page": r.PageMark("v0"), "a forged mark": "v1",
	} {
		if code := post("approve", mark); code != 409 || c.approvals.all[0].State != approval.Pending {
			t.Errorf("%s: status %d, the request is %s", name, code, c.approvals.all[0].State)
		}
	}
	c.shown.State = "v2"
	if code := post("approve", r.PageMark("v1")); code != 409 {
		t.Errorf("after a change: status %d", code)
	}
	if code := post("approve", r.PageMark("v2")); code != 303 || c.approvals.all[0].Shown != "v2" {
		t.Errorf("the current page: status %d, decided for %q", code, c.approvals.all[0].Shown)
	}
	if code := post("approve", r.PageMark("v2")); code != 409 {
		t.Errorf("posted twice: status %d", code)
	}
}

func TestWithdraw(t *testing.T) {
	c := newFixture(t)
	r := c.addRequest(t, "k3v9q2xa7m", "agent:x", `{}`)
	const at = "/console/approvals/k3v9q2xa7m"
	approver := c.as(identity.Approver)
	wants(t, approver("POST", at+"/withdraw", nil), 409, "The approval was not withdrawn")
	form := url.Values{"verdict": {"approve"}, "shown": {r.PageMark("")}}
	wants(t, approver("POST", at+"/decide", form), 303)
	lacks(t, c.as(identity.Viewer)("GET", at, nil), "Withdraw the approval")
	wants(t, c.as(identity.Viewer)("POST", at+"/withdraw", nil), 403)
	wants(t, approver("GET", at, nil), 200, "Withdraw the approval")
	wants(t, approver("POST", at+"/withdraw", nil), 303)
	wants(t, approver("GET", at, nil), 200, "withdrawn", "No call can use it")
	wants(t, approver("POST", at+"/decide", form), 409)
	if got := c.recorded(); !strings.Contains(strings.Join(got, "\n"), "console:ada approvals/withdraw ok") {
		t.Errorf("recorded %q", got)
	}
}

func TestEffectThatCannotBeShown(t *testing.T) {
	c := newFixture(t)
	c.addRequest(t, "k3v9q2xa7m", "agent:x", `{}`)
	c.Desk.Show = func(context.Context, approval.Request, string) (approval.Shown, error) {
		return approval.Shown{}, contract.Errorf(contract.Unavailable, "The book storage cannot be used")
	}
	w := c.as(identity.Approver)("GET", "/console/approvals/k3v9q2xa7m", nil)
	wants(t, w, 200, "cannot be shown", "The book storage cannot be used", `value="deny"`)
	lacks(t, w, `value="approve"`)
	wants(t, c.as(identity.Approver)("POST", "/console/approvals/k3v9q2xa7m/decide", url.Values{"verdict": {"deny"}}), 303)
}

// TestOriginOfRequest checks that a page marks what a caller says as the caller's words.
func TestOriginOfRequest(t *testing.T) {
	c := newFixture(t)
	r := c.addRequest(t, "k3v9q2xa7m", "agent:x", `{}`)
	c.approvals.all[0].Origin = approval.Origin{Frontend: "http", Client: "bot 1", CallerReason: "<b>Approved\u202e</b>"}
	wants(t, c.as(identity.Viewer)("GET", "/console/approvals/"+r.ID, nil), 200, "http, client “bot 1”", "words, not checked by Remit",
		`&lt;b&gt;Approved\u202e&lt;/b&gt;`)
}
