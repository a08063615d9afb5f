package mcp_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestPriming checks that a stream begins with a priming event for the versions whose clients
// expect one.
func TestPriming(t *testing.T) {
	for version, want := range map[string]bool{"2025-11-25": true, "2025-06-18": false, "2025-03-26": false, "2024-11-05": false} {
		s := newRig(t, setup{}).initialize(version, allThree)
		stream := s.start(call(1, "test_elicitation", `{"message":"m"}`))
		first := <-stream.events
		if primed := first.id != "" && first.retry && first.data == ""; primed != want {
			t.Errorf("%s: the first event is %+v", version, first)
		}
	}
}

// TestResumption checks that a client that reconnects gets the events that it missed, once, in
// order, and of that stream only.
func TestResumption(t *testing.T) {
	r := newRig(t, setup{})
	s := r.initialize("2025-11-25", allThree)
	lost := s.start(message(1, "tools/call", `{"name":"test_tool_with_progress","arguments":{},"_meta":{"progressToken":"p"}}`))
	first := lost.next()
	lost.close()
	other := s.start(message(2, "tools/call", `{"name":"test_tool_with_progress","arguments":{},"_meta":{"progressToken":"q"}}`))
	other.ended()
	for _, where := range []string{"at once", "and again"} {
		got := s.get("Last-Event-ID", first.id).ended()
		if len(got) != 3 || !strings.Contains(got[0].data, `"progress":50`) || !strings.Contains(got[1].data, `"progress":100`) || at(got[2].data, "id") != 1.0 {
			t.Fatalf("%s: %+v", where, got)
		}
		for i, e := range got {
			if strings.Contains(e.data, `"q"`) {
				t.Errorf("an event of another stream: %+v", e)
			}
			if rest := s.get("Last-Event-ID", e.id).ended(); len(rest) != len(got)-i-1 {
				t.Errorf("after %s: %d events, want %d", e.id, len(rest), len(got)-i-1)
			}
		}
	}
	for _, id := range []string{"99-1", "x", "1", "-", "1-", "-1", "1-x", "1--1", "18446744073709551616-1", "1-999"} {
		if got := s.get("Last-Event-ID", id); got.status != http.StatusBadRequest {
			t.Errorf("Last-Event-ID %q: %d, want 400", id, got.status)
		}
	}
	eve := r.initialize("2025-11-25", `{}`)
	if got := eve.get("Last-Event-ID", first.id); got.status != http.StatusBadRequest {
		t.Errorf("another session reads the stream: %d", got.status)
	}
}

// TestResumeRunningStream checks that a resumed stream continues live, and that the question of a
// lost stream can still be answered.
func TestResumeRunningStream(t *testing.T) {
	s := newRig(t, setup{}).initialize("2025-11-25", allThree)
	lost := s.start(call(1, "test_elicitation", `{"message":"m"}`))
	primer := <-lost.events
	question := lost.next()
	lost.close()
	again := s.get("Last-Event-ID", primer.id)
	if got := again.next(); got != question {
		t.Errorf("got %+v, want %+v", got, question)
	}
	s.post(answerTo(question))
	if got := again.ended(); len(got) != 1 || !strings.Contains(got[0].data, "action: accept") {
		t.Errorf("got %+v", got)
	}
}

// TestReleased checks that a call that released its connection answers clients that resume.
func TestReleased(t *testing.T) {
	t.Parallel()
	s := newRig(t, setup{}).initialize("2025-11-25", `{}`)
	standing := s.get()
	stream := s.start(call(1, "test_reconnection", `{}`), "Accept", "text/event-stream, application/json")
	primer := <-stream.events
	if primer.id == "" || !primer.retry {
		t.Fatalf("the first event is %+v", primer)
	}
	if rest := stream.ended(); len(rest) != 0 {
		t.Errorf("the stream was not let go: %v", rest)
	}
	got := s.get("Last-Event-ID", primer.id).ended()
	if len(got) != 1 || at(got[0].data, "id") != 1.0 {
		t.Errorf("got %+v", got)
	}
	standing.quiet()
	for _, version := range []string{"2025-06-18", "2025-03-26"} { // their clients cannot resume
		if got := s.initialize(version, `{}`).post(call(1, "test_reconnection", `{}`)); got.text() == "" {
			t.Errorf("%s: %s", version, got.body)
		}
	}
	if got := s.post(call(1, "test_reconnection", `{}`), "Accept", "application/json"); got.text() == "" {
		t.Errorf("a client that takes JSON alone: %s", got.body)
	}
}

// TestGeneralStream checks the stream for messages that belong to no request, and that missed
// messages are kept.
func TestGeneralStream(t *testing.T) {
	r := newRig(t, setup{})
	s := r.initialize("2025-11-25", `{}`)
	first := s.get()
	if first.status != http.StatusOK || first.header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%d %v", first.status, first.header)
	}
	s.post(call(1, "test_trigger_tool_change", `{}`))
	change := first.next()
	if change.data != `{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{}}` || change.id == "" {
		t.Errorf("got %+v", change)
	}
	second := s.get()
	first.ended() // replaced
	s.post(call(2, "test_trigger_prompt_change", `{}`))
	got := second.next()
	if got.id == change.id { // its reader was replaced before the server recorded the event as sent
		got = second.next()
	}
	if !strings.Contains(got.data, "notifications/prompts/list_changed") {
		t.Errorf("got %+v", got)
	}
	second.quiet()
	second.close()
	eventually(t, "the server knows that nobody listens", func() bool { return r.http.Streams() == 0 })
	for range 5 {
		s.post(call(3, "test_trigger_tool_change", `{}`))
	}
	third := s.get()
	if got := third.next(); !strings.Contains(got.data, "tools/list_changed") {
		t.Errorf("got %+v", got)
	}
	third.quiet() // five changes give one notification
	third.close()
	eventually(t, "the server knows that nobody listens", func() bool { return r.http.Streams() == 0 })
	again := s.get("Last-Event-ID", change.id)
	if got, then := again.next(), again.next(); !strings.Contains(got.data, "prompts") || !strings.Contains(then.data, "tools") {
		t.Errorf("resumed with %+v, then %+v", got, then)
	}
}

// TestResourceNotifications checks notifications of watched resources, of the list once the client
// has read it, and none after unsubscribing.
func TestResourceNotifications(t *testing.T) {
	t.Parallel()
	r := newRig(t, setup{toolsets: []string{"learning-os"}})
	s := r.initialize("2025-11-25", `{}`)
	stream := s.get()
	s.post(message(1, "resources/list", `{}`)).want(t, "list", 200, nil)
	const uri = "memory://decisions.jsonl"
	if got := s.post(message(2, "resources/subscribe", `{"uri":"`+uri+`"}`)); got.body != `{"jsonrpc":"2.0","id":2,"result":{}}` {
		t.Errorf("subscribe: %s", got.body)
	}
	writeMemory(t, r, `{"a":1}`)
	news := stream.next().data + stream.next().data
	if !strings.Contains(news, `"notifications/resources/list_changed"`) || !strings.Contains(news, `"notifications/resources/updated","params":{"uri":"`+uri+`"}`) {
		t.Errorf("got %s", news)
	}
	writeMemory(t, r, `{"a":2}`)
	if got := stream.next(); !strings.Contains(got.data, "resources/updated") {
		t.Errorf("got %s", got.data)
	}
	for _, params := range []string{`{}`, `{"uri":""}`, `{"uri":7}`} {
		s.post(message(3, "resources/subscribe", params)).want(t, "subscribe to "+params, 200, -32602)
		s.post(message(3, "resources/unsubscribe", params)).want(t, "unsubscribe from "+params, 200, -32602)
	}
	s.post(message(4, "resources/unsubscribe", `{"uri":"memory://never-watched"}`)).want(t, "unsubscribe", 200, nil)
	if got := s.post(message(4, "resources/unsubscribe", `{"uri":"`+uri+`"}`)); got.body != `{"jsonrpc":"2.0","id":4,"result":{}}` {
		t.Errorf("unsubscribe: %s", got.body)
	}
	writeMemory(t, r, `{"a":3}`)
	if err := os.WriteFile(filepath.Join(r.root, ".claude/memory/progress_log.jsonl"), []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := stream.next(); !strings.Contains(got.data, "resources/list_changed") {
		t.Errorf("after unsubscribe: %s", got.data)
	}
}

// writeMemory changes the decisions file without the server.
func writeMemory(t *testing.T, r *rig, line string) {
	t.Helper()
	folder := filepath.Join(r.root, ".claude/memory")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(folder, "decisions.jsonl"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	fmt.Fprintln(f, line)
}

// TestTooManySubscriptions checks the limit of watched resources.
func TestTooManySubscriptions(t *testing.T) {
	s := newRig(t, setup{}).initialize("2025-11-25", `{}`)
	for i := range 1000 {
		if got := s.post(message(1, "resources/subscribe", `{"uri":"test://`+strconv.Itoa(i)+`"}`)); got.code() != nil {
			t.Fatalf("%d: %s", i, got.body)
		}
	}
	s.post(message(1, "resources/subscribe", `{"uri":"test://one more"}`)).want(t, "one more", 200, -32602)
	s.post(message(1, "resources/subscribe", `{"uri":"test://7"}`)).want(t, "one that is known", 200, nil)
	s.post(message(1, "resources/unsubscribe", `{"uri":"test://7"}`)).want(t, "unsubscribe", 200, nil)
	s.post(message(1, "resources/subscribe", `{"uri":"test://one more"}`)).want(t, "one in its place", 200, nil)
}

// TestLongCallIsKept checks that the stream of a running call is kept, and that ended streams are
// dropped in time.
func TestLongCallIsKept(t *testing.T) {
	s := newRig(t, setup{}).initialize("2025-11-25", allThree)
	long := s.start(call("long", "test_elicitation", `{"message":"m"}`))
	primer, question := <-long.events, long.next()
	long.close()
	var early event
	for i := range 40 {
		short := s.start(call(i, "test_simple_text", `{}`), "Accept", "text/event-stream, application/json")
		if e := <-short.events; i == 0 {
			early = e
		}
		short.ended()
	}
	if got := s.get("Last-Event-ID", early.id); got.status != http.StatusBadRequest {
		t.Errorf("a call long over is still kept: %d", got.status)
	}
	again := s.get("Last-Event-ID", primer.id)
	if got := again.next(); got != question {
		t.Errorf("got %+v, want %+v", got, question)
	}
	s.post(answerTo(question))
	if got := again.next(); at(got.data, "id") != "long" {
		t.Errorf("got %+v", got)
	}
}

// TestManyEvents checks that a client that reconnects after many events gets the latest ones.
func TestManyEvents(t *testing.T) {
	s := newRig(t, setup{}).initialize("2025-11-25", `{}`)
	stream := s.get()
	var ids []string
	for i := range 100 {
		s.post(call(i, "test_trigger_tool_change", `{}`))
		ids = append(ids, stream.next().id)
	}
	stream.close()
	again := s.get("Last-Event-ID", ids[len(ids)-5])
	for _, want := range ids[len(ids)-4:] {
		if got := again.next(); got.id != want {
			t.Errorf("got %s, want %s", got.id, want)
		}
	}
	again.quiet()
}

// TestKeepAlive checks that a quiet stream gets comments and stays open.
func TestKeepAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, setup{memNetwork: true})
		s := r.initialize("2025-11-25", allThree)
		streams := []*stream{
			s.get(),
			s.start(call(1, "test_elicitation", `{"message":"m"}`)),
			r.listen(modern(1, "subscriptions/listen", `"notifications":{}`, `{}`)),
		}
		time.Sleep(58 * time.Second)
		for i, stream := range streams {
			comments := 0
			for len(stream.events) > 0 {
				if e, open := <-stream.events; !open {
					t.Errorf("stream %d was cut", i)
				} else if e.comment {
					comments++
				}
			}
			if comments < 3 || comments > 4 {
				t.Errorf("stream %d: %d signs of life in a minute", i, comments)
			}
		}
	})
}

// TestDisconnectedClients checks that clients that disconnect during a stream or a call leave
// nothing behind.
func TestDisconnectedClients(t *testing.T) {
	r := newRig(t, setup{})
	for i := range 20 {
		s := r.initialize("2025-11-25", allThree)
		standing, asking := s.get(), s.start(call(1, "test_elicitation", `{"message":"m"}`))
		asking.next()
		listening := r.listen(modern(i, "subscriptions/listen", `"notifications":{"toolsListChanged":true}`, `{}`))
		listening.next()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
		body := modern(i, "tools/call", `"name":"slow_compute","arguments":{"seconds":60}`, `{}`)
		if response, err := r.client.Do(r.request(ctx, http.MethodPost, "/mcp", body, modernHeaders(body)...)); err == nil {
			response.Body.Close()
		}
		cancel()
		standing.close()
		asking.close()
		listening.close()
		s.delete()
	}
	eventually(t, "all streams are closed", func() bool { return r.http.Streams() == 0 && r.http.Sessions() == 0 })
}
