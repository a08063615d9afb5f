package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"remit/internal/engine/approval"
)

// TestConcurrentCalls checks that every concurrent call of one session gets its own result, while
// streams are replaced and calls are canceled.
func TestConcurrentCalls(t *testing.T) {
	r := newRig(t, setup{})
	s := r.initialize("2025-11-25", allThree)
	stop := make(chan struct{})
	var others, callers sync.WaitGroup
	for n := range 2 {
		others.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				stream := s.get()
				s.post(call(fmt.Sprintf("change %d of %d", i, n), "test_trigger_tool_change", `{}`))
				stream.close()
			}
		})
	}
	for n := range 8 {
		callers.Go(func() {
			for i := range 15 {
				id := fmt.Sprintf("%d/%d", n, i)
				switch i % 5 {
				case 0:
					if got := s.post(call(id, "greet", `{"name":"`+id+`"}`)); got.at("id") != id || got.text() != "Hello, "+id+"!" {
						t.Errorf("%s: %s", id, got.body)
					}
				case 1:
					stream := s.start(call(id, "test_elicitation", `{"message":"`+id+`"}`))
					question := stream.next()
					if at(question.data, "params", "message") != id {
						t.Errorf("%s was asked %s", id, question.data)
					}
					s.post(answerTo(question))
					if got := stream.next(); at(got.data, "id") != id {
						t.Errorf("%s: %s", id, got.data)
					}
				case 2:
					stream := s.start(call(id, "test_elicitation", `{"message":"m"}`))
					stream.next()
					s.post(message(nil, "notifications/cancelled", `{"requestId":"`+id+`"}`))
					stream.ended()
				case 3:
					stream := s.start(message(id, "tools/call", `{"name":"test_tool_with_progress","arguments":{},"_meta":{"progressToken":"`+id+`"}}`))
					last := stream.next()
					stream.close()
					rest := s.get("Last-Event-ID", last.id).ended()
					if len(rest) == 0 || at(rest[len(rest)-1].data, "id") != id {
						t.Errorf("%s: %v", id, rest)
					}
				default:
					if got := r.ask(modern(id, "tools/call", `"name":"greet","arguments":{"name":"`+id+`"}`, `{}`)); got.at("id") != id || got.text() != "Hello, "+id+"!" {
						t.Errorf("%s: %s", id, got.body)
					}
				}
			}
		})
	}
	callers.Wait()
	close(stop)
	others.Wait()
	s.delete()
	eventually(t, "nothing is left", func() bool { return r.http.Kept() == 0 && r.http.Running() == 0 && r.http.Streams() == 0 })
}

// TestWaitingCallKeepsArguments checks that a call that waits for a person keeps its arguments,
// whatever arrives meanwhile, even if its connection is lost.
func TestWaitingCallKeepsArguments(t *testing.T) {
	r := newRig(t, setup{toolsets: []string{"learning-os"}})
	s := r.initialize("2025-11-25", `{"elicitation":{}}`)
	entry := func(i int, mark string) string {
		return call(i, "write_memory_entry", `{"file":"decisions.jsonl","entry":{"timestamp":"2026-01-09T10:30:00Z","type":"`+strings.Repeat(mark, 500)+`"}}`)
	}
	const n = 8
	var questions []event
	for i := range n {
		stream := s.start(entry(i, string(rune('a'+i))))
		questions = append(questions, stream.next())
		if i%2 == 0 {
			stream.close()
		}
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for i := range 20 {
				r.ask(modern(i, "tools/call", `"name":"hello","arguments":{"name":"`+strings.Repeat("Z", 500)+`"}`, `{}`))
			}
		})
	}
	all.Wait()
	think()
	for _, question := range questions {
		s.post(answerTo(question))
	}
	file := filepath.Join(r.root, ".claude/memory/decisions.jsonl")
	eventually(t, "all are written", func() bool {
		data, _ := os.ReadFile(file)
		return strings.Count(string(data), "\n") == n
	})
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if want := `"` + strings.Repeat(string(rune('a'+i)), 500) + `"`; !strings.Contains(string(data), want) {
			t.Errorf("the entry of %c became something else", 'a'+i)
		}
	}
}

// TestManyWaitingCalls checks that calls that wait for a person block neither later writes nor the
// answers that they wait for.
func TestManyWaitingCalls(t *testing.T) {
	r := newRig(t, setup{approve: approval.Auto})
	c := speak(t, func(in io.Reader, out io.Writer) error { return r.server.ServeStdio(t.Context(), "local", in, out) })
	c.send(message("hi", "initialize", `{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"t","version":"1"}}`))
	c.receive()
	const n = 60
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		for i := range n {
			fmt.Fprintln(c.in, call(i, "test_guarded_elicitation", `{}`))
		}
	}()
	var ids []string
	for range n {
		question := c.receive()
		id, _ := at(question, "id").(string)
		ids = append(ids, id)
	}
	<-sent
	think()
	go func() {
		for _, id := range ids {
			fmt.Fprintln(c.in, `{"jsonrpc":"2.0","id":"`+id+`","result":{"action":"accept","content":{"reason":"r"}}}`)
		}
	}()
	for range n {
		if got := c.receive(); !strings.Contains(got, "Done, because r") {
			t.Errorf("got %s", got)
		}
	}
	c.end()
}

// TestShutdownAfterEOF checks that the server shuts down even if its client closed stdin long
// before and reads nothing.
func TestShutdownAfterEOF(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, setup{memNetwork: true})
		ctx, terminate := context.WithCancel(t.Context())
		defer terminate()
		unread, out := io.Pipe()
		done := make(chan error, 1)
		go func() {
			done <- r.server.ServeStdio(ctx, "local", strings.NewReader(strings.Repeat(ping+"\n", 10)), out)
		}()
		time.Sleep(time.Minute)
		if len(done) != 0 {
			t.Error("the server ended before its responses were read")
		}
		terminate()
		time.Sleep(15 * time.Second)
		if len(done) != 1 {
			t.Error("the server does not end")
		}
		unread.Close()
		<-done
	})
}

// TestShutdownFinishesCalls checks that shutdown finishes running calls and subscriptions first.
func TestShutdownFinishesCalls(t *testing.T) {
	r := newRig(t, setup{})
	ctx, terminate := context.WithCancel(t.Context())
	c := speak(t, func(in io.Reader, out io.Writer) error { return r.server.ServeStdio(ctx, "local", in, out) })
	c.send(modern("l", listens, `"notifications":{}`, `{}`))
	c.receive()
	c.send(modern("slow", "tools/call", `"name":"slow_compute","arguments":{"seconds":0.2}`, `{}`))
	c.send(modern("list", "tools/list", ``, `{}`))
	c.receive()
	terminate()
	got := c.receive() + c.receive()
	if !strings.Contains(got, `"id":"slow"`) || !strings.Contains(got, `"id":"l"`) {
		t.Errorf("got %s", got)
	}
	if err := <-c.done; err != nil {
		t.Error(err)
	}
}

// closedPipe is a client that has closed its end.
type closedPipe struct{ writes atomic.Int64 }

func (b *closedPipe) Write([]byte) (int, error) {
	b.writes.Add(1)
	return 0, errors.New("broken pipe")
}

// TestClientReadsNothing checks that responses to a client that does not read are not kept in
// memory.
func TestClientReadsNothing(t *testing.T) {
	r := newRig(t, setup{})
	in, feed := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- r.server.ServeStdio(t.Context(), "local", in, &closedPipe{}) }()
	for range 2000 {
		if _, err := io.WriteString(feed, message(1, "tools/list", `{}`)+"\n"); err != nil {
			break // the server has stopped reading, which is allowed
		}
	}
	feed.Close()
	if err := <-done; err == nil {
		t.Error("no error though the client has disconnected")
	}
}

// TestErrorsAreNotAnswered checks that error responses are never answered, which could go on
// forever.
func TestErrorsAreNotAnswered(t *testing.T) {
	a, _ := open(t, approval.Auto)
	got := talk(t, a,
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}`,
		`{"jsonrpc":"2.0","error":{"code":-32700,"message":"Parse error"}}`,
		`{"jsonrpc":"2.0","id":7.5,"result":{}}`, `{"jsonrpc":"2.0","id":"remit-999","result":{}}`, hello)
	if len(got) != 1 || got["99"] == nil {
		t.Errorf("got %v", got)
	}
	s := newRig(t, setup{}).initialize("2025-11-25", `{}`)
	if got := s.post(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}`); got.status != http.StatusAccepted {
		t.Errorf("over HTTP: %d %s", got.status, got.body)
	}
}

// TestAnswerFromAnotherSession checks that only the session that was asked can answer a question,
// and only once.
func TestAnswerFromAnotherSession(t *testing.T) {
	t.Parallel()
	r := newRig(t, setup{toolsets: []string{"learning-os"}})
	s, eve := r.initialize("2025-11-25", `{"elicitation":{}}`), r.initialize("2025-11-25", `{"elicitation":{}}`)
	stream := s.start(write)
	question := stream.next()
	eve.post(answerTo(question))
	stranger := s.request(context.Background(), http.MethodPost, "/mcp", answerTo(question), s.with([]string{principalHeader, "eve"})...)
	if got := s.do(stranger); got.status != http.StatusNotFound {
		t.Errorf("a stranger in the session: %d %s", got.status, got.body)
	}
	r.post(answerTo(question)).want(t, "without a session", http.StatusBadRequest, -32600)
	stream.quiet()
	think()
	s.post(strings.Replace(answerTo(question), "accept", "decline", 1))
	s.post(answerTo(question)) // too late
	if got := stream.next(); !strings.Contains(got.data, "A person denied this call") {
		t.Errorf("got %s", got.data)
	}
	if _, err := os.Stat(filepath.Join(r.root, ".claude/memory/decisions.jsonl")); err == nil {
		t.Error("the entry was written")
	}
}

// TestManyQuestionsOverHTTP checks that the open questions of a session are limited.
func TestManyQuestionsOverHTTP(t *testing.T) {
	r := newRig(t, setup{})
	s := r.initialize("2025-11-25", allThree)
	const most = 256
	for i := range most {
		s.start(call(i, "test_elicitation", `{"message":"m"}`)).next()
	}
	if got := s.post(call("more", "test_elicitation", `{"message":"m"}`)); got.at("result", "isError") != true {
		t.Errorf("got %s", got.body)
	}
	s.post(message("p", "ping", `{}`)).want(t, "a call that asks nothing", http.StatusOK, nil)
	s.delete()
	eventually(t, "nothing runs", func() bool { return r.http.Running() == 0 && r.http.Kept() == 0 })
}

// TestAmbiguousJSON checks that ambiguous JSON is rejected.
func TestAmbiguousJSON(t *testing.T) {
	r := newRig(t, setup{})
	s := r.initialize("2025-11-25", `{}`)
	for _, tc := range []struct {
		name, body string
		status     int
		code       any
	}{
		{"two methods", `{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}`, 400, -32700},
		{"two methods, spelt otherwise", `{"jsonrpc":"2.0","id":1,"method":"ping","m\u0065thod":"tools/list"}`, 400, -32700},
		{"a method in capitals", `{"jsonrpc":"2.0","id":1,"METHOD":"ping"}`, 400, -32600},
		{"two messages", ping + ping, 400, -32700},
		{"a mark at the start", "\ufeff" + ping, 400, -32700},
		{"UTF-16", "\xff\xfe{\x00}\x00", 400, -32700},
		{"nothing", "", 400, -32700},
		{"spaces", "\n\r\t " + ping + " \n", 200, nil},
		{"nested", strings.Repeat(`{"a":`, 10_000) + "1" + strings.Repeat("}", 10_000), 400, -32700},
		{"method of a call and an answer", `{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}`, 200, nil},
		{"params is a string", `{"jsonrpc":"2.0","id":1,"method":"ping","params":"x"}`, 200, -32602},
		{"prototype", `{"jsonrpc":"2.0","id":1,"method":"ping","__proto__":{"x":1},"params":{"constructor":{}}}`, 200, nil},
		{"a method with a NUL", `{"jsonrpc":"2.0","id":1,"method":"ping\u0000"}`, 200, -32601},
		{"a very long method", `{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("x", 100_000) + `"}`, 200, -32601},
	} {
		got := s.post(tc.body)
		got.want(t, tc.name, tc.status, tc.code)
		if got.status == 200 && !json.Valid([]byte(got.body)) {
			t.Errorf("%s: %s", tc.name, got.body)
		}
	}
}

// TestAmbiguousRequests checks that requests that two servers could read differently are rejected.
func TestAmbiguousRequests(t *testing.T) {
	r := newRig(t, setup{})
	s := r.initialize("2025-11-25", `{}`)
	head := "POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nMcp-Session-Id: " + s.id + "\r\n"
	for name, text := range map[string]string{
		"two lengths":           head + "Content-Length: 5\r\nContent-Length: 39\r\n\r\n" + ping,
		"length and chunks":     head + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n27\r\n" + ping + "\r\n0\r\n\r\n",
		"an odd encoding":       head + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
		"a space before colon":  strings.Replace(head, "Content-Type:", "Content-Type :", 1) + "Content-Length: 39\r\n\r\n" + ping,
		"a header that folds":   head + "X: a\r\n\tb\r\nContent-Length: 39\r\n\r\n" + ping,
		"no host":               strings.Replace(head, "Host: x\r\n", "", 1) + "Content-Length: 39\r\n\r\n" + ping,
		"a NUL in a header":     head + "X: a\x00b\r\nContent-Length: 39\r\n\r\n" + ping,
		"another session below": head + "Mcp-Session-Id: AAAA\r\nContent-Length: 39\r\nConnection: close\r\n\r\n" + ping,
	} {
		if got := r.raw(text); got.status < 400 && name != "a header that folds" && name != "length and chunks" {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
	s.post(ping).want(t, "after all that", http.StatusOK, nil)
}
