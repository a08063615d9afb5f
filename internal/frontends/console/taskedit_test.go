package console_test

import (
	"maps"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"remit/internal/contract"
	"remit/internal/engine/identity"
	"remit/internal/frontends/cli"
)

var hiddenField = regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)" data-draft>`)

// formOf returns what the form of the task on a page would send if nobody changed anything.
func formOf(t *testing.T, w *httptest.ResponseRecorder) url.Values {
	t.Helper()
	form := url.Values{}
	for _, m := range hiddenField.FindAllStringSubmatch(w.Body.String(), -1) {
		form.Set(m[1], m[2])
		if name, ok := strings.CutPrefix(m[1], "was."); ok {
			form.Set(name, m[2])
		}
	}
	if !form.Has("seen") || !form.Has("title") {
		t.Fatalf("no form in\n%s", w.Body)
	}
	return form
}

// with returns the form with some values replaced.
func with(form url.Values, pairs ...string) url.Values {
	changed := maps.Clone(form)
	for i := 0; i < len(pairs); i += 2 {
		changed.Set(pairs[i], pairs[i+1])
	}
	return changed
}

// task returns the fields of a task of ada, as an agent reads it.
func (s *stack) task(search string) string {
	s.t.Helper()
	answer := s.call("list_tasks", `{"user_id":"ada","search":"`+search+`"}`)
	return string(answer.Append(nil))
}

func TestEditTask(t *testing.T) {
	s := newStack(t, nil)
	s.addTask("ada", "Water the garden", "2026-08-01")
	s.addTask("ada", "Buy a hose", "")
	page := s.get("/console/tasks/1")
	expect(t, page, 200, `<h2 id="pane-title" tabindex="-1">Task 1</h2>`, `aria-current="true">Water the garden`, `value="2026-08-01"`)
	form := formOf(t, page)

	w := s.post("/console/tasks/1?priority=", with(form, "title", "Water the <b>garden", "description", "Twice\r\na day", "priority", "High", "due_date", "", "depends_on", "#2"))
	expect(t, w, 303)
	if at := w.Header().Get("Location"); at != "/console/tasks/1?priority=" {
		t.Errorf("redirects to %s", at)
	}
	got := s.task("garden")
	for _, part := range []string{`"title":"Water the <b>garden"`, `"description":"Twice\na day"`, `"priority":"High"`, `"due_date":null`, `"depends_on":[2]`, `"blocked_by":[2]`} {
		if !strings.Contains(got, part) {
			t.Errorf("no %s in %s", part, got)
		}
	}
	expect(t, s.get("/console/tasks"), 200, "after #2")
	// Nothing was changed.
	expect(t, s.post("/console/tasks/1", formOf(t, s.get("/console/tasks/1"))), 303)

	for name, tc := range map[string]struct{ field, value, says string }{
		"no title":     {"title", " ", "Title cannot be empty"},
		"bad date":     {"due_date", "soon", "real date"},
		"no number":    {"depends_on", "2, two", "&#34;two&#34; is not the number of a task"},
		"a circle":     {"depends_on", "1", "cannot depend on itself"},
		"no such task": {"depends_on", "77", "task 77, which does not exist"},
	} {
		t.Run(name, func(t *testing.T) {
			form := with(formOf(t, s.get("/console/tasks/1")), tc.field, tc.value, "description", "still here")
			expect(t, s.post("/console/tasks/1", form), 400, tc.says, "still here", " data-fresh")
		})
	}
	for _, id := range []string{"77", "0", "x", "99999999999999999999"} {
		expect(t, s.get("/console/tasks/"+id), 404, "Task not found")
	}
	expect(t, s.get("/console/tasks/1?user=grace"), 404)
	expect(t, s.post("/console/tasks/1?user=grace", form), 404)
}

// TestTaskConflict checks that a change of somebody else is neither lost nor overwrites what a
// person has typed.
func TestTaskConflict(t *testing.T) {
	s := newStack(t, nil)
	s.addTask("ada", "Water the garden", "2026-08-01")
	form := formOf(t, s.get("/console/tasks/1"))
	s.call("update_task", `{"user_id":"ada","task_id":"1","title":"Weed the garden","priority":"Low"}`)

	// Another field than the one that was changed meanwhile: both changes hold.
	expect(t, s.post("/console/tasks/1", with(form, "due_date", "2026-08-05")), 303)
	if got := s.task("garden"); !strings.Contains(got, `"title":"Weed the garden"`) || !strings.Contains(got, "2026-08-05") {
		t.Errorf("the task is %s", got)
	}
	// The same field: both values are shown, and nothing is stored.
	w := s.post("/console/tasks/1", with(form, "title", "Fence the garden", "description", "typed"))
	expect(t, w, 409, "a field that you changed too", `value="Fence the garden"`, "<p class=\"lines\" data-theirs>Weed the garden</p>", "typed", " data-fresh")
	if got := s.task("garden"); !strings.Contains(got, "Weed") || strings.Contains(got, "typed") {
		t.Errorf("the task is %s", got)
	}
	again := formOf(t, w)
	if again.Get("seen") == form.Get("seen") || again.Get("was.title") != "Weed the garden" {
		t.Errorf("the form is based on %v", again)
	}
	expect(t, s.post("/console/tasks/1", with(again, "title", "Fence the garden", "description", "typed")), 303)
	if got := s.task("garden"); !strings.Contains(got, "Fence") || !strings.Contains(got, "typed") || !strings.Contains(got, `"priority":"Low"`) {
		t.Errorf("the task is %s", got)
	}
	// Buttons about a task that has changed do nothing.
	for _, act := range []string{"done", "delete", "undo", "move"} {
		expect(t, s.post("/console/tasks/1/"+act, url.Values{"seen": {form.Get("seen")}, "to": {"today"}}), 409, "Somebody else has changed task 1")
	}
}

func TestMoveTask(t *testing.T) {
	s := newStack(t, nil)
	s.addTask("ada", "Garden", "2026-07-01")
	for _, tc := range []struct{ to, column, due string }{
		{"today", "today", "2026-08-01"},
		{"tomorrow", "tomorrow", "2026-08-02"},
		{"week", "week", "2026-08-08"},
		{"later", "later", "2026-08-15"},
		{"undated", "undated", ""},
		{"done", "done", ""},
		{"today", "today", "2026-08-01"},
	} {
		w := s.post("/console/tasks/1/move?view=board", url.Values{"to": {tc.to}, "at": {"list"}})
		expect(t, w, 303)
		if at := w.Header().Get("Location"); at != "/console/tasks?view=board" {
			t.Errorf("redirects to %s", at)
		}
		if part := column(s.get("/console/tasks?view=board").Body.String(), tc.column); !strings.Contains(part, `id="task-1"`) {
			t.Errorf("after a move to %s it is not in the column %s:\n%s", tc.to, tc.column, part)
		}
		if got := s.task("Garden"); tc.due != "" && !strings.Contains(got, tc.due) {
			t.Errorf("after a move to %s: %s", tc.to, got)
		}
	}
	for _, to := range []string{"", "overdue", "2026-01-01"} {
		expect(t, s.post("/console/tasks/1/move", url.Values{"to": {to}}), 400, "to must be")
	}
}

func TestTaskButtons(t *testing.T) {
	s := newStack(t, nil)
	s.addTask("ada", "Garden", "2026-08-01")
	s.call("claim_task", `{"user_id":"ada","task_id":"1"}`)
	expect(t, s.get("/console/tasks/1"), 200, "agent has claimed this", "Release the claim", "until <time")
	expect(t, s.post("/console/tasks/1/release", nil), 303)
	expectNot(t, s.get("/console/tasks/1"), "has claimed this")

	expect(t, s.post("/console/tasks/1/done", url.Values{"seen": {formOf(t, s.get("/console/tasks/1")).Get("seen")}}), 303)
	expect(t, s.get("/console/tasks/1"), 200, "Reopen")
	expect(t, s.post("/console/tasks/1/reopen", nil), 303)
	if got := s.task("Garden"); !strings.Contains(got, `"completed":false`) {
		t.Error(got)
	}
	expect(t, s.post("/console/tasks/1/undo", nil), 303) // it is done again
	if got := s.task("Garden"); !strings.Contains(got, `"completed":true`) {
		t.Error(got)
	}
	w := s.post("/console/tasks/1/delete", url.Values{"seen": {formOf(t, s.get("/console/tasks/1")).Get("seen")}})
	expect(t, w, 303)
	at := w.Header().Get("Location")
	expect(t, s.get(at), 200, "Task #1 was deleted", `action="/console/tasks/1/restore"`, "No tasks yet")
	expect(t, s.get("/console/tasks?view=trash"), 200, "Garden", `action="/console/tasks/1/restore?view=trash"`)
	expect(t, s.get("/console/tasks/1"), 404)
	expect(t, s.post("/console/tasks/1/restore", nil), 303)
	expect(t, s.get("/console/tasks/1"), 200, "Garden")
	expect(t, s.post("/console/tasks/1/restore", nil), 404)
	expect(t, s.get("/console/tasks?view=trash"), 200, "No deleted tasks")

	s.addTask("ada", "New", "")
	expect(t, s.post("/console/tasks/2/undo", nil), 409, "nothing to undo")
	expect(t, s.get("/console/tasks?view=none"), 400, "view must be")
	expect(t, s.get("/console/tasks?status=none"), 400, "status must be")
}

func TestTaskFilters(t *testing.T) {
	s := newStack(t, nil)
	for title, due := range map[string]string{"Yesterday": "2026-07-31", "Right now": "2026-08-01", "Whenever": ""} {
		s.addTask("ada", title, due)
	}
	s.addTask("ada", "Finished", "")
	s.call("complete_task", `{"user_id":"ada","task_id":"4"}`)
	for query, titles := range map[string]string{
		"": "Yesterday,Right now,Whenever,Finished", "status=open": "Yesterday,Right now,Whenever", "status=completed": "Finished",
		"due=overdue": "Yesterday", "due=today": "Right now", "due=overdue&due=today": "Yesterday,Right now", "search=w": "Right now,Whenever", "search=i&status=completed": "Finished",
	} {
		w := s.get("/console/tasks?" + query)
		for _, title := range []string{"Yesterday", "Right now", "Whenever", "Finished"} {
			if shown := strings.Contains(w.Body.String(), ">"+title+"</a>"); shown != strings.Contains(titles, title) {
				t.Errorf("%q shows %s: %v", query, title, shown)
			}
		}
	}
}

// TestTaskRights checks that neither a viewer nor a read-only server changes tasks, and what an
// operator's rule for a tool does to the form.
func TestTaskRights(t *testing.T) {
	s := newStack(t, nil)
	s.addTask("ada", "Garden", "")
	s.role = identity.Viewer
	w := s.get("/console/tasks/1")
	expect(t, w, 200, "Garden")
	expectNot(t, w, "<button type=\"submit\">Save", "draggable", "/move", "/delete", "was.title")
	for _, act := range []string{"", "/done", "/reopen", "/move", "/release", "/delete", "/restore", "/undo"} {
		expect(t, s.post("/console/tasks/1"+act, url.Values{"title": {"No"}, "to": {"done"}}), 403, "approver")
	}

	locked := newStack(t, nil, func(c *cli.Settings) { c.ReadOnly = true })
	for _, act := range []string{"/done", "/reopen", "/release", "/delete", "/restore", "/undo"} {
		if w := locked.post("/console/tasks/1"+act, nil); w.Code != 403 && w.Code != 404 {
			t.Errorf("a read-only server answers %d to %s", w.Code, act)
		}
	}

	slow := newStack(t, nil, func(c *cli.Settings) {
		c.Tools = map[string]contract.Tightening{"update_task": {Approval: true}}
	})
	slow.addTask("ada", "Garden", "")
	form := with(formOf(t, slow.get("/console/tasks/1")), "title", "Yard")
	expect(t, slow.post("/console/tasks/1", form), 202, "This needs a person’s approval", `value="Yard"`)
	expect(t, slow.get("/console/tasks"), 200, "1 waiting")
	expect(t, slow.get("/console/tasks/1"), 200, "console:ada asks:")
}
