package e2e

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// instants are times in the format of the task tools.
var instants = regexp.MustCompile(`"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"`)

func refusal(code, message, details string) string {
	return fmt.Sprintf(`{"success":false,"error":{"code":%q,"message":%q,"details":%s}}`, code, message, details)
}

// taskRules are the rules of the contract document of the task tools, one call after the other,
// each with its whole answer (T stands for a time) and the HTTP status that goes with it.
func taskRules() []struct {
	tool, args, want string
	status           int
} {
	const (
		list     = `{"success":true,"data":{"tasks":[%s],"total":%d}}`
		task     = `{"id":%d,"title":%q,"description":%s,"completed":%t,"priority":%q,"due_date":%s,"created_at":T,"updated_at":T}`
		full     = `{"success":true,"data":{"id":%d,"user_id":"ann","title":%q,"description":%s,"completed":%t,"priority":%q,"due_date":%s,"created_at":T,"updated_at":T}}`
		done     = `{"success":true,"data":{"id":%d,"title":%q,"completed":true,"updated_at":T}}`
		badID    = "Task ID must be a positive integer"
		badDate  = "Due date must be a real date in YYYY-MM-DD format"
		badLevel = "Priority must be one of: Low, Medium, High"
	)
	ok := http.StatusOK
	bad := http.StatusBadRequest
	missing := func(id string) string {
		return refusal("not_found", "Task not found", fmt.Sprintf(`{"task_id":%q}`, id))
	}
	return []struct {
		tool, args, want string
		status           int
	}{
		{"list_tasks", `{"user_id":"ann"}`, fmt.Sprintf(list, "", 0), ok},
		{"add_task", `{"user_id":"ann","title":"  Buy groceries\n","description":"Milk, eggs, bread","due_date":"2025-01-30"}`, fmt.Sprintf(full, 1, "Buy groceries", `"Milk, eggs, bread"`, false, "Medium", `"2025-01-30"`), ok},
		{"add_task", `{"user_id":"ann","title":"Call dentist","priority":"High","description":null,"due_date":null}`, fmt.Sprintf(full, 2, "Call dentist", "null", false, "High", "null"), ok},
		{"add_task", `{"user_id":"ann","title":""}`, refusal("invalid_input", "Title cannot be empty", `{"field":"title"}`), bad},
		{"add_task", `{"user_id":"ann","title":" \t\n "}`, refusal("invalid_input", "Title cannot be empty", `{"field":"title"}`), bad},
		{"add_task", `{"user_id":"ann","title":"x","priority":"Urgent"}`, refusal("invalid_priority", badLevel, `{"field":"priority","value":"Urgent"}`), bad},
		{"add_task", `{"user_id":"ann","title":"x","priority":"high"}`, refusal("invalid_priority", badLevel, `{"field":"priority","value":"high"}`), bad},
		{"add_task", `{"user_id":"ann","title":"x","due_date":"2025-02-30"}`, refusal("invalid_date", badDate, `{"field":"due_date","value":"2025-02-30"}`), bad},
		{"add_task", `{"user_id":"ann","title":"x","due_date":"30.01.2025"}`, refusal("invalid_date", badDate, `{"field":"due_date","value":"30.01.2025"}`), bad},
		{"complete_task", `{"user_id":"ann","task_id":"2"}`, fmt.Sprintf(done, 2, "Call dentist"), ok},
		{"complete_task", `{"user_id":"ann","task_id":2}`, fmt.Sprintf(done, 2, "Call dentist"), ok},
		{"complete_task", `{"user_id":"bob","task_id":"2"}`, missing("2"), http.StatusNotFound},
		{"complete_task", `{"user_id":"ann","task_id":"999"}`, missing("999"), http.StatusNotFound},
		{"complete_task", `{"user_id":"ann","task_id":"99999999999999999999"}`, missing("99999999999999999999"), http.StatusNotFound},
		{"complete_task", `{"user_id":"ann","task_id":"0"}`, refusal("invalid_input", badID, `{"field":"task_id"}`), bad},
		{"complete_task", `{"user_id":"ann","task_id":"-1"}`, refusal("invalid_input", badID, `{"field":"task_id"}`), bad},
		{"complete_task", `{"user_id":"ann","task_id":"abc"}`, refusal("invalid_input", badID, `{"field":"task_id"}`), bad},
		{"complete_task", `{"user_id":"ann","task_id":1.5}`, refusal("invalid_input", badID, `{"field":"task_id"}`), bad},
		{"list_tasks", `{"user_id":"ann"}`, fmt.Sprintf(list, fmt.Sprintf(task, 2, "Call dentist", "null", true, "High", "null")+","+fmt.Sprintf(task, 1, "Buy groceries", `"Milk, eggs, bread"`, false, "Medium", `"2025-01-30"`), 2), ok},
		{"list_tasks", `{"user_id":"bob"}`, fmt.Sprintf(list, "", 0), ok},
		{"update_task", `{"user_id":"ann","task_id":"1"}`, refusal("invalid_input", "At least one field must be provided for update", `{}`), bad},
		{"update_task", `{"user_id":"ann","task_id":"1","title":null,"due_date":null}`, refusal("invalid_input", "At least one field must be provided for update", `{}`), bad},
		{"update_task", `{"user_id":"ann","task_id":"1","title":" "}`, refusal("invalid_input", "Title cannot be empty", `{"field":"title"}`), bad},
		{"update_task", `{"user_id":"ann","task_id":"1","title":"Buy groceries and snacks","description":"Milk, eggs, bread, chips","priority":"High"}`, fmt.Sprintf(full, 1, "Buy groceries and snacks", `"Milk, eggs, bread, chips"`, false, "High", `"2025-01-30"`), ok},
		{"update_task", `{"user_id":"ann","task_id":"1","completed":true,"clear":["description","due_date"]}`, fmt.Sprintf(full, 1, "Buy groceries and snacks", "null", true, "High", "null"), ok},
		{"update_task", `{"user_id":"bob","task_id":"1","title":"mine"}`, missing("1"), http.StatusNotFound},
		{"delete_task", `{"user_id":"bob","task_id":"1"}`, missing("1"), http.StatusNotFound},
		{"delete_task", `{"user_id":"ann","task_id":"1"}`, `{"success":true,"data":{"deleted":true,"task_id":"1"}}`, ok},
		{"delete_task", `{"user_id":"ann","task_id":"1"}`, missing("1"), http.StatusNotFound},
		{"delete_task", `{"user_id":"ann","task_id":2}`, `{"success":true,"data":{"deleted":true,"task_id":"2"}}`, ok},
		{"list_tasks", `{"user_id":"ann"}`, fmt.Sprintf(list, "", 0), ok},
		{"add_task", `{"user_id":"ann","title":"ids are not used again"}`, fmt.Sprintf(full, 3, "ids are not used again", "null", false, "Medium", "null"), ok},
	}
}

// The rules of the task tools hold on every front end and on both databases, to the byte.
func TestTaskRules(t *testing.T) {
	t.Parallel()
	check := func(t *testing.T, tool, args, got, want string) {
		t.Helper()
		if got := instants.ReplaceAllString(got, "T"); got != want {
			t.Errorf("%s %s\n got %s\nwant %s", tool, args, got, want)
		}
	}
	t.Run("HTTP", func(t *testing.T) {
		onEachDatabase(t, func(t *testing.T, flags ...string) {
			w := newWorkspace(t, nil).serve(append(flags, "--toolsets", "tasks")...)
			for _, r := range taskRules() {
				got := w.post("/tools/"+r.tool, r.args, nil)
				check(t, r.tool, r.args, string(got.body), r.want)
				if got.status != r.status {
					t.Errorf("%s %s: status %d, want %d", r.tool, r.args, got.status, r.status)
				}
			}
			w.end()
		})
	})
	t.Run("stdio", func(t *testing.T) {
		onEachDatabase(t, func(t *testing.T, flags ...string) {
			server := newWorkspace(t, nil).stdio(append(flags, "--toolsets", "tasks")...)
			for _, r := range taskRules() {
				got := server.call(r.tool, r.args)
				check(t, r.tool, r.args, got.text, r.want)
				if got.failed != (r.status != http.StatusOK) {
					t.Errorf("%s %s: isError is %t", r.tool, r.args, got.failed)
				}
			}
			server.end()
		})
	})
	t.Run("call", func(t *testing.T) {
		onEachDatabase(t, func(t *testing.T, flags ...string) {
			s := newWorkspace(t, nil)
			for _, r := range taskRules() {
				got := s.remit(append([]string{"call", r.tool, "--json", r.args, "--toolsets", "tasks"}, flags...)...)
				check(t, r.tool, r.args, strings.TrimSuffix(got.out, "\n"), r.want)
				if (got.code != 0) != (r.status != http.StatusOK) {
					t.Errorf("%s %s: exit code %d", r.tool, r.args, got.code)
				}
			}
		})
	})
}

// TestOtherUsersTasks checks that nobody can read, change or detect a task of another user: the
// answers equal those for a task that does not exist.
func TestOtherUsersTasks(t *testing.T) {
	t.Parallel()
	onEachDatabase(t, func(t *testing.T, flags ...string) {
		r := newWorkspace(t, nil).stdio(append(flags, "--toolsets", "tasks")...)
		for _, user := range []string{"ann", "ANN", "ann ", "ann%", "a_n", "änn"} {
			r.call("add_task", fmt.Sprintf(`{"user_id":%q,"title":"of %s"}`, user, user))
		}
		before := r.call("list_tasks", `{"user_id":"ann"}`).text
		for id := range 12 {
			for _, call := range []string{
				`complete_task {"user_id":"%s","task_id":"%d"}`,
				`update_task {"user_id":"%s","task_id":"%d","title":"mine","completed":true}`,
				`delete_task {"user_id":"%s","task_id":"%d"}`,
			} {
				tool, args, _ := strings.Cut(fmt.Sprintf(call, "eve", id+1), " ")
				if got, want := r.call(tool, args).text, refusal("not_found", "Task not found", fmt.Sprintf(`{"task_id":"%d"}`, id+1)); got != want {
					t.Errorf("%s %s\n got %s\nwant %s", tool, args, got, want)
				}
			}
		}
		for _, user := range []string{"eve", "Ann", "an", "%", "_nn"} {
			if got := r.call("list_tasks", fmt.Sprintf(`{"user_id":%q}`, user)).text; got != `{"success":true,"data":{"tasks":[],"total":0}}` {
				t.Errorf("%s got %s", user, got)
			}
		}
		if after := r.call("list_tasks", `{"user_id":"ann"}`).text; after != before || strings.Count(after, `"title"`) != 1 {
			t.Errorf("before %s\nafter  %s", before, after)
		}
		r.end()
	})
}
