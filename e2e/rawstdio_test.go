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

func TestIdsComeBackAsSent(t *testing.T) {
	t.Parallel()
	r := newSpace(t, nil).stdio("--toolsets", "booster")
	for _, id := range []string{`0`, `-1`, `"x"`, `""`, `"ü\u0041\n"`, `12345678901234567890`, `1.5`, `1e3`} {
		r.send(requestLine(id, "ping", `{}`))
		if m := r.need(); !sameID(string(m.ID), id) || m.Error != nil {
			t.Errorf("id %s came back as %s: %s", id, m.ID, m.raw)
		}
		r.send(requestLine(id, "tools/call", `{"name":"hello"}`))
		if m := r.need(); !sameID(string(m.ID), id) || m.Error != nil {
			t.Errorf("id %s came back as %s: %s", id, m.ID, m.raw)
		}
	}
	r.end()
}

// sameID compares ids: a number as it was spelt, since not every client has the
// same numbers, and a string by what it says.
func sameID(got, sent string) bool {
	var one, two string
	if json.Unmarshal([]byte(got), &one) == nil && json.Unmarshal([]byte(sent), &two) == nil {
		return one == two
	}
	return got == sent
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

// TestRateLimit: hello is allowed 100 times a minute, so that one more is free after each
// 600 ms that the calls take.
func TestRateLimit(t *testing.T) {
	t.Parallel()
	const calls, allowed = 130, 100
	for _, test := range []struct {
		name    string
		env     []string
		args    []string
		limited bool
	}{
		{"on", nil, nil, true},
		{"off by environment", []string{"REMIT_RATE_LIMITS=off"}, nil, false},
		{"off by flag", nil, []string{"--rate-limits", "off"}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newSpace(t, nil).stdioWith(test.env, append([]string{"--toolsets", "booster"}, test.args...)...)
			began := time.Now()
			ok, limited := r.burst(calls, "hello", `{}`)
			least, most := calls, calls
			if test.limited {
				least, most = allowed, allowed+int(time.Since(began)/(time.Minute/allowed))
			}
			if ok < least || ok > most || ok+limited != calls {
				t.Errorf("%d calls succeed and %d are limited, want %d to %d of %d to succeed", ok, limited, least, most, calls)
			}
			if got := r.call("read_repo_file", `{"path":"missing.md"}`); !strings.Contains(got.text, "404") {
				t.Errorf("another tool is limited too: %s", got.text)
			}
			r.end()
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
