package approval

import (
	"encoding/json"
	"testing"
	"time"
)

// TestView checks that a view has no members that its request or its frontend has not set, and that
// arguments which are not JSON become a text.
func TestView(t *testing.T) {
	at := time.Date(2026, 1, 9, 10, 30, 0, 0, time.UTC)
	r := Request{ID: "abc", State: Pending, Tool: "tasks/add_task", Version: "1.0.0", Principal: "local", CreatedAt: at, ExpiresAt: at.Add(time.Hour)}
	for arguments, want := range map[string]string{`{"b":1,"a":"x"}`: `{"b":1,"a":"x"}`, `{"b"`: `"{\"b\""`} {
		r.Arguments = []byte(arguments)
		got, err := json.Marshal(r.View(at))
		want = `{"id":"abc","state":"pending","tool":"tasks/add_task","version":"1.0.0","principal":"local","arguments":` + want +
			`,"created_at":"2026-01-09T10:30:00Z","expires_at":"2026-01-09T11:30:00Z"}`
		if err != nil || string(got) != want {
			t.Errorf("%s, error %v\nwant %s", got, err, want)
		}
	}
}
