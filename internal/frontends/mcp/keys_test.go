package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"remit/internal/engine/approval"
	"remit/internal/engine/idempotency"
	"remit/internal/engine/idempotency/idempotencytest"
)

const keyName = "io.remit/idempotencyKey"

// keyedRig is a rig with idempotency keys and the one tool that writes.
func keyedRig(t testing.TB, mode approval.Mode) *rig {
	t.Helper()
	r := newRig(t, setup{toolsets: []string{"learning-os"}, approve: mode})
	keys := &idempotencytest.Memory{}
	r.app.Engine().Idempotency = func(context.Context) (idempotency.Store, error) { return keys, nil }
	return r
}

// withMeta returns a write with members of _meta, in either era.
func withMeta(modernEra bool, args, members string) string {
	params := `{"name":"write_memory_entry","arguments":` + args + `,"_meta":`
	if modernEra {
		return message(1, "tools/call", params+meta(`{"elicitation":{}}`, `,`+members)+`}`)
	}
	return message(1, "tools/call", params+`{`+members+`}}`)
}

// eras runs a test as a client of each era.
func eras(t *testing.T, mode approval.Mode, test func(t *testing.T, r *rig, write func(args, members string) reply)) {
	t.Run("legacy", func(t *testing.T) {
		s := keyedRig(t, mode).initialize("2025-11-25", `{}`)
		test(t, s.rig, func(args, members string) reply { return s.post(withMeta(false, args, members)) })
	})
	t.Run("modern", func(t *testing.T) {
		r := keyedRig(t, mode)
		test(t, r, func(args, members string) reply { return r.ask(withMeta(true, args, members)) })
	})
}

func linesOf(t testing.TB, r *rig) int {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(r.root, ".claude/memory/decisions.jsonl"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.Count(string(data), "\n")
}

// TestKeys checks that a repeated call gets the same result, marked as replayed.
func TestKeys(t *testing.T) {
	eras(t, approval.Auto, func(t *testing.T, r *rig, write func(args, members string) reply) {
		const key = `"` + keyName + `":"k-1"`
		first, again := write(entry, key), write(entry, key)
		for i, got := range []reply{first, again} {
			replayed := got.at("result", "_meta", "io.remit/replayed")
			if got.at("result", "structuredContent", "line_number") != 1.0 || got.text() != first.text() || (replayed == true) != (i == 1) {
				t.Errorf("call %d: %s", i, got.body)
			}
		}
		if signed := first.at("result", "_meta", "io.modelcontextprotocol/serverInfo"); signed != nil {
			if fmt.Sprint(again.at("result", "_meta", "io.modelcontextprotocol/serverInfo")) != fmt.Sprint(signed) || again.at("result", "resultType") != "complete" {
				t.Errorf("the repeated call has no serverInfo: %s", again.body)
			}
		}
		other := write(strings.Replace(entry, `"x"`, `"y"`, 1), key)
		if other.at("result", "isError") != true || !strings.Contains(other.text(), "Idempotency key k-1 was used for another call; use a new key") {
			t.Errorf("another call: %s", other.body)
		}
		if got := write(entry, `"progressToken":1`); got.at("result", "structuredContent", "line_number") != 2.0 {
			t.Errorf("without a key: %s", got.body)
		}
		if n := linesOf(t, r); n != 2 {
			t.Errorf("%d lines were written, want 2", n)
		}
	})
}

// TestBadKeys checks that invalid keys are rejected with a clear message.
func TestBadKeys(t *testing.T) {
	eras(t, approval.Auto, func(t *testing.T, r *rig, write func(args, members string) reply) {
		for value, want := range map[string]string{
			`7`: "must be a string, not a number", `null`: "must be a string, not null", `{}`: "must be a string", `true`: "must be a string",
			`""`: "1 to 255 visible ASCII characters", `"a b"`: "1 to 255 visible", `"\u0000"`: "1 to 255 visible", `"é"`: "1 to 255 visible",
			`"` + strings.Repeat("x", 256) + `"`: "1 to 255 visible",
		} {
			got := write(entry, `"`+keyName+`":`+value)
			text, _ := got.at("error", "message").(string)
			if got.code() != -32602.0 || !strings.Contains(text, want) || !strings.Contains(text, keyName) {
				t.Errorf("%s: %s, want -32602 %q", value, got.body, want)
			}
		}
		if n := linesOf(t, r); n != 0 {
			t.Errorf("%d lines were written", n)
		}
	})
}

// TestKeyInContinuation checks that the state contains the key, and that a repeated call asks
// nobody.
func TestKeyInContinuation(t *testing.T) {
	r := keyedRig(t, approval.Ask)
	const tool, key = "write_memory_entry", `"` + keyName + `":"k-1"`
	asked := r.ask(withMeta(true, entry, key))
	yes := fmt.Sprintf(`{%q:{"action":"accept","content":{}}}`, approvalKey(t, asked))
	think()
	if done := r.round(tool, entry, yes, stateOf(t, asked)); done.at("result", "structuredContent", "line_number") != 1.0 {
		t.Fatalf("approved: %s", done.body)
	}
	again := r.ask(withMeta(true, entry, key))
	if again.at("result", "structuredContent", "line_number") != 1.0 || again.at("result", "_meta", "io.remit/replayed") != true {
		t.Errorf("repeat: %s", again.body)
	}
	if n := linesOf(t, r); n != 1 {
		t.Errorf("%d lines were written", n)
	}
}

// FuzzKey checks that any key is either valid or rejected.
func FuzzKey(f *testing.F) {
	for _, seed := range []string{`"k"`, `""`, `7`, `"\u0041"`, `"\ud800"`, `{"a":1}`, `null`, "\"\x7f\"", `"k","x":"y"`} {
		f.Add(seed)
	}
	r := keyedRig(f, approval.Auto)
	f.Fuzz(func(t *testing.T, value string) {
		body := withMeta(true, entry, `"`+keyName+`":`+value)
		var parsed struct {
			Params struct {
				Meta map[string]any `json:"_meta"`
			} `json:"params"`
		}
		if json.Unmarshal([]byte(body), &parsed) != nil {
			t.Skip("no JSON")
		}
		request := httptest.NewRequest(http.MethodPost, "/mcp", strings.NewReader(body))
		request.Header.Set("Content-Type", "application/json")
		for i, headers := 0, modernHeaders(body); i+1 < len(headers); i += 2 {
			request.Header.Set(headers[i], headers[i+1])
		}
		w := httptest.NewRecorder()
		r.mux.ServeHTTP(w, request)
		answer := w.Body.String()
		key, isText := parsed.Params.Meta[keyName].(string)
		if served := at(answer, "result", "structuredContent") != nil; served && (!isText || idempotency.CheckKey(key) != nil) || !served && at(answer, "error", "code") == nil {
			t.Errorf("%s: %s", value, answer)
		}
	})
}

// TestCallerReason checks that the person who decides can read why the client wants a call.
func TestCallerReason(t *testing.T) {
	eras(t, approval.Ask, func(t *testing.T, r *rig, write func(args, members string) reply) {
		const args = `{"file":"decisions.jsonl","entry":{"timestamp":"2026-01-09T10:30:00Z","type":"stack"}}`
		if got := write(args, `"io.remit/reason":["why"]`); got.code() != -32602.0 || !strings.Contains(got.body, "must be a string") {
			t.Errorf("a list of reasons: %s", got.body)
		}
		write(args, `"io.remit/reason":"The guide says so."`)
		store, err := r.app.Approvals(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		list, err := store.List(t.Context(), approval.ListOptions{Text: "the guide", Now: time.Now()})
		if err != nil || len(list) != 1 {
			t.Fatalf("listed %+v, error %v", list, err)
		}
		q := list[0]
		if q.CallerReason != "The guide says so." || q.Frontend != "http" || q.Summary != "Append an entry of type stack to decisions.jsonl" || q.Target != "decisions.jsonl" {
			t.Errorf("asked %+v", q)
		}
	})
}
