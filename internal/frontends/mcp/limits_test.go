package mcp_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"remit/internal/frontends/mcp"
)

// TestBodyTooLarge checks large bodies with and without Content-Length.
func TestBodyTooLarge(t *testing.T) {
	r := newRig(t, setup{limits: mcp.Limits{Body: 1000}})
	s := r.initialize("2025-11-25", `{}`)
	fits := message(1, "ping", `{"x":"`+strings.Repeat("x", 900)+`"}`)
	over := message(1, "ping", `{"x":"`+strings.Repeat("x", 1000)+`"}`)
	for _, chunked := range []bool{false, true} {
		for body, status := range map[string]int{fits: 200, over: 413} {
			request := s.request(context.Background(), http.MethodPost, "/mcp", body, s.with(nil)...)
			if chunked {
				request.ContentLength = -1
				request.Body = io.NopCloser(strings.NewReader(body))
			}
			if got := s.do(request); got.status != status || got.status == 413 && got.code() != -32600.0 {
				t.Errorf("%d bytes, chunked %v: %d %s, want %d", len(body), chunked, got.status, got.body, status)
			}
		}
	}
	if r.http.Large() != 0 || r.http.Running() != 0 {
		t.Errorf("%d bytes and %d requests still count", r.http.Large(), r.http.Running())
	}
}

// TestContentTypes checks Content-Type and Accept.
func TestContentTypes(t *testing.T) {
	r := newRig(t, setup{})
	s := r.initialize("2025-11-25", `{}`)
	for _, tc := range []struct {
		name, header, value string
		status              int
		kind                string
	}{
		{"with a charset", "Content-Type", "application/json; charset=utf-8", 200, "application/json"},
		{"in capitals", "Content-Type", "Application/JSON", 200, "application/json"},
		{"text", "Content-Type", "text/plain", 415, ""},
		{"a form", "Content-Type", "application/x-www-form-urlencoded", 415, ""},
		{"no type", "Content-Type", "", 415, ""},
		{"nonsense", "Content-Type", ";", 415, ""},
		{"longer", "Content-Type", "application/jsonp", 415, ""},
		{"both", "Accept", "application/json, text/event-stream", 200, "application/json"},
		{"stream first", "Accept", "text/event-stream, application/json", 200, "text/event-stream"},
		{"stream alone", "Accept", "text/event-stream", 200, "text/event-stream"},
		{"JSON alone", "Accept", "application/json", 200, "application/json"},
		{"anything", "Accept", "*/*", 200, "application/json"},
		{"not said", "Accept", "", 200, "application/json"},
		{"something else", "Accept", "text/html", 406, ""},
	} {
		got := s.post(ping, tc.header, tc.value)
		if got.status != tc.status || tc.kind != "" && got.header.Get("Content-Type") != tc.kind {
			t.Errorf("%s: %d %s, want %d %s", tc.name, got.status, got.header.Get("Content-Type"), tc.status, tc.kind)
		}
		if tc.kind == "text/event-stream" && !strings.Contains(got.body, "data: {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}\n\n") {
			t.Errorf("%s: %q", tc.name, got.body)
		}
		if young := r.ask(modern(1, discover, "", `{}`), tc.header, tc.value); young.status != tc.status {
			t.Errorf("modern, %s: %d, want %d", tc.name, young.status, tc.status)
		}
	}
	if got := s.get("Accept", "application/json"); got.status != http.StatusNotAcceptable {
		t.Errorf("GET of JSON: %d", got.status)
	}
}

// TestTooManyRequests checks the limit of concurrent requests; requests that wait for a person or
// for notifications do not count.
func TestTooManyRequests(t *testing.T) {
	r := newRig(t, setup{limits: mcp.Limits{Running: 2}})
	s := r.initialize("2025-11-25", allThree)
	for i := range 4 {
		s.start(call(i, "test_elicitation", `{"message":"m"}`)).next()
		r.listen(modern(i, listens, `"notifications":{}`, `{}`)).next()
	}
	s.get()
	s.post(ping).want(t, "while others wait", http.StatusOK, nil)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{}, 2)
	for range 2 {
		go func() {
			body := modern(1, "tools/call", `"name":"slow_compute","arguments":{"seconds":60}`, `{}`)
			response, err := r.client.Do(r.request(ctx, http.MethodPost, "/mcp", body, modernHeaders(body)...))
			if err == nil {
				response.Body.Close()
			}
			done <- struct{}{}
		}()
	}
	eventually(t, "both run", func() bool { return r.http.Running() == 2 })
	for _, got := range []reply{s.post(ping), r.ask(modern(1, discover, "", `{}`))} {
		got.want(t, "one too many", http.StatusServiceUnavailable, -33000)
		if got.header.Get("Retry-After") == "" {
			t.Errorf("no Retry-After: %v", got.header)
		}
	}
	cancel()
	<-done
	<-done
	eventually(t, "there is room again", func() bool { return s.post(ping).status == http.StatusOK })
}

// TestTooManySessions checks that a new session replaces an idle one when the limit is reached.
func TestTooManySessions(t *testing.T) {
	c := newClock()
	r := newRig(t, setup{limits: mcp.Limits{Sessions: 2}, now: c.now})
	first, second := r.initialize("2025-11-25", `{}`), r.initialize("2025-11-25", `{}`)
	greeting := message(1, "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`)
	for range 3 {
		got := r.post(greeting)
		got.want(t, "one too many", http.StatusServiceUnavailable, -33000)
		if got.header.Get("Mcp-Session-Id") != "" || got.header.Get("Retry-After") == "" {
			t.Errorf("headers %v", got.header)
		}
	}
	c.pass(6 * time.Minute)
	second.post(ping).want(t, "a session in use", http.StatusOK, nil)
	r.post(greeting).want(t, "in the place of an idle one", http.StatusOK, nil)
	first.post(ping).want(t, "the idle one", http.StatusNotFound, -32600)
	second.post(ping).want(t, "the one in use", http.StatusOK, nil)
	r.post(greeting).want(t, "one too many again", http.StatusServiceUnavailable, -33000)
	second.delete()
	r.post(greeting).want(t, "in the place of one that ended", http.StatusOK, nil)
	r.ask(modern(1, discover, "", `{}`)).want(t, "who needs no session", http.StatusOK, nil)
}

func TestTooManyStreams(t *testing.T) {
	r := newRig(t, setup{limits: mcp.Limits{Streams: 2}})
	s, other := r.initialize("2025-11-25", `{}`), r.initialize("2025-11-25", `{}`)
	first := s.get()
	r.listen(modern(1, listens, `"notifications":{}`, `{}`)).next()
	if got := other.get(); got.status != http.StatusServiceUnavailable || got.header.Get("Retry-After") == "" {
		t.Errorf("GET: %d %v", got.status, got.header)
	}
	r.ask(modern(2, listens, `"notifications":{}`, `{}`)).want(t, "listen", http.StatusServiceUnavailable, -33000)
	other.post(ping).want(t, "a call", http.StatusOK, nil)
	first.close()
	eventually(t, "there is room again", func() bool {
		again := other.get()
		defer again.close()
		return again.status == http.StatusOK
	})
}

// TestSlowBody checks that an incomplete request times out and that the connection is closed.
func TestSlowBody(t *testing.T) {
	for _, head := range []string{
		"Content-Length: 2000000\r\n\r\n{", "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n",
		"Content-Length: 1100000\r\n\r\n" + strings.Repeat(" ", 1_000_000),
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, setup{memNetwork: true, limits: mcp.Limits{Upload: 5 * time.Second}})
			conn, err := r.memNetwork.dial()
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			began := time.Now()
			go io.WriteString(conn, "POST /mcp HTTP/1.1\r\nHost: pipe\r\nContent-Type: application/json\r\n"+head)
			_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
			got := readReply(t, conn)
			if took := time.Since(began); got.status != http.StatusRequestTimeout || took != 5*time.Second {
				t.Errorf("%d after %s: %s", got.status, took, got.body)
			}
			if n, err := conn.Read(make([]byte, 1)); err == nil || time.Since(began) > 10*time.Second {
				t.Errorf("the connection is still open: %d, %v", n, err)
			}
		})
	}
}

// TestSlowReader checks that a client that does not read delays nobody else and is
// disconnected.
func TestSlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, setup{memNetwork: true})
		s := r.initialize("2025-11-25", `{}`)
		body := modern(1, listens, `"notifications":{"toolsListChanged":true}`, `{}`)
		var conns []io.ReadWriteCloser
		for _, request := range []string{
			fmt.Sprintf("GET /mcp HTTP/1.1\r\nHost: p\r\nAccept: text/event-stream\r\nMcp-Session-Id: %s\r\n\r\n", s.id),
			fmt.Sprintf("POST /mcp HTTP/1.1\r\nHost: p\r\nContent-Type: application/json\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: %s\r\nContent-Length: %d\r\n\r\n%s", listens, len(body), body),
		} {
			conn, err := r.memNetwork.dial()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(conn, request); err != nil {
				t.Fatal(err)
			}
			conns = append(conns, conn)
		}
		synctest.Wait()
		began := time.Now()
		for i := range 100 {
			s.post(call(i, "test_trigger_tool_change", `{}`)).want(t, "while others do not read", http.StatusOK, nil)
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("others waited for %s", took)
		}
		time.Sleep(time.Minute)
		if r.http.Streams() != 0 {
			t.Errorf("%d streams are still open", r.http.Streams())
		}
		for _, conn := range conns {
			conn.Close()
		}
	})
}

// TestKeptBytes checks that few events are kept for reconnecting clients, and none after the
// session has ended.
func TestKeptBytes(t *testing.T) {
	r := newRig(t, setup{toolsets: []string{"learning-os"}})
	writeFile(t, r, "README.md", strings.Repeat("0123456789abcde\n", 30_000))
	s := r.initialize("2025-11-25", `{}`)
	for i := range 40 {
		if i%10 == 0 {
			if got := s.post(call(i, "read_repo_file", `{"path":"README.md"}`), "Accept", "text/event-stream"); len(got.body) < 900_000 {
				t.Fatalf("got %.300s", got.body)
			}
		}
		s.post(call(i, "hello", `{"name":"Ada"}`), "Accept", "text/event-stream")
	}
	if kept := r.http.Kept(); kept < 1000 || kept > 3_000_000 {
		t.Errorf("%d bytes are kept", kept)
	}
	s.delete()
	if kept := r.http.Kept(); kept != 0 {
		t.Errorf("%d bytes are kept after the end", kept)
	}
}

// TestKeptAfterSessionEnd checks that calls that end after their session keep nothing.
func TestKeptAfterSessionEnd(t *testing.T) {
	r := newRig(t, setup{})
	for range 20 {
		s := r.initialize("2025-11-25", allThree)
		stream := s.start(message(1, "tools/call", `{"name":"test_tool_with_progress","arguments":{},"_meta":{"progressToken":1}}`))
		asking := s.start(call(2, "test_elicitation", `{"message":"m"}`))
		stream.next()
		asking.next()
		s.delete()
		stream.ended()
		asking.ended()
	}
	eventually(t, "nothing is kept", func() bool { return r.http.Kept() == 0 && r.http.Running() == 0 })
}

// TestLargeRequestLimit checks the total limit of large requests, and that it is released.
func TestLargeRequestLimit(t *testing.T) {
	r := newRig(t, setup{})
	s := r.initialize("2025-11-25", `{}`)
	large := message(1, "ping", `{"x":"`+strings.Repeat("x", 2<<20)+`"}`)
	for range 5 {
		s.post(large).want(t, "large", http.StatusOK, nil)
		s.post(large, "Accept", "text/html").want(t, "large, and refused", http.StatusNotAcceptable, -32600)
		s.post("{"+large).want(t, "large, and no JSON", http.StatusBadRequest, -32700)
	}
	if r.http.Large() != 0 {
		t.Errorf("%d bytes still count", r.http.Large())
	}
}

// TestUnusualIDs checks that an id is returned as it was sent.
func TestUnusualIDs(t *testing.T) {
	s := newRig(t, setup{}).initialize("2025-11-25", `{}`)
	for _, id := range []string{
		`0`, `-1`, `1.5`, `1e3`, `12345678901234567890123456789`, `""`, `"` + strings.Repeat("x", 4000) + `"`, `"é"`, `"<&>"`, `"\u0000"`, `"\""`, `"\\"`,
	} {
		got := s.post(`{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}`)
		if got.body != `{"jsonrpc":"2.0","id":`+id+`,"result":{}}` {
			t.Errorf("%.60s: %.200s", id, got.body)
		}
	}
	for _, id := range []string{`null`, `true`, `[]`, `{}`, `[1]`, `"` + strings.Repeat("x", 4096) + `"`} {
		s.post(`{"jsonrpc":"2.0","id":`+id+`,"method":"ping"}`).want(t, id, http.StatusBadRequest, -32600)
	}
	for i := range 3 { // a string of digits is a valid id
		s.post(call(strconv.Itoa(i), "test_simple_text", `{}`)).want(t, "a string of digits", http.StatusOK, nil)
	}
}
