package mcp_test

import (
	"net/http"
	"strings"
	"testing"
)

const knowsTasks = `{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}`

func startTask(t testing.TB, r *rig, tool, args string) string {
	t.Helper()
	got := r.ask(modern(1, "tools/call", `"name":"`+tool+`","arguments":`+args, knowsTasks))
	id, _ := got.at("result", "taskId").(string)
	if got.at("result", "resultType") != "task" || len(id) < 20 {
		t.Fatalf("no task: %s", got.body)
	}
	return id
}

func taskOf(r *rig, id string) reply {
	r.t.Helper()
	return r.ask(modern(1, "tasks/get", `"taskId":"`+id+`"`, knowsTasks))
}

// TestTaskLifecycle checks a task from the call through a question to the result.
func TestTaskLifecycle(t *testing.T) {
	t.Parallel()
	r := newRig(t, setup{})
	got := r.ask(modern(1, "tools/call", `"name":"confirm_delete","arguments":{"filename":"f"},"task":{"ttl":1}`, knowsTasks))
	for _, absent := range []string{"task", "result", "error", "inputRequests", "requestState", "ttl", "content"} {
		if got.at("result", absent) != nil {
			t.Errorf("a new task has %s: %s", absent, got.body)
		}
	}
	if ttl, _ := got.at("result", "ttlMs").(float64); ttl <= 0 || got.at("result", "createdAt") == nil {
		t.Errorf("got %s", got.body)
	}
	id := got.at("result", "taskId").(string)
	eventually(t, "it asks", func() bool { return taskOf(r, id).at("result", "status") == "input_required" })
	asked, _ := taskOf(r, id).at("result", "inputRequests").(map[string]any)
	if len(asked) != 1 {
		t.Fatalf("questions %v", asked)
	}
	update := func(responses string) reply {
		return r.ask(modern(1, "tasks/update", `"taskId":"`+id+`","inputResponses":`+responses, knowsTasks))
	}
	for _, bad := range []string{`null`, `[]`, `7`} {
		update(bad).want(t, bad, http.StatusBadRequest, -32602)
	}
	for _, ignored := range []string{`{}`, `{"unknown":{"ignored":true}}`, `{"unknown":7}`} {
		if got := update(ignored); got.at("result", "resultType") != "complete" || got.at("result", "status") != nil {
			t.Errorf("%s: %s", ignored, got.body)
		}
	}
	if got := taskOf(r, id).at("result", "status"); got != "input_required" {
		t.Errorf("an invalid answer was accepted: %v", got)
	}
	for key := range asked {
		update(`{"`+key+`":{"action":"accept","content":{"confirm":true}}}`).want(t, "answer", http.StatusOK, nil)
	}
	eventually(t, "it is done", func() bool { return taskOf(r, id).at("result", "status") == "completed" })
	if done := taskOf(r, id); done.at("result", "result", "content", "0", "text") == nil || done.at("result", "inputRequests") != nil {
		t.Errorf("got %s", done.body)
	}
	r.ask(modern(1, "tasks/cancel", `"taskId":"`+id+`"`, knowsTasks)).want(t, "cancel what is done", http.StatusOK, nil)
}

// TestTasksBelongToOwner checks that only the owner can read, answer or cancel a task.
func TestTasksBelongToOwner(t *testing.T) {
	r := newRig(t, setup{})
	id := startTask(t, r, "slow_compute", `{"seconds":60}`)
	for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
		body := modern(1, method, `"taskId":"`+id+`","inputResponses":{}`, knowsTasks)
		foreign := r.ask(body, principalHeader, "eve")
		foreign.want(t, method, http.StatusBadRequest, -32602)
		unknown := r.ask(strings.ReplaceAll(body, id, "0123456789abcdef0123456789abcdef"), principalHeader, "eve")
		if strings.ReplaceAll(foreign.body, id, "") != strings.ReplaceAll(unknown.body, "0123456789abcdef0123456789abcdef", "") {
			t.Errorf("%s reveals that it exists: %s", method, foreign.body)
		}
		gated := r.ask(modern(1, method, `"taskId":"`+id+`","inputResponses":{}`, `{}`))
		gated.want(t, method+" without the extension", http.StatusBadRequest, -32021)
		r.ask(modern(1, method, `"taskId":7`, knowsTasks), "Mcp-Name", "7").want(t, method+" by a number", http.StatusBadRequest, -32602)
	}
	if got := taskOf(r, id).at("result", "status"); got != "working" {
		t.Errorf("the task is %v", got)
	}
	r.ask(modern(1, "tasks/cancel", `"taskId":"`+id+`"`, knowsTasks)).want(t, "by its owner", http.StatusOK, nil)
	eventually(t, "it is cancelled", func() bool { return taskOf(r, id).at("result", "status") == "cancelled" })
}

// TestNoTasksInLegacyEra checks that the legacy era has no tasks.
func TestNoTasksInLegacyEra(t *testing.T) {
	r := newRig(t, setup{})
	s := r.initialize("2025-11-25", knowsTasks)
	if got := s.post(call(1, "slow_compute", `{"seconds":0}`)); got.text() == "" || got.at("result", "taskId") != nil {
		t.Errorf("got %s", got.body)
	}
	if got := s.post(call(1, "failing_job", `{}`)); got.at("result", "isError") != true {
		t.Errorf("got %s", got.body)
	}
	s.post(message(1, "tasks/get", `{"taskId":"x"}`)).want(t, "tasks/get", http.StatusOK, -32601)
}
