package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestVersionsAreNegotiated(t *testing.T) {
	t.Parallel()
	for asked, want := range map[string]string{
		"2024-11-05": "2024-11-05", "2025-03-26": "2025-03-26", "2025-06-18": "2025-06-18", "2025-11-25": "2025-11-25",
		"2024-01-01": "2025-11-25", "2099-01-01": "2025-11-25", "": "2025-11-25",
	} {
		t.Run("asks for "+asked, func(t *testing.T) {
			t.Parallel()
			r := newSpace(t, nil).stdio("--toolsets", "booster")
			m := r.ask("initialize", fmt.Sprintf(`{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"raw","version":"1"}}`, asked))
			var got struct {
				ProtocolVersion string                                `json:"protocolVersion"`
				Capabilities    map[string]json.RawMessage            `json:"capabilities"`
				ServerInfo      struct{ Name, Title, Version string } `json:"serverInfo"`
				Instructions    string                                `json:"instructions"`
			}
			r.decode(m.Result, &got)
			if got.ProtocolVersion != want {
				t.Errorf("protocolVersion %q, want %q", got.ProtocolVersion, want)
			}
			if got.Capabilities["tools"] == nil || got.ServerInfo.Name != "remit" || got.ServerInfo.Version == "" || got.Instructions == "" {
				t.Errorf("incomplete: %s", m.raw)
			}
			r.end()
		})
	}
}

// A server that was only looked at leaves no trace.
func TestNothingOnDiskBeforeTheFirstCall(t *testing.T) {
	t.Parallel()
	s := newSpace(t, nil)
	r := s.stdio("--toolsets", "learning-os")
	r.greet(`{}`)
	r.ask("tools/list", `{}`)
	r.ask("ping", `{}`)
	r.ask("no/such", `{}`)
	r.end()
	entries, err := os.ReadDir(s.root)
	if err != nil || len(entries) != 0 {
		t.Errorf("on disk before the first call: %v, %v", entries, err)
	}
}

// protocolFaults are requests that are no tool calls at all, with the code that
// each gets and the id under which it gets it.
var protocolFaults = []struct {
	name, line, id, says string
	code                 int
}{
	{"unknown method", `{"jsonrpc":"2.0","id":7,"method":"tools/cal"}`, `7`, "tools/cal", -32601},
	{"modern discovery", `{"jsonrpc":"2.0","id":7,"method":"server/discover","params":{}}`, `7`, "server/discover", -32601},
	{"empty method", `{"jsonrpc":"2.0","id":7,"method":""}`, `7`, "ethod", 0},
	{"unknown tool", `{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"helo"}}`, `"a"`, `did you mean "hello"?`, -32602},
	{"unknown tool far from all", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"zzzzzzzzzzzz"}}`, `1`, "zzzzzzzzzzzz", -32602},
	{"tool of the other edition", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_repo_fil"}}`, `1`, `did you mean "read_repo_file"?`, -32602},
	{"no tool", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}`, `1`, "name", -32602},
	{"no params", `{"jsonrpc":"2.0","id":1,"method":"tools/call"}`, `1`, "name", -32602},
	{"tool is a number", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":1}}`, `1`, "name", -32602},
	{"params are a list", `{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}`, `1`, "params", -32602},
	{"params are text", `{"jsonrpc":"2.0","id":1,"method":"ping","params":"x"}`, `1`, "params", -32602},

	{"garbage", `hello?`, `null`, "", -32700},
	{"truncated", `{"jsonrpc":"2.0","id":1,"method":"pi`, `null`, "", -32700},
	{"trailing garbage", `{"jsonrpc":"2.0","id":1,"method":"ping"} x`, `null`, "", -32700},
	{"two messages on a line", `{"jsonrpc":"2.0","id":1,"method":"ping"}{"jsonrpc":"2.0","id":2,"method":"ping"}`, `null`, "", -32700},
	{"invalid UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\xfe\"}", `1`, "", -32700},
	{"raw control character", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\tb\"}", `null`, "", -32700},
	{"NUL", "{\"jsonrpc\":\"2.0\",\x00\"id\":1,\"method\":\"ping\"}", `null`, "", -32700},
	{"NUL alone", "\x00", `null`, "", -32700},
	{"byte order mark", "\ufeff" + `{"jsonrpc":"2.0","id":1,"method":"ping"}`, `null`, "", -32700},
	{"single quotes", `{'jsonrpc':'2.0','id':1,'method':'ping'}`, `null`, "", -32700},
	{"comment", `{"jsonrpc":"2.0",/* */"id":1,"method":"ping"}`, `null`, "", -32700},
	{"NaN", `{"jsonrpc":"2.0","id":NaN,"method":"ping"}`, `null`, "", -32700},
	{"leading zero", `{"jsonrpc":"2.0","id":01,"method":"ping"}`, `null`, "", -32700},
	{"deep nesting", strings.Repeat("[", 100_000), `null`, "", -32700},
	{"deep closed nesting", strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000), `null`, "", 0},
	{"deep nesting in arguments", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hello","arguments":{"name":` + strings.Repeat(`{"a":`, 50_000) + "1" + strings.Repeat("}", 50_000) + `}}}`, `null`, "", 0},
	{"duplicate keys", `{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`, `null`, "", 0},
	{"duplicate keys in arguments", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hello","arguments":{"name":"a","name":"b"}}}`, `1`, "name", 0},
	{"half a character", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hello","arguments":{"name":"\ud800"}}}`, `1`, "", 0},

	{"number", `42`, `null`, "", -32600},
	{"string", `"ping"`, `null`, "", -32600},
	{"null", `null`, `null`, "", -32600},
	{"batch", `[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}]`, `null`, "batch", -32600},
	{"empty batch", `[]`, `null`, "", -32600},
	{"empty object", `{}`, `null`, "", -32600},
	{"id null", `{"jsonrpc":"2.0","id":null,"method":"ping"}`, `null`, "id", -32600},
	{"id true", `{"jsonrpc":"2.0","id":true,"method":"ping"}`, `null`, "id", -32600},
	{"id object", `{"jsonrpc":"2.0","id":{},"method":"ping"}`, `null`, "id", -32600},
	{"jsonrpc 1.0", `{"jsonrpc":"1.0","id":3,"method":"ping"}`, `3`, "jsonrpc", -32600},
	{"jsonrpc is a number", `{"jsonrpc":2.0,"id":3,"method":"ping"}`, `3`, "jsonrpc", -32600},
	{"no jsonrpc", `{"id":3,"method":"ping"}`, `3`, "jsonrpc", -32600},
	{"no method", `{"jsonrpc":"2.0","id":3}`, `3`, "method", -32600},
	{"method is a number", `{"jsonrpc":"2.0","id":3,"method":1}`, `3`, "method", -32600},
	{"method is null", `{"jsonrpc":"2.0","id":3,"method":null}`, `3`, "method", -32600},
}

// Whatever comes, it gets one error and the next call is served.
func TestMalformedInputIsAnsweredAndSurvived(t *testing.T) {
	t.Parallel()
	for _, test := range protocolFaults {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := newSpace(t, nil).stdio("--toolsets", "booster")
			r.send(test.line)
			good := r.start("hello", `{"name":"after"}`)
			m := r.need()
			if string(m.ID) == good {
				t.Fatalf("no answer at all, want an error under id %s", test.id)
			}
			r.wantFault(m, test.code, test.id, test.says)
			if got := r.result(r.reply(good)); got.failed {
				t.Errorf("the next call failed: %s", got.text)
			}
			r.end()
		})
	}
}

// wantFault checks an error; code 0 leaves the choice among those of JSON-RPC.
func (r *server) wantFault(m message, code int, id, says string) {
	r.t.Helper()
	switch {
	case m.Error == nil:
		r.t.Fatalf("no error: %s", clip(m.raw))
	case code != 0 && m.Error.Code != code, m.Error.Code > -32600 && code == 0 && m.Error.Code != -32601, m.Error.Code < -32700:
		r.t.Errorf("code %d, want %d: %s", m.Error.Code, code, clip(m.raw))
	case string(m.ID) != id:
		r.t.Errorf("id %s, want %s: %s", m.ID, id, clip(m.raw))
	case !strings.Contains(m.Error.Message, says):
		r.t.Errorf("the message does not say %q: %s", says, clip(m.raw))
	case len(m.raw) > 4096:
		r.t.Errorf("the error is %d bytes long", len(m.raw))
	}
}

func TestHugeLineIsSkipped(t *testing.T) {
	t.Parallel()
	r := newSpace(t, nil).stdio("--toolsets", "booster")
	r.send(`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"filler":"` + strings.Repeat("x", 40<<20) + `"}}`)
	r.wantFault(r.need(), 0, "null", "")
	r.send(strings.Repeat(" ", 40<<20) + `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	r.wantFault(r.need(), 0, "null", "")
	if got := r.call("hello", `{"name":"after"}`); got.failed {
		t.Errorf("the next call failed: %s", got.text)
	}
	r.end()
}

// A message that is cut off by the end of the stream is no reason to fail either.
func TestStreamEndsWithinALine(t *testing.T) {
	t.Parallel()
	r := newSpace(t, nil).stdio("--toolsets", "booster")
	fmt.Fprint(r.stdin, `{"jsonrpc":"2.0","id":1,"method":"tools/ca`)
	r.stdin.Close()
	r.wantFault(r.need(), -32700, "null", "")
	r.end()

	r = newSpace(t, nil).stdio("--toolsets", "booster")
	fmt.Fprint(r.stdin, `{"jsonrpc":"2.0","id":1,"method":"ping"}`) // whole, only without newline
	r.stdin.Close()
	if m := r.reply("1"); m.Error != nil {
		t.Errorf("a last line without newline is not served: %s", m.raw)
	}
	r.end()
}

func TestIdsComeBackAsSent(t *testing.T) {
	t.Parallel()
	r := newSpace(t, nil).stdio("--toolsets", "booster")
	for _, id := range []string{`0`, `-1`, `"x"`, `""`, `"ü\u0041\n"`, `12345678901234567890`, `1.5`, `1e3`} {
		r.send(requestLine(id, "ping", `{}`))
		if m := r.need(); string(m.ID) != id || m.Error != nil {
			t.Errorf("id %s came back as %s: %s", id, m.ID, m.raw)
		}
		r.send(requestLine(id, "tools/call", `{"name":"hello"}`))
		if m := r.need(); string(m.ID) != id || m.Error != nil {
			t.Errorf("id %s came back as %s: %s", id, m.ID, m.raw)
		}
	}
	r.end()
}

func TestWhitespaceAndNotifications(t *testing.T) {
	t.Parallel()
	r := newSpace(t, nil).stdio("--toolsets", "booster")
	for _, quiet := range []string{
		"", "   ", "\r", "\t\r",
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","method":"notifications/nobody/knows","params":{"a":[1,2]}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled"}`,
		`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"hello"}}`,
		`{"jsonrpc":"2.0","id":"remit-1","result":{}}`,
		`{"jsonrpc":"2.0","id":5,"error":{"code":1,"message":"x"}}`,
	} {
		r.send(quiet)
		r.send(`{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\r")
		if m := r.need(); string(m.ID) != "1" || string(m.Result) != "{}" {
			t.Errorf("%q is answered with %s", quiet, m.raw)
		}
	}
	r.end()
}

// Logs go to stderr, however many there are.
func TestLogsStayOffStdout(t *testing.T) {
	t.Parallel()
	r := newSpace(t, nil).stdio("--toolsets", "booster", "--log-level", "debug")
	r.greet(`{}`)
	r.call("hello", `{}`)
	r.call("hello", `{"name":1}`)
	r.stdin.Close()
	if m, ok := r.next(); ok {
		t.Errorf("unasked: %s", m.raw)
	}
	if err := r.cmd.Wait(); err != nil {
		t.Errorf("exit: %v", err)
	}
	if got := r.stderr.String(); strings.Count(got, "booster/hello") < 2 {
		t.Errorf("the calls are not in the log:\n%s", got)
	}
}

func TestRateLimit(t *testing.T) { // not parallel: what counts is the time from the first call to the last
	const calls = 130
	for _, test := range []struct {
		name    string
		env     []string
		args    []string
		limited int
	}{
		{"on", nil, nil, 30},
		{"off by environment", []string{"REMIT_RATE_LIMITS=off"}, nil, 0},
		{"off by flag", nil, []string{"--rate-limits", "off"}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			for range 20 {
				r := newSpace(t, nil).stdioWith(test.env, append([]string{"--toolsets", "booster"}, test.args...)...)
				began := time.Now()
				ok, limited := r.burst(calls, "hello", `{}`)
				took := time.Since(began)
				if got := r.call("read_repo_file", `{"path":"missing.md"}`); !strings.Contains(got.text, "404") {
					t.Errorf("another tool is limited too: %s", got.text)
				}
				r.end()
				if took > 600*time.Millisecond && ok > calls-test.limited {
					continue // at 100 a minute one more is free by then
				}
				if ok != calls-test.limited || limited != test.limited {
					t.Errorf("%d calls succeed and %d are limited, want %d and %d", ok, limited, calls-test.limited, test.limited)
				}
				return
			}
			t.Fatal("this machine is too slow to tell")
		})
	}
}

// burst sends calls all at once and counts how they end.
func (r *server) burst(n int, tool, args string) (ok, limited int) {
	r.t.Helper()
	lines := make([]string, n)
	for i := range lines {
		lines[i] = requestLine(fmt.Sprint(i), "tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, args))
	}
	r.send(strings.Join(lines, "\n"))
	for i := range lines {
		got := r.result(r.reply(fmt.Sprint(i)))
		if !got.failed {
			ok++
			continue
		}
		var body struct {
			Error struct {
				Code       int    `json:"code"`
				Message    string `json:"message"`
				RetryAfter int    `json:"retry_after"`
			} `json:"error"`
		}
		r.decode([]byte(got.text), &body)
		if body.Error.Code != 429 || body.Error.RetryAfter < 1 || body.Error.RetryAfter > 60 {
			r.t.Errorf("not a proper 429: %s", got.text)
		}
		limited++
	}
	return ok, limited
}

const entry001 = `{"file":"decisions.jsonl","entry":{"timestamp":"2026-01-09T10:30:00Z","type":"stack","n":%d}}`

// Closing stdin is how a client says goodbye; what it had asked for is still done.
func TestEndOfInputFinishesWhatWasAsked(t *testing.T) {
	t.Parallel()
	const calls = 200
	s := newSpace(t, nil)
	r := s.stdio("--toolsets", "learning-os", "--approve", "auto")
	r.ask("ping", `{}`)
	lines := make([]string, calls)
	for i := range lines {
		lines[i] = requestLine(fmt.Sprint(i), "tools/call", `{"name":"write_memory_entry","arguments":`+fmt.Sprintf(entry001, i)+`}`)
	}
	r.send(strings.Join(lines, "\n"))
	r.stdin.Close()
	for i := range lines {
		if got := r.result(r.reply(fmt.Sprint(i))); got.failed {
			t.Fatalf("call %d: %s", i, got.text)
		}
	}
	r.end()
	if got := len(s.memory("decisions.jsonl")); got != calls {
		t.Errorf("%d lines on disk, want %d", got, calls)
	}
}

// Told to end, the server finishes what it has begun: whatever it did it says, and
// it leaves with 0 though stdin stays open.
func TestTerminationFinishesWhatRuns(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			s := newSpace(t, nil)
			r := s.stdio("--toolsets", "learning-os", "--approve", "auto")
			for i := range 300 {
				r.start("write_memory_entry", fmt.Sprintf(entry001, i))
			}
			done := 0
			for m, ok := r.next(); ok; m, ok = r.next() {
				if got := r.result(m); got.failed {
					t.Fatalf("a call that was begun fails: %s", got.text)
				}
				if done++; done == 20 {
					s.check(r.cmd.Process.Signal(signal))
				}
			}
			r.exited(0)
			if got := len(s.memory("decisions.jsonl")); got != done || done < 20 {
				t.Errorf("%d lines on disk, %d acknowledged", got, done)
			}
			s.auditHolds()
		})
	}
}

// A call that waits for a person is in flight too: it ends as pending, unwritten.
func TestEndWhileAPersonIsAsked(t *testing.T) {
	t.Parallel()
	ends := map[string]func(*server){
		"end of input": func(r *server) { r.stdin.Close() },
		"SIGTERM":      func(r *server) { r.space.check(r.cmd.Process.Signal(syscall.SIGTERM)) },
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSpace(t, nil)
			r := s.stdio("--toolsets", "learning-os")
			r.greet(`{"elicitation":{}}`)
			id := r.start("write_memory_entry", fmt.Sprintf(entry001, 1))
			if m := r.need(); m.Method != "elicitation/create" {
				t.Fatalf("the person is not asked: %s", m.raw)
			}
			end(r)
			if got := r.result(r.reply(id)); !got.failed || !strings.Contains(got.text, `"status":"pending"`) {
				t.Errorf("not pending: %s", got.text)
			}
			if m, ok := r.next(); ok {
				t.Errorf("unasked: %s", m.raw)
			}
			r.exited(0)
			if got := s.memory("decisions.jsonl"); got != nil {
				t.Errorf("written without approval: %q", got)
			}
		})
	}
}

// A call that is taken back gets no answer, and the question is taken back too.
func TestCancelWhileAPersonIsAsked(t *testing.T) {
	t.Parallel()
	s := newSpace(t, nil)
	r := s.stdio("--toolsets", "learning-os")
	r.greet(`{"elicitation":{"form":{}}}`)
	id := r.start("write_memory_entry", fmt.Sprintf(entry001, 1))
	question := r.need()
	r.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s,"reason":"changed my mind"}}`, id))
	withdrawn := r.need()
	if withdrawn.Method != "notifications/cancelled" || !strings.Contains(string(withdrawn.Params), string(question.ID)) {
		t.Errorf("the question is not withdrawn: %s", withdrawn.raw)
	}
	r.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{}}}`, question.ID)) // too late
	if m := r.ask("ping", `{}`); m.Error != nil {
		t.Errorf("ping: %s", m.raw)
	}
	r.end()
	if got := s.memory("decisions.jsonl"); got != nil {
		t.Errorf("a cancelled call was carried out: %q", got)
	}
}

// Many calls may wait for a person side by side, and an answer that comes at once
// must not be lost among them.
func TestManyQuestionsAtOnce(t *testing.T) {
	t.Parallel()
	const calls = 60
	s := newSpace(t, nil)
	r := s.stdio("--toolsets", "learning-os")
	r.greet(`{"elicitation":{}}`)
	for i := range calls {
		r.start("write_memory_entry", fmt.Sprintf(entry001, i))
	}
	for answered := 0; answered < calls; {
		m := r.need()
		if m.Method == "elicitation/create" {
			r.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{}}}`, m.ID))
			continue
		}
		if got := r.result(m); got.failed {
			t.Errorf("call %s: %s", m.ID, got.text)
		}
		answered++
	}
	r.end()
	if got := len(s.memory("decisions.jsonl")); got != calls {
		t.Errorf("%d lines on disk, want %d", got, calls)
	}
}

// A client may introduce itself again while calls run; nothing may get mixed up.
func TestInitializeWhileCallsRun(t *testing.T) {
	t.Parallel()
	r := newSpace(t, nil).stdio("--toolsets", "booster", "--rate-limits", "off")
	var ids []string
	for range 100 {
		ids = append(ids, r.start("hello", `{}`),
			r.request("initialize", `{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"a-rather-long-name","version":"1"}}`))
	}
	for _, id := range ids {
		r.reply(id)
	}
	r.end()
}

// The same id twice at the same time is the client's fault; it is told so.
func TestIdInUse(t *testing.T) {
	t.Parallel()
	r := newSpace(t, nil).stdio("--toolsets", "learning-os")
	r.greet(`{"elicitation":{}}`)
	r.send(requestLine("77", "tools/call", `{"name":"write_memory_entry","arguments":`+fmt.Sprintf(entry001, 1)+`}`))
	question := r.need()
	r.send(requestLine("77", "tools/call", `{"name":"hello","arguments":{"name":"x"}}`))
	r.wantFault(r.need(), -32600, "77", "id")
	r.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{}}}`, question.ID))
	if got := r.result(r.reply("77")); got.failed {
		t.Errorf("the first call: %s", got.text)
	}
	r.end()
}
