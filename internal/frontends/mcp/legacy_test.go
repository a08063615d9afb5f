package mcp_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"remit/internal/engine/approval"
	"remit/internal/frontends/mcp"
)

const ping = `{"jsonrpc":"2.0","id":7,"method":"ping"}`

// TestSessionLifecycle checks a session from initialize to DELETE.
func TestSessionLifecycle(t *testing.T) {
	r := newRig(t, setup{})
	got := r.post(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`,
		"MCP-Protocol-Version", "2025-11-25", "Mcp-Method", "initialize") // some clients send both
	id := got.header.Get("Mcp-Session-Id")
	if got.status != http.StatusOK || len(id) < 20 || strings.Trim(id, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") != "" {
		t.Fatalf("%d, session %q: %s", got.status, id, got.body)
	}
	if got.header.Get("Content-Type") != "application/json" || got.at("result", "serverInfo", "name") != "remit" || got.at("result", "resultType") != nil {
		t.Errorf("got %s %s", got.header.Get("Content-Type"), got.body)
	}
	s := &session{r, id, "2025-11-25", "/mcp"}
	for _, body := range []string{
		message(nil, "notifications/initialized", `{}`),
		message(nil, "notifications/unheard/of", `{}`),
		message(nil, "notifications/cancelled", `{"requestId":12}`),
		message(nil, "notifications/cancelled", `{"requestId":{}}`),
		`{"jsonrpc":"2.0","id":"remit-1","result":{}}`,
		`{"jsonrpc":"2.0","id":5,"error":{"code":1,"message":"no"}}`,
	} {
		if got := s.post(body); got.status != http.StatusAccepted || got.body != "" {
			t.Errorf("%s: %d %q, want 202 without a body", body, got.status, got.body)
		}
	}
	if got := s.post(ping); got.body != `{"jsonrpc":"2.0","id":7,"result":{}}` {
		t.Errorf("ping: %d %s", got.status, got.body)
	}
	if got := s.post(message(8, "logging/setLevel", `{"level":"info"}`)); got.body != `{"jsonrpc":"2.0","id":8,"result":{}}` {
		t.Errorf("setLevel: %d %s", got.status, got.body)
	}
	if got := s.delete(); got.status != http.StatusNoContent || got.body != "" {
		t.Errorf("DELETE: %d %q", got.status, got.body)
	}
	s.post(ping).want(t, "after DELETE", http.StatusNotFound, -32600)
	s.delete().want(t, "DELETE again", http.StatusNotFound, -32600)
	if got := s.get(); got.status != http.StatusNotFound {
		t.Errorf("GET after DELETE: %d", got.status)
	}
	if r.http.Sessions() != 0 {
		t.Errorf("%d sessions are left", r.http.Sessions())
	}
}

// TestSessionRefusals checks that a session is valid only for its endpoint, principal and version.
func TestSessionRefusals(t *testing.T) {
	r := newRig(t, setup{})
	s := r.initialize("2025-06-18", `{}`)
	for _, tc := range []struct {
		name         string
		headers      []string
		post, delete int // 0: not tried
	}{
		{"none", []string{"Mcp-Session-Id", ""}, 400, 400},
		{"unknown", []string{"Mcp-Session-Id", "AAAAAAAAAAAAAAAAAAAAAAAAAA"}, 404, 404},
		{"in small letters", []string{"Mcp-Session-Id", strings.ToLower(s.id)}, 404, 404},
		{"another principal", []string{principalHeader, "eve"}, 404, 404},
		{"an unknown version", []string{"MCP-Protocol-Version", "2024-01-01"}, 400, 400},
		{"not a version", []string{"MCP-Protocol-Version", "latest"}, 400, 400},
		{"a version of the other era", []string{"MCP-Protocol-Version", "2026-07-28"}, 400, 405},
		{"no version", []string{"MCP-Protocol-Version", ""}, 200, 0},
		{"another version that is known", []string{"MCP-Protocol-Version", "2025-11-25"}, 200, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := s.post(ping, tc.headers...); got.status != tc.post {
				t.Errorf("POST: %d, want %d: %s", got.status, tc.post, got.body)
			}
			if tc.delete == 0 {
				return
			}
			for _, method := range []string{http.MethodDelete, http.MethodGet} {
				if got := s.do(s.request(context.Background(), method, "/mcp", "", s.with(tc.headers)...)); got.status != tc.delete {
					t.Errorf("%s: %d, want %d: %s", method, got.status, tc.delete, got.body)
				}
			}
		})
	}
	other := *s
	other.path = "/other"
	other.post(ping).want(t, "another endpoint", http.StatusNotFound, -32600)
	other.delete().want(t, "DELETE at another endpoint", http.StatusNotFound, -32600)
	s.post(ping).want(t, "the session itself", http.StatusOK, nil)
	two := s.request(context.Background(), http.MethodPost, "/mcp", ping, s.with(nil)...)
	two.Header.Add("Mcp-Session-Id", s.id)
	s.do(two).want(t, "two sessions at once", http.StatusNotFound, -32600)
}

// TestSessionIDNotChosenByClient checks that clients cannot choose a session id.
func TestSessionIDNotChosenByClient(t *testing.T) {
	r := newRig(t, setup{})
	greeting := message(1, "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`)
	got := r.post(greeting, "Mcp-Session-Id", "AAAAAAAAAAAAAAAAAAAAAAAAAA")
	if got.status != http.StatusNotFound || got.header.Get("Mcp-Session-Id") != "" || r.http.Sessions() != 0 {
		t.Errorf("%d, %v, %d sessions", got.status, got.header, r.http.Sessions())
	}
	s := r.initialize("2025-11-25", `{}`)
	if got := s.post(greeting); got.header.Get("Mcp-Session-Id") != "" || r.http.Sessions() != 1 {
		t.Errorf("a greeting within a session opened another: %d %v", got.status, got.header)
	}
	r.post(message(nil, "initialize", `{"protocolVersion":"2025-11-25"}`)).want(t, "without an id", http.StatusBadRequest, -32600)
}

func TestNegotiation(t *testing.T) {
	r := newRig(t, setup{})
	for wanted, want := range map[string]string{
		"2025-11-25": "2025-11-25", "2025-06-18": "2025-06-18", "2025-03-26": "2025-03-26", "2024-11-05": "2024-11-05",
		"2026-07-28": "2025-11-25", "2024-10-07": "2025-11-25", "1": "2025-11-25", "": "2025-11-25",
	} {
		greeting := message(1, "initialize", `{"protocolVersion":"`+wanted+`","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`)
		got := r.post(greeting)
		if got.status != http.StatusOK || got.at("result", "protocolVersion") != want {
			t.Errorf("HTTP, %q: %d %s, want %s", wanted, got.status, got.body, want)
		}
		a, _ := open(t, approval.Auto)
		if change := at(mustJSON(t, talk(t, a, greeting)["1"]), "result", "protocolVersion"); change != want {
			t.Errorf("stdio, %q: %v, want %s", wanted, change, want)
		}
	}
	if got := r.post(message(1, "initialize", `{}`)); got.at("result", "protocolVersion") != "2025-11-25" {
		t.Errorf("a client without a description: %d %s", got.status, got.body)
	}
}

// TestIdleSessions checks that an idle session ends, and one with a stream does not.
func TestIdleSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, setup{memNetwork: true, limits: mcp.Limits{Idle: 10 * time.Minute}})
		unused, used, listening := r.initialize("2025-11-25", `{}`), r.initialize("2025-11-25", `{}`), r.initialize("2025-11-25", `{}`)
		stream := listening.get()
		for range 3 {
			time.Sleep(5 * time.Minute)
			used.post(ping).want(t, "a session in use", http.StatusOK, nil)
		}
		unused.post(ping).want(t, "an unused session", http.StatusNotFound, -32600)
		listening.post(ping).want(t, "a session with a stream", http.StatusOK, nil)
		stream.close()
		time.Sleep(12 * time.Minute)
		listening.post(ping).want(t, "a session whose stream is gone", http.StatusNotFound, -32600)
		if r.http.Sessions() != 0 {
			t.Errorf("%d sessions are left", r.http.Sessions())
		}
	})
}

// TestDeleteEndsCalls checks that the calls and streams of a session end with it.
func TestDeleteEndsCalls(t *testing.T) {
	r := newRig(t, setup{})
	s := r.initialize("2025-11-25", allThree)
	standing := s.get()
	asking := s.start(call(1, "test_elicitation", `{"message":"m"}`))
	asking.next()
	answers := make(chan reply, 1)
	go func() { answers <- s.post(call(2, "slow_compute", `{"seconds":60}`)) }()
	time.Sleep(20 * time.Millisecond)
	if got := s.delete(); got.status != http.StatusNoContent {
		t.Fatalf("DELETE: %d %s", got.status, got.body)
	}
	standing.ended()
	asking.ended()
	if got := <-answers; got.code() == nil && got.at("result", "isError") != true {
		t.Errorf("the call went on: %s", got.body)
	}
}

func mustJSON(t testing.TB, v any) string {
	t.Helper()
	return string(marshal(t, v))
}

// TestCancelOverHTTP checks that a canceled call stops and gets no response.
func TestCancelOverHTTP(t *testing.T) {
	r := newRig(t, setup{})
	s := r.initialize("2025-11-25", allThree)
	answers := make(chan reply, 1)
	go func() { answers <- s.post(call("slow", "slow_compute", `{"seconds":60}`)) }()
	eventually(t, "the call was taken back", func() bool {
		s.post(message(nil, "notifications/cancelled", `{"requestId":"slow"}`))
		return len(answers) == 1
	})
	if got := <-answers; got.at("result") != nil || got.at("id") != nil {
		t.Errorf("there was a response: %d %s", got.status, got.body)
	}
	if got := s.post(call("slow", "test_simple_text", `{}`)); got.text() == "" {
		t.Errorf("the id cannot be used again: %s", got.body)
	}
}

// TestCancelCancelsQuestion checks that canceling a call that waits for a person also cancels
// the question, and that nothing is written.
func TestCancelCancelsQuestion(t *testing.T) {
	r := newRig(t, setup{toolsets: []string{"learning-os"}})
	s := r.initialize("2025-11-25", `{"elicitation":{"form":{}}}`)
	stream := s.start(write)
	question := stream.next()
	if at(question.data, "method") != "elicitation/create" {
		t.Fatalf("got %s", question.data)
	}
	s.post(message(nil, "notifications/cancelled", `{"requestId":1,"reason":"changed my mind"}`))
	withdrawn := stream.next()
	if at(withdrawn.data, "method") != "notifications/cancelled" || at(withdrawn.data, "params", "requestId") != at(question.data, "id") {
		t.Errorf("the question was not withdrawn: %s", withdrawn.data)
	}
	if rest := stream.ended(); len(rest) != 0 {
		t.Errorf("there was a response: %v", rest)
	}
	s.post(`{"jsonrpc":"2.0","id":"remit-1","result":{"action":"accept","content":{}}}`)
	time.Sleep(20 * time.Millisecond)
	if _, err := os.Stat(filepath.Join(r.root, ".claude/memory/decisions.jsonl")); err == nil {
		t.Error("the entry was written nevertheless")
	}
}

// TestSameIDTwice checks that an id can be reused only after its request has ended.
func TestSameIDTwice(t *testing.T) {
	r := newRig(t, setup{})
	s := r.initialize("2025-11-25", allThree)
	stream := s.start(call("a/b", "test_elicitation", `{"message":"m"}`))
	question := stream.next()
	s.post(ping).want(t, "another id", 200, nil)
	for _, body := range []string{
		call("a/b", "test_simple_text", `{}`),
		`{"jsonrpc":"2.0","id":"a\/b","method":"ping"}`,
		`{"jsonrpc":"2.0","id":"\u0061\u002fb","method":"ping"}`,
	} {
		s.post(body).want(t, body, http.StatusBadRequest, -32600)
	}
	other := r.initialize("2025-11-25", `{}`)
	other.post(call("a/b", "test_simple_text", `{}`)).want(t, "the same id in another session", 200, nil)
	other.post(strings.Replace(answerTo(question), `"accept"`, `"decline"`, 1))
	other.post(message(nil, "notifications/cancelled", `{"requestId":"a/b"}`))
	s.post(answerTo(question))
	if got := stream.next(); !strings.Contains(got.data, "action: accept") {
		t.Errorf("got %s", got.data)
	}
	s.post(call("a/b", "test_simple_text", `{}`)).want(t, "the id again", 200, nil)
}

// TestCancelNormalizesID checks that ids are compared as strings, not by their encoding.
func TestCancelNormalizesID(t *testing.T) {
	a, _ := open(t, approval.Ask)
	c := converse(t, a)
	c.send(canElicit)
	c.receive()
	c.send(strings.Replace(write, `"id":1`, `"id":"a/b"`, 1))
	c.receive()
	c.send(message(nil, "notifications/cancelled", `{"requestId":"a\/\u0062"}`))
	if got := c.receive(); !strings.Contains(got, "notifications/cancelled") {
		t.Errorf("got %s", got)
	}
	c.end()
}

// answerTo returns a response that accepts a question.
func answerTo(question event) string {
	id, _ := at(question.data, "id").(string)
	result := `{"action":"accept","content":{"username":"u","email":"e","reason":"r","ok":true}}`
	switch at(question.data, "method") {
	case "sampling/createMessage":
		result = `{"role":"assistant","content":{"type":"text","text":"sampled"},"model":"m"}`
	case "roots/list":
		result = `{"roots":[{"uri":"file:///r"}]}`
	}
	return `{"jsonrpc":"2.0","id":"` + id + `","result":` + result + `}`
}

// TestQuestions checks that questions during a call come on its stream, or on the general stream if
// the client accepts only JSON.
func TestQuestions(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ tool, args, method, want string }{
		{"test_elicitation", `{"message":"m"}`, "elicitation/create", `User response: <action: accept`},
		{"test_sampling", `{"prompt":"p"}`, "sampling/createMessage", `LLM response: sampled`},
		{"test_input_required_result_list_roots", `{}`, "roots/list", `Roots: file:///r`},
	} {
		for _, version := range []string{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"} {
			t.Run(tc.method+" "+version, func(t *testing.T) {
				s := newRig(t, setup{}).initialize(version, allThree)
				stream := s.start(call(1, tc.tool, tc.args))
				if got := stream.header.Get("Content-Type"); got != "text/event-stream" || stream.header.Get("X-Accel-Buffering") != "no" {
					t.Errorf("headers %v", stream.header)
				}
				question := stream.next()
				if at(question.data, "method") != tc.method || question.id == "" {
					t.Errorf("got %+v, want %s", question, tc.method)
				}
				if got := s.post(answerTo(question)); got.status != http.StatusAccepted {
					t.Errorf("answer: %d %s", got.status, got.body)
				}
				if got := stream.next(); at(got.data, "id") != 1.0 || !strings.Contains(got.data, tc.want) {
					t.Errorf("got %s, want %s", got.data, tc.want)
				}
				stream.ended()
			})
		}
		t.Run(tc.method+" on the standing stream", func(t *testing.T) {
			s := newRig(t, setup{}).initialize("2025-11-25", allThree)
			standing := s.get()
			answers := make(chan reply, 1)
			go func() { answers <- s.post(call(1, tc.tool, tc.args), "Accept", "application/json") }()
			question := standing.next()
			if at(question.data, "method") != tc.method {
				t.Errorf("got %s, want %s", question.data, tc.method)
			}
			s.post(answerTo(question))
			if got := <-answers; got.header.Get("Content-Type") != "application/json" || !strings.Contains(got.text(), tc.want) {
				t.Errorf("got %s %s", got.header.Get("Content-Type"), got.body)
			}
			standing.quiet()
		})
		t.Run(tc.method+" nowhere", func(t *testing.T) {
			s := newRig(t, setup{}).initialize("2025-11-25", allThree)
			if got := s.post(call(1, tc.tool, tc.args), "Accept", "application/json"); got.at("result", "isError") != true {
				t.Errorf("got %s", got.body)
			}
			s = s.initialize("2025-11-25", `{}`)
			if got := s.post(call(1, tc.tool, tc.args)); got.at("result", "isError") != true || !strings.Contains(got.text(), "did not declare") {
				t.Errorf("a client that cannot: %s", got.body)
			}
		})
	}
}

// TestApprovalOverHTTP checks approval through the client; a refusal that comes too fast does not
// count.
func TestApprovalOverHTTP(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, answer string
		thinks       time.Duration
		want         string
		written      bool
	}{
		{"accepted", `"result":{"action":"accept","content":{}}`, 350 * time.Millisecond, `line_number\":1`, true},
		{"accepted before anyone saw it", `"result":{"action":"accept","content":{}}`, 0, `\"status\":\"pending\"`, false},
		{"declined", `"result":{"action":"decline"}`, 350 * time.Millisecond, "A person denied this call", false},
		{"declined before anyone saw it", `"result":{"action":"decline"}`, 0, `\"status\":\"pending\"`, false},
		{"nonsense", `"result":{"action":["accept"]}`, 0, `\"status\":\"pending\"`, false},
		{"no result", `"result":true`, 0, `\"status\":\"pending\"`, false},
		{"client fails", `"error":{"code":-32601,"message":"no"}`, 0, `\"status\":\"pending\"`, false},
	} {
		inBubble(t, tc.name, func(t *testing.T) {
			r := newRig(t, setup{toolsets: []string{"learning-os"}, memNetwork: true})
			s := r.initialize("2025-11-25", `{"elicitation":{}}`)
			stream := s.start(write)
			question := stream.next()
			time.Sleep(tc.thinks)
			s.post(`{"jsonrpc":"2.0","id":"` + at(question.data, "id").(string) + `",` + tc.answer + `}`)
			if got := stream.next(); !strings.Contains(got.data, tc.want) {
				t.Errorf("got %s, want %s", got.data, tc.want)
			}
			if _, err := os.Stat(filepath.Join(r.root, ".claude/memory/decisions.jsonl")); (err == nil) != tc.written {
				t.Errorf("written = %v, want %v", err == nil, tc.written)
			}
		})
	}
}

// TestProgress checks that progress comes before the result, with the client's token, and only if
// there is one.
func TestProgress(t *testing.T) {
	t.Parallel()
	s := newRig(t, setup{}).initialize("2025-11-25", `{}`)
	for _, token := range []string{`"t-1"`, `7`, `"\u0041"`} {
		stream := s.start(message(1, "tools/call", `{"name":"test_tool_with_progress","arguments":{},"_meta":{"progressToken":`+token+`}}`))
		var done []any
		for range 3 {
			got := stream.next()
			if at(got.data, "method") != "notifications/progress" || !strings.Contains(got.data, `"progressToken":`+token) {
				t.Fatalf("got %s", got.data)
			}
			done = append(done, at(got.data, "params", "progress"))
		}
		if done[0] != 0.0 || done[1] != 50.0 || done[2] != 100.0 {
			t.Errorf("progress was %v", done)
		}
		if rest := stream.ended(); len(rest) != 1 || at(rest[0].data, "result") == nil {
			t.Errorf("after the progress came %v", rest)
		}
	}
	for _, meta := range []string{`{}`, `{"progressToken":null}`, `{"progressToken":{}}`} {
		got := s.post(message(2, "tools/call", `{"name":"test_tool_with_progress","arguments":{},"_meta":`+meta+`}`))
		if got.header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: a client without a token got progress: %s", meta, got.body)
		}
	}
}

// TestLogLevels checks that a client gets log messages of its level and above, from the moment it
// sets the level.
func TestLogLevels(t *testing.T) {
	s := newRig(t, setup{}).initialize("2025-11-25", `{}`)
	logged := func() int {
		return strings.Count(s.post(call(1, "test_logging_tool", `{}`)).body, "notifications/message")
	}
	if got := logged(); got != 1 {
		t.Errorf("by default: %d messages, want 1", got)
	}
	for level, want := range map[string]int{
		"debug": 1, "info": 1, "notice": 0, "warning": 0, "error": 0, "critical": 0, "alert": 0, "emergency": 0,
	} {
		s.post(message(2, "logging/setLevel", `{"level":"`+level+`"}`)).want(t, level, http.StatusOK, nil)
		if got := logged(); got != want {
			t.Errorf("%s: %d messages, want %d", level, got, want)
		}
	}
	for _, params := range []string{`{}`, `{"level":"loud"}`, `{"level":3}`, `{"level":"INFO"}`} {
		s.post(message(3, "logging/setLevel", params)).want(t, params, http.StatusOK, -32602)
	}
	if other := s.initialize("2025-11-25", `{}`); strings.Count(other.post(call(1, "test_logging_tool", `{}`)).body, "notifications/message") != 1 {
		t.Error("the level of one session is that of another")
	}
}
