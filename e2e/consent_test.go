package e2e

import (
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// These tests check that an approval is for what the person saw: section 5 of the threat model.

var (
	requestID = regexp.MustCompile(`"id":"([0-9a-z]{10})"`)
	pageMark  = regexp.MustCompile(`name="shown" value="([^"]*)"`)
)

// wantPending checks that a call waits for a person, and returns the id of its request.
func (w *httpServer) wantPending(tool, args string) (id string, answer httpAnswer) {
	w.t.Helper()
	answer = w.post("/tools/"+tool, args, nil)
	found := requestID.FindSubmatch(answer.body)
	if found == nil || !strings.Contains(string(answer.body), `"status":"pending"`) {
		w.t.Fatalf("%s does not wait: %d %s", tool, answer.status, answer.body)
	}
	return string(found[1]), answer
}

// seen opens the page of a request as a person, and returns the mark of what it shows.
func (w *httpServer) seen(id string, cookie http.Header) string {
	w.t.Helper()
	page := w.get("/console/approvals/"+id, cookie)
	found := pageMark.FindSubmatch(page.body)
	if page.status != http.StatusOK || found == nil {
		w.t.Fatalf("the page of request %s: %d %s", id, page.status, clip(page.body))
	}
	return html.UnescapeString(string(found[1]))
}

func (w *httpServer) approve(id, mark string, cookie http.Header) httpAnswer {
	w.t.Helper()
	return w.submit("/console/approvals/"+id+"/decide", url.Values{"verdict": {"approve"}, "shown": {mark}}.Encode(), cookie)
}

// signedIn returns the header of a person's browser.
func (w *httpServer) signedIn() http.Header {
	cookie := w.signIn()
	return http.Header{"Cookie": {cookie.Name + "=" + cookie.Value}}
}

const guardedTools = "tools:\n  write_content: {approval: true}\n  delete_content: {approval: true}\n" +
	"  update_task: {approval: true}\n  delete_task: {approval: true}\n  complete_task: {approval: true}\n"

// TestApprovalOfAnotherContent: a book is edited between page and click, between click and repeat,
// and each time the person is asked again.
func TestApprovalOfAnotherContent(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, map[string]string{"remit.yaml": guardedTools})
	w := s.serve("--toolsets", "books")
	me := w.signedIn()
	edit := func(text string) {
		t.Helper()
		s.write(libraryFolder+"books/go-course/lessons/a.md", text)
	}
	edit("one\n")
	const write = `{"book_id":"go-course","path":"lessons/a.md","content":"by the agent\n"}`
	id, _ := w.wantPending("write_content", write)
	early := w.seen(id, me)
	edit("two\n")
	if got := w.approve(id, early, me); got.status != http.StatusConflict || !strings.Contains(string(got.body), "has changed since you looked") {
		t.Fatalf("approved what nobody saw: %d %s", got.status, clip(got.body))
	}
	if page := w.get("/console/approvals/"+id, me); !strings.Contains(string(page.body), "two") {
		t.Errorf("the page does not show what there is now:\n%s", clip(page.body))
	}
	if got := w.approve(id, w.seen(id, me), me); got.status != http.StatusSeeOther {
		t.Fatalf("approve: %d %s", got.status, clip(got.body))
	}
	edit("three\n")
	next, answer := w.wantPending("write_content", write)
	if next == id || !strings.Contains(string(answer.body), `"reason":"changed since it was approved"`) {
		t.Errorf("the repeat does not say why it waits again: %s", answer.body)
	}
	if page := w.get("/console/approvals/"+id, me); !strings.Contains(string(page.body), ">changed<") {
		t.Errorf("the first request is not changed:\n%s", clip(page.body))
	}
	if got := s.read(libraryFolder + "books/go-course/lessons/a.md"); got != "three\n" {
		t.Fatalf("the file holds %q", got)
	}
	if got := w.approve(next, w.seen(next, me), me); got.status != http.StatusSeeOther {
		t.Fatalf("approve: %d %s", got.status, clip(got.body))
	}
	if got := w.post("/tools/write_content", write, nil); got.status != http.StatusOK {
		t.Errorf("approved as shown, and yet: %d %s", got.status, got.body)
	}
	if got := s.read(libraryFolder + "books/go-course/lessons/a.md"); got != "by the agent\n" {
		t.Errorf("the file holds %q", got)
	}
	w.end()
	s.verifyAudit()
}

// TestFiveAppends: five approved entries pass in any order, because each follows what the person
// saw; after an edit or a cut of that, none does.
func TestFiveAppends(t *testing.T) {
	t.Parallel()
	entry := func(i int) string {
		return fmt.Sprintf(`{"file":"decisions.jsonl","entry":{"timestamp":"2026-01-09T10:30:00Z","type":"n","decision":"%d"}}`, i)
	}
	// The first line is not shown any more.
	before := `{"first":1}` + "\n" + strings.Repeat(`{"more":1}`+"\n", 1000) + `{"second":2}` + "\n"
	for name, c := range map[string]struct {
		change string // what the file holds when the calls are repeated
		pass   bool
	}{
		"unchanged":          {before, true},
		"somebody's append":  {before + `{"third":3}` + "\n", true},
		"an edit":            {strings.Replace(before, "first", "FIRST", 1), false},
		"a cut":              {`{"first":1}` + "\n", false},
		"emptied":            {"", false},
		"an insert in front": {`{"zero":0}` + "\n" + before, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newWorkspace(t, map[string]string{".claude/memory/decisions.jsonl": before})
			w := s.serve("--toolsets", "learning-os")
			me := w.signedIn()
			marks, ids := map[string]string{}, []string{}
			for i := range 5 {
				id, _ := w.wantPending("write_memory_entry", entry(i))
				ids, marks[id] = append(ids, id), w.seen(id, me)
			}
			for _, id := range ids {
				if got := w.approve(id, marks[id], me); got.status != http.StatusSeeOther {
					t.Fatalf("approve: %d %s", got.status, clip(got.body))
				}
			}
			s.write(".claude/memory/decisions.jsonl", c.change)
			for _, i := range []int{3, 0, 4, 2, 1} {
				got := w.post("/tools/write_memory_entry", entry(i), nil)
				if passed := got.status == http.StatusOK; passed != c.pass {
					t.Errorf("entry %d: %d %s", i, got.status, got.body)
				}
				if !c.pass && !strings.Contains(string(got.body), "changed since it was approved") {
					t.Errorf("entry %d does not say why: %s", i, got.body)
				}
			}
			if lines := len(s.memory("decisions.jsonl")); c.pass != (lines >= 1007) || !c.pass && s.read(".claude/memory/decisions.jsonl") != c.change {
				t.Errorf("the file has %d lines:\n%s", lines, s.read(".claude/memory/decisions.jsonl"))
			}
			w.end()
			s.verifyAudit()
		})
	}
}

// TestPageOfAnAppendStaysValid: what others append while the person reads does not void the page.
func TestPageOfAnAppendStaysValid(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, map[string]string{".claude/memory/decisions.jsonl": `{"first":1}` + "\n"})
	w := s.serve("--toolsets", "learning-os")
	me := w.signedIn()
	id, _ := w.wantPending("write_memory_entry", entryOf("mine"))
	mark := w.seen(id, me)
	s.append(s.path(".claude/memory/decisions.jsonl"), `{"second":2}`+"\n")
	if got := w.approve(id, mark, me); got.status != http.StatusSeeOther {
		t.Fatalf("approve: %d %s", got.status, clip(got.body))
	}
	if got := w.post("/tools/write_memory_entry", entryOf("mine"), nil); got.status != http.StatusOK {
		t.Errorf("%d %s", got.status, got.body)
	}
	w.end()
}

// TestTaskChangedAndChangedBack: a task with the same values, but changed meanwhile, is another
// one.
func TestTaskChangedAndChangedBack(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, map[string]string{"remit.yaml": guardedTools})
	w := s.serve("--toolsets", "tasks")
	me := w.signedIn()
	w.post("/tools/add_task", `{"user_id":"ada","title":"Milk"}`, nil)
	approved := func(tool, args string) {
		t.Helper()
		id, _ := w.wantPending(tool, args)
		if got := w.approve(id, w.seen(id, me), me); got.status != http.StatusSeeOther {
			t.Fatalf("approve %s: %d %s", tool, got.status, clip(got.body))
		}
	}
	change := func(title string) {
		t.Helper()
		args := `{"user_id":"ada","task_id":"1","title":` + quoted(title) + `}`
		approved("update_task", args)
		if got := w.post("/tools/update_task", args, nil); got.status != http.StatusOK {
			t.Fatalf("update: %d %s", got.status, got.body)
		}
	}
	const remove = `{"user_id":"ada","task_id":"1"}`
	id, _ := w.wantPending("delete_task", remove)
	if page := w.get("/console/approvals/"+id, me); !strings.Contains(string(page.body), "title: Milk") {
		t.Errorf("the page does not show what would be deleted:\n%s", clip(page.body))
	}
	approved("delete_task", remove)
	change("Bread")
	change("Milk")
	if _, answer := w.wantPending("delete_task", remove); !strings.Contains(string(answer.body), "changed since it was approved") {
		t.Errorf("does not say why it waits: %s", answer.body)
	}
	approved("delete_task", remove)
	if got := w.post("/tools/delete_task", remove, nil); got.status != http.StatusOK {
		t.Errorf("approved as it is: %d %s", got.status, got.body)
	}
	if got := w.post("/tools/complete_task", remove, nil); got.status != http.StatusNotFound {
		t.Errorf("a person is asked about a task that does not exist: %d %s", got.status, got.body)
	}
	w.end()
	s.verifyAudit()
}

// TestDecisionForm: a form that was posted twice, after a withdrawal, or with what another page
// showed, decides nothing.
func TestDecisionForm(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, nil)
	w := s.serve("--toolsets", "learning-os")
	me := w.signedIn()
	first, _ := w.wantPending("write_memory_entry", entryOf("first"))
	second, _ := w.wantPending("write_memory_entry", entryOf("second"))
	mark := w.seen(first, me)
	for name, form := range map[string]string{"no mark": "", "another page": w.seen(second, me), "forged": "0000000000000000:" + mark[17:]} {
		if got := w.approve(first, form, me); got.status != http.StatusConflict {
			t.Errorf("%s: %d %s", name, got.status, clip(got.body))
		}
	}
	if got := w.submit("/console/approvals/"+first+"/decide", url.Values{"reason": {"Enter"}, "shown": {mark}}.Encode(), me); got.status != http.StatusBadRequest {
		t.Errorf("a form without a verdict: %d", got.status)
	}
	for _, want := range []int{http.StatusSeeOther, http.StatusConflict} {
		if got := w.approve(first, mark, me); got.status != want {
			t.Errorf("approve: %d, want %d: %s", got.status, want, clip(got.body))
		}
	}
	if got := s.remit("approvals", "withdraw", first); got.code != 0 {
		t.Fatalf("withdraw: %+v", got)
	}
	if got := s.remit("approvals", "withdraw", first); got.code == 0 || !strings.Contains(got.errOut, "withdrawn") {
		t.Errorf("withdrawn twice: %+v", got)
	}
	if got := w.approve(first, mark, me); got.status != http.StatusConflict {
		t.Errorf("after the withdrawal: %d", got.status)
	}
	if again, _ := w.wantPending("write_memory_entry", entryOf("first")); again == first {
		t.Error("the withdrawn request is the question")
	}
	if got := s.read(".claude/memory/decisions.jsonl"); got != "" {
		t.Errorf("written: %s", got)
	}
	w.end()
	audit := s.remit("audit", "list", "--json").out
	for _, want := range []string{`"approvals/approve"`, `"approvals/withdraw"`, first} {
		if !strings.Contains(audit, want) {
			t.Errorf("%s is not recorded:\n%s", want, clip(audit))
		}
	}
	s.verifyAudit()
}

// personToken creates a token with a person at the terminal who consents.
func (s *workspace) personToken(args ...string) string {
	s.t.Helper()
	got := s.person(append([]string{"token", "create"}, args...)...)
	if got.code != 0 {
		s.t.Fatalf("token create %v: %+v", args, got)
	}
	return strings.TrimSpace(got.out)
}

// TestPersonToken: the bot of a team decides at /approvals with a person's token, which opens
// nothing else, and no agent's token opens that.
func TestPersonToken(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, map[string]string{".claude/memory/decisions.jsonl": `{"first":1}` + "\n"})
	for _, args := range [][]string{{"--role", "approver"}, {"--elicitation"}} {
		if got := s.remit(append([]string{"token", "create", "--name", "eve"}, args...)...); got.code == 0 || !strings.Contains(got.errOut, "only a person") {
			t.Errorf("%v without a person: %+v", args, got)
		}
	}
	person := s.personToken("--name", "bot", "--role", "approver")
	gone := s.personToken("--name", "gone", "--role", "approver")
	agent := s.token("--name", "agent", "--scopes", "*", "--user", "*")
	dead := s.token("--name", "dead", "--scopes", "*", "--user", "*")
	if !strings.HasPrefix(person, "remit_p_") {
		t.Errorf("the token of a person is %s...", person[:8])
	}
	for _, name := range []string{"gone", "dead"} {
		if got := s.remit("token", "revoke", name); got.code != 0 {
			t.Fatal(got)
		}
	}
	w := s.serve("--toolsets", "learning-os")
	ask := func(decision string) string {
		t.Helper()
		got := w.post("/tools/write_memory_entry", entryOf(decision), bearer(agent))
		return string(requestID.FindSubmatch(got.body)[1])
	}
	id := ask("one")
	for name, c := range map[string]struct {
		header http.Header
		status int
	}{
		"nobody": {nil, 401}, "an agent": {bearer(agent), 403}, "a revoked agent": {bearer(dead), 401}, "a revoked person": {bearer(gone), 401},
		"a browser": {w.signedIn(), 401}, "a person in a cookie": {http.Header{"Cookie": {"remit_session=" + person}}, 401},
	} {
		for _, path := range []string{"/approvals", "/approvals/" + id} {
			if got := w.get(path, c.header); got.status != c.status || strings.Contains(string(got.body), id) {
				t.Errorf("%s: GET %s: %d %s", name, path, got.status, clip(got.body))
			}
		}
		for _, verb := range []string{"approve", "deny", "withdraw"} {
			if got := w.post("/approvals/"+id+"/"+verb, `{}`, c.header); got.status != c.status {
				t.Errorf("%s: POST %s: %d %s", name, verb, got.status, clip(got.body))
			}
		}
	}
	for _, path := range []string{"/tools", "/metrics", "/console/approvals", "/", "/approvalsX", "/mcp"} {
		if got := w.get(path, bearer(person)); got.status != http.StatusForbidden {
			t.Errorf("a person's token: GET %s: %d %s", path, got.status, clip(got.body))
		}
	}
	for path, body := range map[string]string{
		"/tools/hello": `{"name":"Ada"}`, "/mcp": requestLine("1", "tools/list", `{}`), "/mcp/tasks": requestLine("1", "tools/list", `{}`),
	} {
		if got := w.post(path, body, bearer(person)); got.status != http.StatusForbidden {
			t.Errorf("a person's token: POST %s: %d %s", path, got.status, clip(got.body))
		}
	}
	t.Run("decides", func(t *testing.T) { decidesByAPI(t, s, w, person, agent, id) })
	w.end()
	records := s.remit("audit", "list", "--json").out
	for _, want := range []string{`"person:bot"`, `"approvals/approve"`, `"approvals/deny"`, `"approvals/withdraw"`} {
		if !strings.Contains(records, want) {
			t.Errorf("%s is not recorded:\n%s", want, clip(records))
		}
	}
	s.verifyAudit()
}

// decidesByAPI: an approval must send back what was shown.
func decidesByAPI(t *testing.T, s *workspace, w *httpServer, person, agent, id string) {
	look := func(id string) (v struct {
		State, Shown, Reason string
		Effect               struct{ Title, Before, After string }
	},
	) {
		t.Helper()
		got := w.get("/approvals/"+id, bearer(person))
		if err := json.Unmarshal(got.body, &v); err != nil || got.status != 200 {
			t.Fatalf("GET %s: %d %s", id, got.status, got.body)
		}
		return v
	}
	post := func(id, verb, body string, want int) {
		t.Helper()
		if got := w.post("/approvals/"+id+"/"+verb, body, bearer(person)); got.status != want {
			t.Errorf("POST %s %s: %d %s, want %d", verb, body, got.status, clip(got.body), want)
		}
	}
	seen := look(id)
	if !strings.Contains(seen.Effect.Before, "first") || !strings.Contains(seen.Effect.After, "one") || seen.State != "pending" {
		t.Errorf("the request shows %+v", seen)
	}
	for body, want := range map[string]int{
		`{}`: 400, ``: 400, `{"shown":"x"}`: 409, `{"shown":"0000000000000000:1"}`: 409, `[]`: 400, `{"shown":` + quoted(seen.Shown) + `,"more":1}`: 400, `{"shown"`: 400,
		`{"shown":"x","shown":` + quoted(seen.Shown) + `}`: 400, `{"shown":"x","Shown":` + quoted(seen.Shown) + `}`: 400,
	} {
		post(id, "approve", body, want)
	}
	post(id[:6], "approve", `{"shown":`+quoted(seen.Shown)+`}`, 404)
	s.write(".claude/memory/decisions.jsonl", `{"other":1}`+"\n")
	post(id, "approve", `{"shown":`+quoted(seen.Shown)+`}`, 409)
	post(id, "approve", `{"shown":`+quoted(look(id).Shown)+`}`, 200)
	post(id, "approve", `{"shown":`+quoted(seen.Shown)+`}`, 409)
	post(id, "withdraw", ``, 200)
	again := w.post("/tools/write_memory_entry", entryOf("one"), bearer(agent))
	next := string(requestID.FindSubmatch(again.body)[1])
	post(next, "approve", `{"shown":`+quoted(look(next).Shown)+`}`, 200)
	if got := w.post("/tools/write_memory_entry", entryOf("one"), bearer(agent)); got.status != 200 {
		t.Errorf("approved, and yet: %d %s", got.status, got.body)
	}
	last := w.post("/tools/write_memory_entry", entryOf("two"), bearer(agent))
	denied := string(requestID.FindSubmatch(last.body)[1])
	post(denied, "deny", `{"reason":"not\n today"}`, 200)
	if got := w.post("/tools/write_memory_entry", entryOf("two"), bearer(agent)); !strings.Contains(string(got.body), "not today") {
		t.Errorf("denied, and yet: %d %s", got.status, got.body)
	}
	if got := w.get("/approvals?all=true", bearer(person)); !strings.Contains(string(got.body), `"state":"withdrawn"`) || !strings.Contains(string(got.body), `"state":"used"`) {
		t.Errorf("the list: %d %s", got.status, clip(got.body))
	}
}

// dialogToken returns a token with which the answers of a client count as those of its person.
func (s *workspace) dialogToken() string {
	s.t.Helper()
	if s.dialogs == "" {
		s.dialogs = s.personToken("--root", s.root, "--name", "dialogs", "--scopes", "*", "--user", "*", "--elicitation")
	}
	return s.dialogs
}

// TestDialogOfNobody: a client over HTTP without a token, or with one that was not made for it,
// answers its own question and approves nothing, at any speed; nor does a client over stdio if the
// operator switched dialogs off.
func TestDialogOfNobody(t *testing.T) {
	t.Parallel()
	t.Run("http", func(t *testing.T) {
		t.Parallel()
		s := newWorkspace(t, nil)
		w := s.serve("--toolsets", "learning-os")
		checkElicitationWithToken(t, w, s, "")
		m := call{tool: "write_memory_entry", args: entryOf("forged")}.sendTo(w)
		if strings.Contains(string(m.raw), "inputRequests") || !strings.Contains(string(m.raw), `pending`) {
			t.Errorf("it asks a client that nobody trusts: %s", clip(m.raw))
		}
		w.end()
	})
	t.Run("stdio", func(t *testing.T) {
		t.Parallel()
		s := newWorkspace(t, nil)
		r := s.stdio("--toolsets", "learning-os", "--elicitation", "off")
		r.initialize(`{"elicitation":{}}`)
		if got := r.call("write_memory_entry", entryOf("forged")); !strings.Contains(got.text, `"status":"pending"`) {
			t.Errorf("it does not wait: %s", got.text)
		}
		r.end()
	})
}

// TestFileChangesDuringADialog: the person answers a question about a file that was edited while
// they read it; they are asked again, and the second yes counts.
func TestFileChangesDuringADialog(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, map[string]string{".claude/memory/decisions.jsonl": `{"first":1}` + "\n"})
	r := s.stdio("--toolsets", "learning-os")
	r.initialize(`{"elicitation":{}}`)
	id := r.start("write_memory_entry", entryOf("mine"))
	for _, shows := range []string{"first", "FIRST"} {
		question := r.mustNext()
		if question.Method != "elicitation/create" || !strings.Contains(string(question.raw), shows) {
			t.Fatalf("the question does not show %s: %s", shows, question.raw)
		}
		s.write(".claude/memory/decisions.jsonl", `{"FIRST":1}`+"\n")
		time.Sleep(readingTime)
		r.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{}}}`, question.ID))
	}
	if got := r.result(r.reply(id)); got.failed {
		t.Errorf("%s", got.text)
	}
	r.end()
	if got := s.memory("decisions.jsonl"); len(got) != 2 {
		t.Errorf("the file holds %q", got)
	}
}

// TestRefusedRequestsAreRecorded: unknown tools and bodies that are no calls leave a record, with
// the session of the connection.
func TestRefusedRequestsAreRecorded(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, nil)
	w := s.serve("--toolsets", "learning-os")
	w.post("/tools/no_such_tool", `{}`, nil)
	w.post("/tools/hello", `{"name"`, nil)
	w.post("/mcp", `{"jsonrpc":`, nil)
	w.get("/approvals", nil)
	w.post("/approvals/abc/approve", `{}`, nil)
	w.end()
	for _, args := range [][]string{{"call", "nor_that"}, {"call", "hello", "--json", "{"}} {
		if got := s.remit(args...); got.code != 2 {
			t.Errorf("%v: %+v", args, got)
		}
	}
	r := s.stdio("--toolsets", "learning-os")
	r.initialize(`{}`)
	r.ask("tools/call", `{"name":"nor_this","arguments":{}}`)
	r.call("hello", `{"name":"Ada"}`)
	r.end()
	lines := s.remit("audit", "list", "--json").out
	for _, want := range []string{
		"refused/unknown_tool", "no_such_tool", "nor_this", "nor_that", "refused/no_call",
		"a decision without a person's token", `"/approvals"`, "/approvals/abc/approve",
	} {
		if !strings.Contains(lines, want) {
			t.Errorf("%s is not recorded:\n%s", want, lines)
		}
	}
	raw := ""
	for _, entry := range s.auditFiles() {
		raw += entry
	}
	if !regexp.MustCompile(`"session":"[A-Z2-7]{26}","tool":"learning-os/hello"`).MatchString(raw) {
		t.Errorf("the call has no session:\n%s", raw)
	}
	s.verifyAudit()
}

// auditFiles returns the records as they are stored.
func (s *workspace) auditFiles() []string {
	s.t.Helper()
	names, err := filepath.Glob(s.path(".remit/audit/*.jsonl"))
	s.check(err)
	var all []string
	for _, name := range names {
		data, err := os.ReadFile(name)
		s.check(err)
		all = append(all, string(data))
	}
	return all
}
