package tasks_test

import (
	"strings"
	"testing"
	"time"
)

// TestUndo: the last change of a task is taken back, whatever it was, and the undo can be undone.
func TestUndo(t *testing.T) {
	d := serve(t, nil)
	const one = `{"user_id":"ann","task_id":1}`
	added := text(d.mustCall(t, "add_task", `{"user_id":"ann","title":"x","description":"about","due_date":"2026-01-10"}`))
	d.fails(t, "undo_task", one, `{"code":"invalid_input","message":"Task 1 was not changed since it was added, so there is nothing to undo","details":{"task_id":1}}`)
	d.now = d.now.Add(time.Minute)
	same := func(got, want string) {
		t.Helper()
		if want = strings.ReplaceAll(want, `"updated_at":"2026-01-09T10:30:00Z"`, `"updated_at":"2026-01-09T10:31:00Z"`); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	changed := text(d.mustCall(t, "update_task", `{"user_id":"ann","task_id":1,"title":"y","priority":"High","completed":true,"clear":["description","due_date"]}`))
	same(text(d.mustCall(t, "undo_task", one)), added)
	same(text(d.mustCall(t, "undo_task", one)), changed)
	d.mustCall(t, "undo_task", one)
	d.mustCall(t, "delete_task", one)
	same(text(d.mustCall(t, "undo_task", one)), added)
	d.mustCall(t, "delete_task", one)
	if got := text(d.mustCall(t, "list_deleted_tasks", `{"user_id":"ann"}`)); strings.Count(got, `"title":"x"`) != 1 || !strings.Contains(got, `"deleted_at":"`) {
		t.Errorf("the trash is %s", got)
	}
	same(text(d.mustCall(t, "restore_task", one)), added)
	gone := `{"code":"not_found","message":"Task not found","details":{"task_id":1}}`
	d.fails(t, "restore_task", one, gone)
	d.fails(t, "undo_task", `{"user_id":"bob","task_id":1}`, gone)
}

// TestUndoEndsClaims: a task that is open again has no valid token.
func TestUndoEndsClaims(t *testing.T) {
	d := serve(t, nil)
	d.mustCall(t, "add_task", taskOne)
	token := d.claimed(t, "bot")
	d.mustCall(t, "complete_task", completing(token))
	d.mustCall(t, "undo_task", withoutToken)
	d.refused(t, "bot", "complete_task", completing(token), "stale_token")
	token = d.claimed(t, "bot")
	d.mustCall(t, "delete_task", withoutToken)
	d.mustCall(t, "restore_task", withoutToken)
	d.refused(t, "bot", "complete_task", completing(token), "stale_token")
}
