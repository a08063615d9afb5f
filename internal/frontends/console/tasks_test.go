package console_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"remit/internal/contract"
	"remit/internal/engine/identity"
	"remit/internal/frontends/cli"
)

// column returns the HTML of one column of the board.
func column(page, key string) string {
	_, rest, _ := strings.Cut(page, `<section class="column `+key+`"`)
	column, _, _ := strings.Cut(rest, "</section>")
	return column
}

func (s *stack) addTask(user, title, due string) {
	s.t.Helper()
	args := map[string]string{"user_id": user, "title": title}
	if due != "" {
		args["due_date"] = due
	}
	sent, err := json.Marshal(args)
	if err != nil {
		s.t.Fatal(err)
	}
	s.call("add_task", string(sent))
}

func TestTaskBoard(t *testing.T) {
	s := newStack(t, nil)
	for title, due := range map[string]string{
		"Yesterday": "2026-07-31", "Right now": "2026-08-01", "Tomorrow": "2026-08-02", "In a week": "2026-08-08", "In nine days": "2026-08-10", "Whenever": "", nasty: "2026-08-01",
	} {
		s.addTask("ada", title, due)
	}
	s.addTask("grace", "Of another", "")
	s.call("add_task", `{"user_id":"ada","title":"Finished"}`)
	s.call("complete_task", `{"user_id":"ada","task_id":"9"}`)
	w := s.get("/console/tasks")
	expect(t, w, 200)
	for key, titles := range map[string][]string{
		"overdue": {"Yesterday"}, "today": {"Right now", "&lt;script&gt;"}, "tomorrow": {"Tomorrow"}, "week": {"In a week"}, "later": {"In nine days"}, "undated": {"Whenever"}, "done": {"Finished"},
	} {
		for _, title := range titles {
			if !strings.Contains(column(w.Body.String(), key), title) {
				t.Errorf("%q is not in the column %s", title, key)
			}
		}
		if count := strings.Count(column(w.Body.String(), key), `<li class="task`); count != len(titles) {
			t.Errorf("%d tasks in the column %s", count, key)
		}
	}
	expectNot(t, w, "Of another")
	expect(t, s.get("/console/tasks?user=grace"), 200, "Of another")
	expect(t, s.get("/console/tasks?user=nobody"), 200, "No tasks yet")
	expect(t, s.get("/console/tasks?search=TOMORROW"), 200, "Tomorrow")
	expectNot(t, s.get("/console/tasks?search=TOMORROW"), "Yesterday")
	expect(t, s.get("/console/tasks?search=none+such"), 200, "No matching tasks")
	expect(t, s.get("/console/tasks?priority=High"), 200, "No matching tasks")
	expect(t, s.get("/console/tasks?priority="+url.QueryEscape(nasty)), 400)
	expect(t, s.get("/console/tasks?today=nonsense"), 400)
	expect(t, s.get("/console/tasks?user="+url.QueryEscape(nasty)), 200)
	expect(t, s.get("/console/tasks?user=%00"), 400)
}

var older = regexp.MustCompile(`<a href="([^"]*)">Older`)

// TestTaskPages checks that each task is on exactly one page of its column, also if other tasks lie
// in between.
func TestTaskPages(t *testing.T) {
	s := newStack(t, nil)
	for i := range 60 {
		due := "2026-09-01"
		if i%4 == 0 {
			due = ""
		}
		s.addTask("ada", fmt.Sprintf("Number %d.", i), due)
	}
	for key, want := range map[string]int{"later": 45, "undated": 15} {
		seen := map[string]bool{}
		for target := "/console/tasks"; target != ""; {
			w := s.get(target)
			expect(t, w, 200)
			part := column(w.Body.String(), key)
			for _, title := range regexp.MustCompile(`Number \d+\.</a>`).FindAllString(part, -1) {
				if seen[title] {
					t.Errorf("%s: %s is listed twice", key, title)
				}
				seen[title] = true
			}
			target = ""
			if m := older.FindStringSubmatch(part); m != nil {
				target = strings.ReplaceAll(m[1], "&amp;", "&")
			}
		}
		if len(seen) != want {
			t.Errorf("%s: %d tasks on all pages, want %d", key, len(seen), want)
		}
	}
}

func TestTaskForms(t *testing.T) {
	s := newStack(t, nil)
	w := s.post("/console/tasks?user=grace", url.Values{"title": {"Call the dentist"}, "new_priority": {"High"}, "due_date": {"2026-08-01"}})
	expect(t, w, 303)
	if at := w.Header().Get("Location"); at != "/console/tasks?user=grace" {
		t.Errorf("redirects to %q", at)
	}
	expect(t, s.get("/console/tasks?user=grace"), 200, "Call the dentist")
	expect(t, s.post("/console/tasks/1/done?user=grace", nil), 303)
	if done := column(s.get("/console/tasks?user=grace").Body.String(), "done"); !strings.Contains(done, "Call the dentist") {
		t.Error("it is not done:", done)
	}
	expect(t, s.post("/console/tasks?user=grace", url.Values{"title": {"  "}, "description": {nasty}}), 400,
		"Title cannot be empty", "&lt;script&gt;")
	expect(t, s.post("/console/tasks?user=grace", url.Values{"title": {"x"}, "due_date": {"soon"}}), 400, "real date")
	expect(t, s.post("/console/tasks/99/done?user=grace", nil), 404, "Task not found")
	expect(t, s.post("/console/tasks/1/done?user=ada", nil), 404)
	s.role = identity.Viewer
	expect(t, s.post("/console/tasks?user=grace", url.Values{"title": {"No"}}), 403, "approver")
	expect(t, s.post("/console/tasks/1/done?user=grace", nil), 403)
	expectNot(t, s.get("/console/tasks?user=grace"), "Add a task")
}

// TestTaskThatWaits checks the form if an operator requires approval for new tasks.
func TestTaskThatWaits(t *testing.T) {
	s := newStack(t, nil, func(c *cli.Settings) {
		c.Tools = map[string]contract.Tightening{"add_task": {Approval: true}}
	})
	w := s.post("/console/tasks?user=grace", url.Values{"title": {"Call the dentist"}})
	expect(t, w, 202, "This needs a person’s approval", `href="/console/approvals/`, `value="Call the dentist"`)
	expect(t, s.get("/console/tasks?user=grace"), 200, "No tasks yet")
}
