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
		t.Run("requests "+asked, func(t *testing.T) {
			t.Parallel()
			r := newWorkspace(t, nil).stdio("--toolsets", "booster")
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

// TestNothingOnDiskBeforeTheFirstCall checks that a server writes nothing to disk while a client
// only lists things.
func TestNothingOnDiskBeforeTheFirstCall(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, nil)
	r := s.stdio("--toolsets", "learning-os")
	r.initialize(`{}`)
	r.ask("tools/list", `{}`)
	r.ask("ping", `{}`)
	r.ask("no/such", `{}`)
	r.end()
	entries, err := os.ReadDir(s.root)
	if err != nil || len(entries) != 0 {
		t.Errorf("on disk before the first call: %v, %v", entries, err)
	}
}

func TestRequestIDsAreEchoed(t *testing.T) {
	t.Parallel()
	r := newWorkspace(t, nil).stdio("--toolsets", "booster")
	for _, id := range []string{`0`, `-1`, `"x"`, `""`, `"ü\u0041\n"`, `12345678901234567890`, `1.5`, `1e3`} {
		r.send(requestLine(id, "ping", `{}`))
		if m := r.mustNext(); !sameID(string(m.ID), id) || m.Error != nil {
			t.Errorf("id %s came back as %s: %s", id, m.ID, m.raw)
		}
		r.send(requestLine(id, "tools/call", `{"name":"hello"}`))
		if m := r.mustNext(); !sameID(string(m.ID), id) || m.Error != nil {
			t.Errorf("id %s came back as %s: %s", id, m.ID, m.raw)
		}
	}
	r.end()
}

// sameID compares ids. A number must have the same spelling, because not every client has the same
// number type. A string must have the same value.
func sameID(got, sent string) bool {
	var one, two string
	if json.Unmarshal([]byte(got), &one) == nil && json.Unmarshal([]byte(sent), &two) == nil {
		return one == two
	}
	return got == sent
}

func TestWhitespaceAndNotifications(t *testing.T) {
	t.Parallel()
	r := newWorkspace(t, nil).stdio("--toolsets", "booster")
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
		if m := r.mustNext(); string(m.ID) != "1" || string(m.Result) != "{}" {
			t.Errorf("%q got the answer %s", quiet, m.raw)
		}
	}
	r.end()
}

// TestLogsStayOffStdout checks that logs go to stderr, however many there are.
func TestLogsStayOffStdout(t *testing.T) {
	t.Parallel()
	r := newWorkspace(t, nil).stdio("--toolsets", "booster", "--log-level", "debug")
	r.initialize(`{}`)
	r.call("hello", `{}`)
	r.call("hello", `{"name":1}`)
	r.stdin.Close()
	if m, ok := r.next(); ok {
		t.Errorf("unexpected message: %s", m.raw)
	}
	if err := r.cmd.Wait(); err != nil {
		t.Errorf("exit: %v", err)
	}
	if got := r.stderr.String(); strings.Count(got, "booster/hello") < 2 {
		t.Errorf("the calls are not in the log:\n%s", got)
	}
}

// TestRateLimit checks that hello is allowed 100 times a minute. While the calls run, one more is
// allowed every 600 ms.
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
			r := newWorkspace(t, nil).stdioWith(test.env, append([]string{"--toolsets", "booster"}, test.args...)...)
			began := time.Now()
			ok, limited := r.burst(calls, "hello", `{}`)
			least, most := calls, calls
			if test.limited {
				least, most = allowed, allowed*(1+int(time.Since(began)/time.Minute))
			}
			if ok < least || ok > most || ok+limited != calls {
				t.Errorf("%d calls succeeded and %d were limited, want %d to %d of %d to succeed", ok, limited, least, most, calls)
			}
			if got := r.call("read_repo_file", `{"path":"missing.md"}`); !strings.Contains(got.text, "404") {
				t.Errorf("another tool is limited too: %s", got.text)
			}
			r.end()
		})
	}
}

// burst sends calls without waiting and counts their results.
func (r *stdioServer) burst(n int, tool, args string) (ok, limited int) {
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
			r.t.Errorf("not a valid 429: %s", got.text)
		}
		limited++
	}
	return ok, limited
}

const entry001 = `{"file":"decisions.jsonl","entry":{"timestamp":"2026-01-09T10:30:00Z","type":"stack","n":%d}}`

// TestEndOfInputFinishesCalls checks that the server finishes its calls after the client has closed
// stdin.
func TestEndOfInputFinishesCalls(t *testing.T) {
	t.Parallel()
	const calls = 200
	s := newWorkspace(t, nil)
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

// TestTerminationFinishesCalls checks that after SIGTERM the server finishes and answers the calls
// it has begun, and exits with code 0 even if stdin stays open.
func TestTerminationFinishesCalls(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			s := newWorkspace(t, nil)
			r := s.stdio("--toolsets", "learning-os", "--approve", "auto")
			for i := range 300 {
				r.start("write_memory_entry", fmt.Sprintf(entry001, i))
			}
			done := 0
			for m, ok := r.next(); ok; m, ok = r.next() {
				if got := r.result(m); got.failed {
					t.Fatalf("a call that had begun failed: %s", got.text)
				}
				if done++; done == 20 {
					s.check(r.cmd.Process.Signal(signal))
				}
			}
			r.checkExit(0)
			if got := len(s.memory("decisions.jsonl")); got != done || done < 20 {
				t.Errorf("%d lines on disk, %d acknowledged", got, done)
			}
			s.verifyAudit()
		})
	}
}

// TestEndDuringElicitation checks that a call which waits for a person ends as pending and writes
// nothing.
func TestEndDuringElicitation(t *testing.T) {
	t.Parallel()
	ends := map[string]func(*stdioServer){
		"end of input": func(r *stdioServer) { r.stdin.Close() },
		"SIGTERM":      func(r *stdioServer) { r.workspace.check(r.cmd.Process.Signal(syscall.SIGTERM)) },
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newWorkspace(t, nil)
			r := s.stdio("--toolsets", "learning-os")
			r.initialize(`{"elicitation":{}}`)
			id := r.start("write_memory_entry", fmt.Sprintf(entry001, 1))
			if m := r.mustNext(); m.Method != "elicitation/create" {
				t.Fatalf("there is no elicitation: %s", m.raw)
			}
			end(r)
			if got := r.result(r.reply(id)); !got.failed || !strings.Contains(got.text, `"status":"pending"`) {
				t.Errorf("not pending: %s", got.text)
			}
			if m, ok := r.next(); ok {
				t.Errorf("unexpected message: %s", m.raw)
			}
			r.checkExit(0)
			if got := s.memory("decisions.jsonl"); got != nil {
				t.Errorf("written without approval: %q", got)
			}
		})
	}
}

// TestCancelDuringElicitation checks that a cancelled call gets no answer, and that its elicitation
// is cancelled too.
func TestCancelDuringElicitation(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, nil)
	r := s.stdio("--toolsets", "learning-os")
	r.initialize(`{"elicitation":{"form":{}}}`)
	id := r.start("write_memory_entry", fmt.Sprintf(entry001, 1))
	question := r.mustNext()
	r.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s,"reason":"changed my mind"}}`, id))
	withdrawn := r.mustNext()
	if withdrawn.Method != "notifications/cancelled" || !strings.Contains(string(withdrawn.Params), string(question.ID)) {
		t.Errorf("the elicitation is not cancelled: %s", withdrawn.raw)
	}
	// Too late.
	r.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{}}}`, question.ID))
	if m := r.ask("ping", `{}`); m.Error != nil {
		t.Errorf("ping: %s", m.raw)
	}
	r.end()
	if got := s.memory("decisions.jsonl"); got != nil {
		t.Errorf("a cancelled call was executed: %q", got)
	}
}

// TestConcurrentElicitations checks that many calls can wait for a person concurrently, and that
// immediate answers are not lost.
func TestConcurrentElicitations(t *testing.T) {
	t.Parallel()
	const calls = 60
	s := newWorkspace(t, nil)
	r := s.stdio("--toolsets", "learning-os")
	r.initialize(`{"elicitation":{}}`)
	var questions []string
	for i := range calls {
		r.start("write_memory_entry", fmt.Sprintf(entry001, i))
	}
	for range calls {
		question := r.mustNext()
		questions = append(questions, string(question.ID))
	}
	time.Sleep(readingTime)
	for _, id := range questions {
		r.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{}}}`, id))
	}
	for answered := 0; answered < calls; {
		m := r.mustNext()
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

// TestInitializeWhileCallsRun checks that a client may send initialize again while calls run.
func TestInitializeWhileCallsRun(t *testing.T) {
	t.Parallel()
	r := newWorkspace(t, nil).stdio("--toolsets", "booster", "--rate-limits", "off")
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

// TestDuplicateRequestID checks that a request with the id of a running request gets an error.
func TestDuplicateRequestID(t *testing.T) {
	t.Parallel()
	r := newWorkspace(t, nil).stdio("--toolsets", "learning-os")
	r.initialize(`{"elicitation":{}}`)
	r.send(requestLine("77", "tools/call", `{"name":"write_memory_entry","arguments":`+fmt.Sprintf(entry001, 1)+`}`))
	question := r.mustNext()
	r.send(requestLine("77", "tools/call", `{"name":"hello","arguments":{"name":"x"}}`))
	r.wantFault(r.mustNext(), -32600, "77", "id")
	time.Sleep(readingTime)
	r.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{}}}`, question.ID))
	if got := r.result(r.reply("77")); got.failed {
		t.Errorf("the first call: %s", got.text)
	}
	r.end()
}
