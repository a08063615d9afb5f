package mcp_test

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

const subscription = "io.modelcontextprotocol/subscriptionId"

const listens = "subscriptions/listen"

// TestListen checks that the acknowledgement comes first, then only the requested notifications,
// each with the subscription id.
func TestListen(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		id    any
		wants string
		hears []string
	}{
		{1763240000000, `{"toolsListChanged":true}`, []string{"notifications/tools/list_changed"}},
		{"a string", `{"promptsListChanged":true}`, []string{"notifications/prompts/list_changed"}},
		{"7", `{"toolsListChanged":true,"promptsListChanged":true}`, []string{"notifications/tools/list_changed", "notifications/prompts/list_changed"}},
		{8, `{"toolsListChanged":false,"promptsListChanged":1,"unheardOf":true}`, nil},
		{9, `{}`, nil},
	} {
		r := newRig(t, setup{})
		stream := r.listen(modern(tc.id, listens, `"notifications":`+tc.wants, `{}`))
		if stream.status != http.StatusOK || stream.header.Get("Content-Type") != "text/event-stream" || stream.header.Get("X-Accel-Buffering") != "no" {
			t.Fatalf("%d %v", stream.status, stream.header)
		}
		want := tc.id
		if n, ok := tc.id.(int); ok {
			want = float64(n)
		}
		ack := stream.next()
		if at(ack.data, "method") != "notifications/subscriptions/acknowledged" || at(ack.data, "params", "_meta", subscription) != want || ack.id != "" {
			t.Errorf("%v: the first is %+v", tc.id, ack)
		}
		honoured, _ := at(ack.data, "params", "notifications").(map[string]any)
		if len(honoured) != len(tc.hears) {
			t.Errorf("%v: %v was honoured", tc.id, honoured)
		}
		r.ask(modern(1, "tools/call", `"name":"test_trigger_tool_change","arguments":{}`, `{}`))
		r.ask(modern(1, "tools/call", `"name":"test_trigger_prompt_change","arguments":{}`, `{}`))
		for _, hears := range tc.hears {
			if got := stream.next(); at(got.data, "method") != hears || at(got.data, "params", "_meta", subscription) != want {
				t.Errorf("%v: got %+v, want %s", tc.id, got, hears)
			}
		}
		stream.quiet()
	}
}

func TestListenRefusals(t *testing.T) {
	r := newRig(t, setup{})
	for _, tc := range []struct {
		name, params, capabilities string
		code                       int
	}{
		{"nothing to listen to", ``, `{}`, -32602},
		{"that is no filter", `"notifications":[]`, `{}`, -32602},
		{"tasks, without the extension", `"notifications":{"taskIds":["x"]}`, `{}`, -32021},
	} {
		r.ask(modern(1, listens, tc.params, tc.capabilities)).want(t, tc.name, http.StatusBadRequest, tc.code)
	}
	r.ask(modern(1, listens, `"notifications":{}`, `{}`), "Accept", "application/json").want(t, "JSON alone", http.StatusNotAcceptable, -32600)
	r.ask(message(1, listens, `{"notifications":{}}`)).want(t, "nobody says who", http.StatusBadRequest, -32602)
	if r.http.Streams() != 0 {
		t.Errorf("%d streams are left", r.http.Streams())
	}
}

// TestListenToResources checks that changes on disk are sent for the watched resources only.
func TestListenToResources(t *testing.T) {
	t.Parallel()
	r := newRig(t, setup{toolsets: []string{"learning-os"}})
	stream := r.listen(modern(1, listens, `"notifications":{"resourcesListChanged":true,"resourceSubscriptions":["memory://decisions.jsonl",7,null]}`, `{}`))
	ack := stream.next()
	if mustJSON(t, at(ack.data, "params", "notifications")) != `{"resourceSubscriptions":["memory://decisions.jsonl"],"resourcesListChanged":true}` {
		t.Errorf("got %s", ack.data)
	}
	only := r.listen(modern(2, listens, `"notifications":{"resourceSubscriptions":["memory://progress_log.jsonl"]}`, `{}`))
	only.next()
	writeMemory(t, r, `{}`)
	news := stream.next().data + stream.next().data
	if !strings.Contains(news, "resources/list_changed") || !strings.Contains(news, "resources/updated") || !strings.Contains(news, `"uri":"memory://decisions.jsonl"`) {
		t.Errorf("got %s", news)
	}
	only.quiet()
}

// TestListenToTasks checks that only the owner of a task is notified of its changes.
func TestListenToTasks(t *testing.T) {
	t.Parallel()
	const knows = `{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}`
	r := newRig(t, setup{})
	id := startTask(t, r, "confirm_delete", `{"filename":"f"}`)
	filter := `"notifications":{"taskIds":["` + id + `","nobody",7]}`
	eve := r.listen(modern(2, listens, filter, knows), principalHeader, "eve")
	if ack := eve.next(); mustJSON(t, at(ack.data, "params", "notifications")) != `{"taskIds":[]}` {
		t.Errorf("another principal: %s", ack.data)
	}
	stream := r.listen(modern(1, listens, filter, knows))
	if ack := stream.next(); mustJSON(t, at(ack.data, "params", "notifications")) != `{"taskIds":["`+id+`"]}` {
		t.Errorf("got %s", ack.data)
	}
	eventually(t, "the task asks", func() bool { return taskOf(r, id).at("result", "status") == "input_required" })
	r.ask(modern(3, "tasks/cancel", `"taskId":"`+id+`"`, knows)).want(t, "cancel", http.StatusOK, nil)
	for {
		got := stream.next()
		if at(got.data, "method") != "notifications/tasks" || at(got.data, "params", "taskId") != id || at(got.data, "params", "_meta", subscription) != 1.0 || at(got.data, "params", "resultType") != nil {
			t.Fatalf("got %s", got.data)
		}
		if at(got.data, "params", "status") == "cancelled" {
			break
		}
	}
	eve.quiet()
}

// TestListenFilterLimit checks that a long filter is read only up to the limit.
func TestListenFilterLimit(t *testing.T) {
	t.Parallel()
	const knows = `{"extensions":{"io.modelcontextprotocol/tasks":{}}}`
	r := newRig(t, setup{})
	var ids, uris strings.Builder
	for i := range 8_000 {
		ids.WriteString(`,"` + strconv.Itoa(i) + `"`)
		uris.WriteString(`,"test://` + strconv.Itoa(i) + `"`)
	}
	stream := r.listen(modern(1, listens, `"notifications":{"taskIds":["x"`+ids.String()+`],"resourceSubscriptions":["x"`+uris.String()+`]}`, knows))
	ack := stream.next()
	if watched, _ := at(ack.data, "params", "notifications", "resourceSubscriptions").([]any); len(watched) != 1000 {
		t.Errorf("%d resources are watched", len(watched))
	}
}

// TestListenUntilShutdown checks that subscriptions get their result at shutdown, and that sessions
// end.
func TestListenUntilShutdown(t *testing.T) {
	r := newRig(t, setup{})
	s := r.initialize("2025-11-25", allThree)
	standing, asking := s.get(), s.start(call(1, "test_elicitation", `{"message":"m"}`))
	asking.next()
	stream := r.listen(modern("l", listens, `"notifications":{"toolsListChanged":true}`, `{}`))
	stream.next()
	r.http.EndStreams()
	last := stream.next()
	if at(last.data, "id") != "l" || at(last.data, "result", "resultType") != "complete" || at(last.data, "result", "_meta", subscription) != "l" {
		t.Errorf("got %s", last.data)
	}
	stream.ended()
	standing.ended()
	if rest := asking.ended(); len(rest) != 1 || at(rest[0].data, "id") != 1.0 {
		t.Errorf("a call that was asking ended with %+v", rest)
	}
	late := r.listen(modern(2, listens, `"notifications":{}`, `{}`))
	if all := late.ended(); len(all) != 2 {
		t.Errorf("a request after shutdown gets %+v", all)
	}
	if r.http.Streams() != 0 {
		t.Errorf("%d streams are left", r.http.Streams())
	}
	s.post(ping).want(t, "a request that was on its way", http.StatusOK, nil)
}

// TestListenOverStdio checks subscriptions over stdio, and that a canceled one gets no more
// notifications.
func TestListenOverStdio(t *testing.T) {
	r := newRig(t, setup{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := speak(t, func(in io.Reader, out io.Writer) error { return r.server.ServeStdio(ctx, "local", in, out) })
	for _, id := range []string{"a", "b", "c"} {
		c.send(modern(id, listens, `"notifications":{"toolsListChanged":true}`, `{}`))
		if got := c.receive(); at(got, "params", "_meta", subscription) != id || at(got, "method") != "notifications/subscriptions/acknowledged" {
			t.Fatalf("got %s", got)
		}
	}
	c.send(modern("a", "tools/call", `"name":"test_simple_text"`, `{}`))
	if got := c.receive(); at(got, "error", "code") != -32600.0 {
		t.Errorf("the id of a listener is free: %s", got)
	}
	c.send(message(nil, "notifications/cancelled", `{"requestId":"b"}`))
	c.send(modern("b", "tools/list", ``, `{}`))
	if got := c.receive(); at(got, "result") == nil {
		t.Errorf("got %s", got)
	}
	c.send(modern(9, "tools/call", `"name":"test_trigger_tool_change","arguments":{}`, `{}`))
	heard := map[any]int{}
	for range 3 {
		got := c.receive()
		heard[at(got, "params", "_meta", subscription)]++
	}
	if heard["a"] != 1 || heard["c"] != 1 || heard["b"] != 0 {
		t.Errorf("notifications %v", heard)
	}
	cancel() // as SIGTERM does
	ends := map[any]int{}
	for range 2 {
		got := c.receive()
		if at(got, "result", "resultType") == "complete" {
			ends[at(got, "id")]++
		}
	}
	if ends["a"] != 1 || ends["c"] != 1 {
		t.Errorf("ended %v", ends)
	}
	c.end()
}

// TestNotificationsOfOneEra checks that a modern request for resources does not cause legacy
// notifications.
func TestNotificationsOfOneEra(t *testing.T) {
	t.Parallel()
	r := newRig(t, setup{toolsets: []string{"learning-os"}})
	c := speak(t, func(in io.Reader, out io.Writer) error { return r.server.ServeStdio(t.Context(), "local", in, out) })
	c.send(modern(1, "resources/list", ``, `{}`))
	c.receive()
	writeMemory(t, r, `{}`)
	time.Sleep(700 * time.Millisecond) // longer than a change takes to be noticed
	c.send(message(2, "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`))
	if got := c.receive(); at(got, "id") != 2.0 {
		t.Errorf("got %s", got)
	}
	c.quiet()
	c.end()
}

// TestTooManyListenersOverStdio checks the limit of subscriptions of one connection.
func TestTooManyListenersOverStdio(t *testing.T) {
	r := newRig(t, setup{})
	c := speak(t, func(in io.Reader, out io.Writer) error { return r.server.ServeStdio(t.Context(), "local", in, out) })
	refused := 0
	for i := range 66 {
		c.send(modern(i, listens, `"notifications":{}`, `{}`))
		if got := c.receive(); at(got, "error", "code") == -33000.0 {
			refused++
		}
	}
	if refused != 2 {
		t.Errorf("%d were refused, want 2", refused)
	}
	c.send(modern("x", "tools/list", ``, `{}`))
	if got := c.receive(); at(got, "id") != "x" {
		t.Errorf("got %s", got)
	}
	c.end()
}
