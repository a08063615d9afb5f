package mcp_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"remit/internal/engine/approval"
)

// FuzzHTTP checks that every response to any request is JSON, a stream or empty, and that the next
// valid request succeeds. In headers and body, SESSION stands for the id of an existing session.
func FuzzHTTP(f *testing.F) {
	lines := func(headers ...string) string {
		var b strings.Builder
		for i := 0; i+1 < len(headers); i += 2 {
			b.WriteString(headers[i] + ": " + headers[i+1] + "\n")
		}
		return b.String()
	}
	const legacy = "Content-Type: application/json\nAccept: application/json, text/event-stream\nMcp-Session-Id: SESSION\n"
	const modernHead = "Content-Type: application/json\n"
	for _, body := range []string{
		ping, hello, canElicit, `[` + ping + `]`, `[]`, `{}`, `7`, "\x00", `{"jsonrpc":"2.0","id":"remit-1","result":{}}`,
		message(nil, "notifications/cancelled", `{"requestId":1}`), message(1, "resources/subscribe", `{"uri":"test://x"}`),
		message(1, "completion/complete", `{"ref":{"type":"ref/prompt","name":"x"},"argument":{"name":"a","value":""}}`),
		call(1, "test_logging_tool", `{}`), message(1, "tools/list", `{"cursor":"ZnJvbSAy"}`),
	} {
		f.Add("POST", legacy, body)
		f.Add("POST", legacy+"Accept: text/event-stream\n", body)
		f.Add("POST", modernHead, body)
	}
	for _, body := range []string{
		modern(1, discover, "", `{}`), modern("x", "tools/call", `"name":"test_x_mcp_header","arguments":{"region":"é"}`, allThree),
		modern(1, "tasks/get", `"taskId":"t"`, `{"extensions":{"io.modelcontextprotocol/tasks":{}}}`),
		modern(1, "tools/call", `"name":"test_input_required_result_elicitation","arguments":{},"inputResponses":{"user_name":{}},"requestState":"x"`, allThree),
		modern(1, "resources/read", `"uri":"test://static-text"`, `{}`),
	} {
		f.Add("POST", modernHead+lines(modernHeaders(body)...), body)
		f.Add("POST", modernHead+lines(modernHeaders(body)...)+"Mcp-Param-Region: =?base64?w6k=?=\n", body)
	}
	f.Add("GET", "Accept: text/event-stream\nMcp-Session-Id: SESSION\nLast-Event-ID: 0-0\n", "")
	f.Add("DELETE", "Mcp-Session-Id: SESSION\n", "")
	f.Add("PUT", "", "")
	r := newRig(f, setup{approve: approval.Deny})
	serve := func(method, session, body string) *httptest.ResponseRecorder {
		w, request := httptest.NewRecorder(), httptest.NewRequest(method, "/mcp", strings.NewReader(body))
		request.Header.Set("Content-Type", "application/json")
		if session != "" {
			request.Header.Set("Mcp-Session-Id", session)
		}
		r.mux.ServeHTTP(w, request)
		return w
	}
	f.Fuzz(func(t *testing.T, method, headers, body string) {
		id := serve(http.MethodPost, "", message(0, "initialize", `{"protocolVersion":"2025-03-26","capabilities":`+allThree+`}`)).Header().Get("Mcp-Session-Id")
		defer serve(http.MethodDelete, id, "")
		request, err := http.NewRequest(method, "/mcp", strings.NewReader(strings.ReplaceAll(body, "SESSION", id)))
		if err != nil {
			t.Skip("no request")
		}
		for line := range strings.Lines(strings.ReplaceAll(headers, "SESSION", id)) {
			if name, value, ok := strings.Cut(strings.TrimRight(line, "\r\n"), ":"); ok {
				request.Header.Add(name, strings.TrimSpace(value))
			}
		}
		// Streams do not end by themselves.
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		w := httptest.NewRecorder()
		r.mux.ServeHTTP(w, request.WithContext(ctx))
		if fault := wellFormed(w); fault != "" && ctx.Err() == nil {
			t.Fatalf("%s %q %q: %s", method, headers, body, fault)
		}
		if opened := w.Header().Get("Mcp-Session-Id"); opened != "" {
			serve(http.MethodDelete, opened, "")
		}
		if again := serve(http.MethodPost, id, message("the next", "ping", `{}`)); again.Code != http.StatusOK && (again.Code != http.StatusNotFound || method != http.MethodDelete) {
			t.Fatalf("after %s %q %q the next got %d %s", method, headers, body, again.Code, again.Body)
		}
		if left := r.http.Sessions(); left > 1 {
			t.Fatalf("after %s %q %q there are %d sessions", method, headers, body, left)
		}
	})
}

// wellFormed returns what is wrong with a response.
func wellFormed(w *httptest.ResponseRecorder) string {
	body := w.Body.Bytes()
	switch kind := w.Header().Get("Content-Type"); {
	case w.Code == http.StatusAccepted || w.Code == http.StatusNoContent:
		if len(body) > 0 {
			return fmt.Sprintf("%d with a body: %s", w.Code, body)
		}
	case kind == "text/event-stream":
		lines := bufio.NewScanner(bytes.NewReader(body))
		lines.Buffer(nil, 64<<20)
		for lines.Scan() {
			name, value, _ := strings.Cut(lines.Text(), ":")
			if name != "" && name != "id" && name != "data" && name != "retry" {
				return fmt.Sprintf("not a line of a stream: %q", lines.Text())
			}
			if data := strings.TrimSpace(value); name == "data" && data != "" && !isMessage([]byte(data)) {
				return fmt.Sprintf("not a message: %q", lines.Text())
			}
		}
	case kind == "application/json":
		if !isMessage(body) {
			return fmt.Sprintf("not a message: %q", body)
		}
	default:
		return fmt.Sprintf("%d of type %q: %q", w.Code, kind, body)
	}
	return ""
}

// isMessage reports whether a value is a JSON-RPC message or a list of them.
func isMessage(data []byte) bool {
	var list []json.RawMessage
	if json.Unmarshal(data, &list) == nil {
		for _, one := range list {
			if !isMessage(one) {
				return false
			}
		}
		return len(list) > 0
	}
	var m map[string]json.RawMessage
	if json.Unmarshal(data, &m) != nil || string(m["jsonrpc"]) != `"2.0"` {
		return false
	}
	kinds := 0
	for _, name := range []string{"method", "result", "error"} {
		if m[name] != nil {
			kinds++
		}
	}
	return kinds == 1
}
