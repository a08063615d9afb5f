package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// TestIdempotencyKeysOnEveryFrontend checks that a key works on every front end and across them: it
// belongs to the caller and the tool, not to the front end.
func TestIdempotencyKeysOnEveryFrontend(t *testing.T) {
	t.Parallel()
	onEachDatabase(t, func(t *testing.T, flags ...string) {
		s := newWorkspace(t, nil)
		flags = append(flags, "--toolsets", "tasks")
		const args, key = `{"user_id":"ann","title":"Buy milk"}`, "shopping-1"
		w := s.serve(flags...)
		first := w.post("/tools/add_task", args, http.Header{"Idempotency-Key": {key}})
		if first.status != http.StatusOK || first.header.Get("Idempotency-Replayed") != "" {
			t.Fatalf("the first call: status %d, %v: %s", first.status, first.header, first.body)
		}
		again := w.post("/tools/add_task", args, http.Header{"Idempotency-Key": {key}})
		if string(again.body) != string(first.body) || again.header.Get("Idempotency-Replayed") != "true" {
			t.Errorf("repeated over HTTP: %v: %s", again.header, again.body)
		}
		meta := fmt.Sprintf(`{"name":"add_task","arguments":%s,"_meta":{"io.remit/idempotencyKey":%q}}`, args, key)
		r := s.stdio(flags...)
		if m := r.ask("tools/call", meta); !strings.Contains(string(m.Result), quoted(string(first.body))) || !strings.Contains(string(m.Result), `"io.remit/replayed":true`) {
			t.Errorf("over stdio: %s", m.raw)
		}
		r.end()
		got := s.remit(append([]string{"call", "add_task", "--json", args, "--idempotency-key", key}, flags...)...)
		if got.code != 0 || strings.TrimSpace(got.out) != string(first.body) {
			t.Errorf("on the command line: exit %d: %s%s", got.code, got.out, got.errOut)
		}
		other := w.post("/tools/add_task", `{"user_id":"ann","title":"Buy bread"}`, http.Header{"Idempotency-Key": {key}})
		if other.status != http.StatusConflict || !strings.Contains(string(other.body), `"code":"invalid_input"`) || !strings.Contains(string(other.body), "key") {
			t.Errorf("other arguments: status %d: %s", other.status, other.body)
		}
		for _, bad := range []string{"", " ", strings.Repeat("k", 256), "a\tb", "schlüssel"} {
			if got := w.post("/tools/add_task", args, http.Header{"Idempotency-Key": {bad}}); got.status != http.StatusBadRequest {
				t.Errorf("the key %q: status %d: %s", bad, got.status, got.body)
			}
		}
		// A failed call is not stored: the key can be used again once the call is corrected.
		late := http.Header{"Idempotency-Key": {"later"}}
		if got := w.post("/tools/complete_task", `{"user_id":"ann","task_id":"2"}`, late); got.status != http.StatusNotFound {
			t.Errorf("no such task: status %d: %s", got.status, got.body)
		}
		w.post("/tools/add_task", `{"user_id":"ann","title":"second"}`, nil)
		if got := w.post("/tools/complete_task", `{"user_id":"ann","task_id":"2"}`, late); got.status != http.StatusOK {
			t.Errorf("after the task exists: status %d: %s", got.status, got.body)
		}
		if listed := listAll(t, w.url, "ann"); len(listed) != 2 {
			t.Errorf("there are %d tasks, want 2", len(listed))
		}
		w.end()
	})
}
