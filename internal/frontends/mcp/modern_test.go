package mcp_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"remit/internal/engine/approval"
)

const discover = "server/discover"

// TestDiscover checks the result of server/discover.
func TestDiscover(t *testing.T) {
	got := newRig(t, setup{}).ask(modern(1, discover, "", `{}`))
	got.want(t, discover, http.StatusOK, nil)
	for path, want := range map[string]any{
		"resultType": "complete", "cacheScope": "public", "ttlMs": 300_000.0, "instructions": "Be kind.",
	} {
		if is := got.at("result", path); is != want {
			t.Errorf("%s is %v, want %v", path, is, want)
		}
	}
	versions := mustJSON(t, got.at("result", "supportedVersions"))
	if versions != `["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"]` {
		t.Errorf("versions %s", versions)
	}
	if got.at("result", "_meta", "io.modelcontextprotocol/serverInfo", "version") != "1.2.3" {
		t.Errorf("no serverInfo: %s", got.body)
	}
	if got.at("result", "capabilities", "tasks") != nil || mustJSON(t, got.at("result", "capabilities", "extensions")) != `{"io.modelcontextprotocol/tasks":{}}` {
		t.Errorf("capabilities %s", got.body)
	}
	if got.header.Get("Mcp-Session-Id") != "" {
		t.Error("the modern era has no sessions")
	}
}

// TestClientDescription checks that every request must describe its client.
func TestClientDescription(t *testing.T) {
	r := newRig(t, setup{})
	a, _ := open(t, approval.Auto)
	const version, capabilities = `"io.modelcontextprotocol/protocolVersion":"2026-07-28"`, `"io.modelcontextprotocol/clientCapabilities":{}`
	for _, tc := range []struct {
		name, params string
		code         any
	}{
		{"all", `{"_meta":{` + version + `,` + capabilities + `}}`, nil},
		{"no params", `{}`, -32602},
		{"meta is not an object", `{"_meta":7}`, -32602},
		{"empty", `{"_meta":{}}`, -32602},
		{"no version", `{"_meta":{` + capabilities + `}}`, -32602},
		{"version is no string", `{"_meta":{"io.modelcontextprotocol/protocolVersion":2026,` + capabilities + `}}`, -32602},
		{"no capabilities", `{"_meta":{` + version + `}}`, -32602},
		{"capabilities are not an object", `{"_meta":{` + version + `,"io.modelcontextprotocol/clientCapabilities":[]}}`, -32602},
		{"an invalid level", `{"_meta":{` + version + `,` + capabilities + `,"io.modelcontextprotocol/logLevel":"loud"}}`, -32602},
		{"unusual capabilities", `{"_meta":{` + version + `,"io.modelcontextprotocol/clientCapabilities":{"elicitation":7,"extensions":[],"sampling":null}}}`, nil},
	} {
		body := message("x", discover, tc.params)
		status := http.StatusOK
		if tc.code != nil {
			status = http.StatusBadRequest
		}
		got := r.ask(body)
		got.want(t, tc.name, status, tc.code)
		if got.at("id") != "x" {
			t.Errorf("%s: the id is %v", tc.name, got.at("id"))
		}
		line := mustJSON(t, talk(t, a, body)[`"x"`])
		if want, _ := tc.code.(int); tc.code != nil && at(line, "error", "code") != float64(want) || tc.code == nil && at(line, "result") == nil {
			t.Errorf("stdio, %s: %s", tc.name, line)
		}
	}
}

// TestRequestVersions checks that header and body must name the same supported version.
func TestRequestVersions(t *testing.T) {
	r := newRig(t, setup{})
	for _, tc := range []struct {
		name, header, body string
		code               any
	}{
		{"the one", "2026-07-28", "2026-07-28", nil},
		{"with spaces", " 2026-07-28\t", "2026-07-28", nil},
		{"unknown", "v999.0.0", "v999.0.0", -32022},
		{"later", "2027-01-01", "2027-01-01", -32022},
		{"earlier, as if it were modern", "2025-11-25", "2025-11-25", -32022},
		{"they differ", "2026-07-28", "v999.0.0", -32020},
		{"they differ the other way", "v999.0.0", "2026-07-28", -32020},
		{"no header", "", "2026-07-28", -32020},
	} {
		body := strings.Replace(modern(1, "tools/list", "", `{}`), "2026-07-28", tc.body, 1)
		got := r.ask(body, "MCP-Protocol-Version", tc.header)
		status := http.StatusOK
		if tc.code != nil {
			status = http.StatusBadRequest
		}
		got.want(t, tc.name, status, tc.code)
		if tc.code == -32022 && (got.at("error", "data", "requested") != tc.body || mustJSON(t, got.at("error", "data", "supported")) == "null") {
			t.Errorf("%s: %s", tc.name, got.body)
		}
	}
	two := r.request(context.Background(), http.MethodPost, "/mcp", modern(1, discover, "", `{}`), modernHeaders(modern(1, discover, "", `{}`))...)
	two.Header.Add("MCP-Protocol-Version", "2026-07-28")
	r.do(two).want(t, "two versions", http.StatusBadRequest, -32020)
}

// TestHeadersMatchBody checks that headers must match the body, because proxies rely on the
// headers.
func TestHeadersMatchBody(t *testing.T) {
	r := newRig(t, setup{})
	list, text := modern(1, "tools/list", "", `{}`), modern(1, "tools/call", `"name":"test_simple_text","arguments":{}`, `{}`)
	read := modern(1, "resources/read", `"uri":"test://template/caf\u00e9/data"`, `{}`)
	for _, tc := range []struct {
		name, body string
		headers    []string
		code       any
	}{
		{"good", text, nil, nil},
		{"another method", list, []string{"Mcp-Method", "prompts/list"}, -32020},
		{"no method", list, []string{"Mcp-Method", ""}, -32020},
		{"method in capitals", list, []string{"Mcp-Method", "TOOLS/LIST"}, -32020},
		{"encoded method", list, []string{"Mcp-Method", "=?base64?dG9vbHMvbGlzdA==?="}, -32020},
		{"name of a header in capitals", list, []string{"MCP-METHOD", "tools/list"}, nil},
		{"method with spaces", list, []string{"Mcp-Method", " tools/list "}, nil},
		{"another name", text, []string{"Mcp-Name", "greet"}, -32020},
		{"no name", text, []string{"Mcp-Name", ""}, -32020},
		{"name in capitals", text, []string{"Mcp-Name", "TEST_SIMPLE_TEXT"}, -32020},
		{"name with spaces", text, []string{"Mcp-Name", "  test_simple_text  "}, nil},
		{"encoded name", text, []string{"Mcp-Name", "=?base64?dGVzdF9zaW1wbGVfdGV4dA==?="}, nil},
		{"encoded name of another", text, []string{"Mcp-Name", "=?base64?Z3JlZXQ=?="}, -32020},
		{"encoded without padding", text, []string{"Mcp-Name", "=?base64?dGVzdF9zaW1wbGVfdGV4dA?="}, -32020},
		{"encoded with junk", text, []string{"Mcp-Name", "=?base64?dGVzdF9z!W1wbGVfdGV4dA==?="}, -32020},
		{"marked in capitals", text, []string{"Mcp-Name", "=?BASE64?dGVzdF9zaW1wbGVfdGV4dA==?="}, -32020},
		{"encoded twice", text, []string{"Mcp-Name", "=?base64?PT9iYXNlNjQ/ZEdWemRGOXphVzF3YkdWZmRHVjRkQT09Pz0=?="}, -32020},
		{"an unneeded name", list, []string{"Mcp-Name", "whatever"}, nil},
		{"not ASCII, encoded", read, []string{"Mcp-Name", "=?base64?dGVzdDovL3RlbXBsYXRlL2NhZsOpL2RhdGE=?="}, nil},
		{"not ASCII, as it is", read, []string{"Mcp-Name", "test://template/caf\xc3\xa9/data"}, -32020},
		{"not ASCII, Latin 1", read, []string{"Mcp-Name", "test://template/caf\xe9/data"}, -32020},
		{"a name that is a number", modern(1, "tools/call", `"name":7`, `{}`), []string{"Mcp-Name", "7"}, -32602},
		{"prompt", modern(1, "prompts/get", `"name":"test_simple_prompt"`, `{}`), []string{"Mcp-Name", "other"}, -32020},
		{"task", modern(1, "tasks/get", `"taskId":"a"`, `{}`), []string{"Mcp-Name", "b"}, -32020},
	} {
		got := r.ask(tc.body, tc.headers...)
		status := http.StatusOK
		if tc.code != nil {
			status = http.StatusBadRequest
		}
		got.want(t, tc.name, status, tc.code)
		if got.at("id") != 1.0 || got.header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %s %s", tc.name, got.header.Get("Content-Type"), got.body)
		}
	}
	for _, name := range []string{"Mcp-Method", "Mcp-Name"} {
		two := r.request(context.Background(), http.MethodPost, "/mcp", text, modernHeaders(text)...)
		two.Header.Add(name, two.Header.Get(name))
		r.do(two).want(t, "two of "+name, http.StatusBadRequest, -32020)
	}
}

// TestMirroredArguments checks that mirrored arguments must be in headers and match.
func TestMirroredArguments(t *testing.T) {
	r := newRig(t, setup{})
	for _, tc := range []struct {
		name, args string
		headers    []string
		code       any
	}{
		{"plain", `{"region":"eu"}`, []string{"Mcp-Param-Region", "eu"}, nil},
		{"other case", `{"region":"eu"}`, []string{"mcp-param-REGION", "eu"}, nil},
		{"encoded", `{"region":"Hello"}`, []string{"Mcp-Param-Region", "=?base64?SGVsbG8=?="}, nil},
		{"not ASCII", `{"region":"é\n"}`, []string{"Mcp-Param-Region", "=?base64?w6kK?="}, nil},
		{"looks encoded", `{"region":"=?base64?SGVsbG8="}`, []string{"Mcp-Param-Region", "=?base64?SGVsbG8="}, nil},
		{"is the sentinel", `{"region":"=?base64?SGVsbG8=?="}`, []string{"Mcp-Param-Region", "=?base64?SGVsbG8=?="}, -32020},
		{"is the sentinel, encoded", `{"region":"=?base64?SGVsbG8=?="}`, []string{"Mcp-Param-Region", "=?base64?PT9iYXNlNjQ/U0dWc2JHOD0/PQ==?="}, nil},
		{"bad padding", `{"region":"Hello"}`, []string{"Mcp-Param-Region", "=?base64?SGVsbG8?="}, -32020},
		{"trailing bits", `{"region":"Hello"}`, []string{"Mcp-Param-Region", "=?base64?SGVsbG9=?="}, -32020},
		{"missing", `{"region":"eu"}`, nil, -32020},
		{"another", `{"region":"eu"}`, []string{"Mcp-Param-Region", "us"}, -32020},
		{"number", `{"region":"eu","priority":42}`, []string{"Mcp-Param-Region", "eu", "Mcp-Param-Priority", "42"}, nil},
		{"number spelt otherwise", `{"region":"eu","priority":42}`, []string{"Mcp-Param-Region", "eu", "Mcp-Param-Priority", "42.0"}, nil},
		{"another number", `{"region":"eu","priority":42}`, []string{"Mcp-Param-Region", "eu", "Mcp-Param-Priority", "43"}, -32020},
		{"no number", `{"region":"eu","priority":42}`, []string{"Mcp-Param-Region", "eu", "Mcp-Param-Priority", "0x2A"}, -32020},
		{"large numbers that differ", `{"region":"eu","priority":9007199254740993}`, []string{"Mcp-Param-Region", "eu", "Mcp-Param-Priority", "9007199254740992"}, -32020},
		{"header without argument", `{"region":"eu"}`, []string{"Mcp-Param-Region", "eu", "Mcp-Param-Priority", "1"}, -32020},
		{"null counts as missing", `{"region":"eu","priority":null}`, []string{"Mcp-Param-Region", "eu"}, nil},
		{"an unknown one", `{"region":"eu"}`, []string{"Mcp-Param-Region", "eu", "Mcp-Param-Other", "1"}, nil},
	} {
		got := r.ask(modern(1, "tools/call", `"name":"test_x_mcp_header","arguments":`+tc.args, `{}`), tc.headers...)
		status := http.StatusOK
		if tc.code != nil {
			status = http.StatusBadRequest
		}
		got.want(t, tc.name, status, tc.code)
	}
	two := modern(1, "tools/call", `"name":"test_x_mcp_header","arguments":{"region":"eu"}`, `{}`)
	request := r.request(context.Background(), http.MethodPost, "/mcp", two, append(modernHeaders(two), "Mcp-Param-Region", "eu")...)
	request.Header.Add("Mcp-Param-Region", "us")
	r.do(request).want(t, "two of one", http.StatusBadRequest, -32020)
}

// TestModernMethods checks that legacy methods are unknown.
func TestModernMethods(t *testing.T) {
	r := newRig(t, setup{})
	for _, method := range []string{
		"initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe", "unknown/method", "tasks/list", "tasks/result",
	} {
		r.ask(modern(500, method, "", `{}`)).want(t, method, http.StatusNotFound, -32601)
	}
	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		got := r.do(r.request(context.Background(), method, "/mcp", "", "MCP-Protocol-Version", "2026-07-28"))
		if got.status != http.StatusMethodNotAllowed || got.header.Get("Allow") != "POST" {
			t.Errorf("%s: %d %v", method, got.status, got.header)
		}
	}
	for _, method := range []string{http.MethodPut, http.MethodHead, http.MethodOptions, http.MethodPatch} {
		if got := r.do(r.request(context.Background(), method, "/mcp", "")); got.status != http.StatusMethodNotAllowed || !strings.Contains(got.header.Get("Allow"), "POST") {
			t.Errorf("%s: %d %v", method, got.status, got.header)
		}
	}
	notification := message(nil, "notifications/cancelled", `{"requestId":1,"_meta":`+meta(`{}`)+`}`)
	if got := r.ask(notification); got.status != http.StatusAccepted || got.body != "" {
		t.Errorf("notification: %d %s", got.status, got.body)
	}
	for _, answer := range []string{`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"}}`} {
		if got := r.post(answer, "MCP-Protocol-Version", "2026-07-28"); got.status != http.StatusBadRequest {
			t.Errorf("answer: %d %s", got.status, got.body)
		}
	}
	if got := r.post("{", "MCP-Protocol-Version", "2026-07-28"); got.status != 400 || got.code() != -32700.0 || strings.Contains(got.body, `"id"`) {
		t.Errorf("half a message: %d %s", got.status, got.body)
	}
}

// TestModernResults checks that results state their type and, if cacheable, how long.
func TestModernResults(t *testing.T) {
	r := newRig(t, setup{})
	for _, tc := range []struct {
		method, params string
		kept           bool
	}{
		{"tools/list", "", true},
		{"prompts/list", "", true},
		{"resources/list", "", true},
		{"resources/templates/list", "", true},
		{"resources/read", `"uri":"test://static-text"`, true},
		{"prompts/get", `"name":"test_simple_prompt"`, false},
		{"tools/call", `"name":"test_simple_text"`, false},
		{"tools/call", `"name":"test_error_handling","arguments":{}`, false},
	} {
		got := r.ask(modern(1, tc.method, tc.params, `{}`))
		got.want(t, tc.method, http.StatusOK, nil)
		scope := got.at("result", "cacheScope")
		if got.at("result", "resultType") != "complete" || (scope == "public" || scope == "private") != tc.kept || (got.at("result", "ttlMs") != nil) != tc.kept {
			t.Errorf("%s: %s", tc.method, got.body)
		}
	}
	for range 3 {
		if a, b := r.ask(modern(1, "tools/list", "", `{}`)), r.ask(modern(1, "tools/list", "", `{"roots":{}}`)); a.body != b.body {
			t.Error("the list of tools varies")
		}
	}
}

// TestMissingCapabilities checks that a call that needs a missing capability is rejected
// with its name.
func TestMissingCapabilities(t *testing.T) {
	r := newRig(t, setup{})
	for _, tc := range []struct{ tool, capabilities, want string }{
		{"test_missing_capability", `{}`, `{"sampling":{}}`},
		{"test_input_required_result_elicitation", `{"sampling":{}}`, `{"elicitation":{"form":{}}}`},
		{"test_input_required_result_elicitation", `{"elicitation":{"url":{}}}`, `{"elicitation":{"form":{}}}`},
		{"test_input_required_result_list_roots", `{}`, `{"roots":{}}`},
		{"failing_job", `{}`, `{"extensions":{"io.modelcontextprotocol/tasks":{}}}`},
	} {
		got := r.ask(modern(9, "tools/call", `"name":"`+tc.tool+`","arguments":{}`, tc.capabilities))
		got.want(t, tc.tool, http.StatusBadRequest, -32021)
		if needs := mustJSON(t, got.at("error", "data", "requiredCapabilities")); needs != tc.want {
			t.Errorf("%s needs %s, want %s", tc.tool, needs, tc.want)
		}
	}
}

// TestModernNotifications checks that progress and logs come before the result if requested, and
// that a client that accepts only JSON gets the result.
func TestModernNotifications(t *testing.T) {
	r := newRig(t, setup{})
	with := func(tool, more string) string {
		return message(1, "tools/call", `{"name":"`+tool+`","arguments":{},"_meta":`+meta(`{}`, more)+`}`)
	}
	stream := r.listen(with("test_tool_with_progress", `,"progressToken":"p"`))
	if all := stream.ended(); len(all) != 4 || at(all[3].data, "result", "resultType") != "complete" || all[0].id != "" {
		t.Errorf("got %+v", all)
	}
	if got := r.ask(with("test_tool_with_progress", `,"progressToken":"p"`), "Accept", "application/json"); got.text() == "" {
		t.Errorf("JSON alone: %s", got.body)
	}
	for more, want := range map[string]int{
		``: 0, `,"io.modelcontextprotocol/logLevel":"debug"`: 1, `,"io.modelcontextprotocol/logLevel":"info"`: 1, `,"io.modelcontextprotocol/logLevel":"error"`: 0,
	} {
		if got := strings.Count(r.ask(with("test_logging_tool", more)).body, "notifications/message"); got != want {
			t.Errorf("%s: %d messages, want %d", more, got, want)
		}
	}
}

// TestBothErasAtOnce checks that one connection, or one URL, serves both eras message by message.
func TestBothErasAtOnce(t *testing.T) {
	young := func(id int) string { return modern(id, "tools/list", "", `{}`) }
	old := func(id int) string { return message(id, "tools/list", `{}`) }
	greeting := message(0, "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`)
	a, _ := open(t, approval.Auto)
	for name, lines := range map[string][]string{
		"the old first":   {greeting, old(1), young(2), old(1 + 2), modern(4, discover, "", `{}`), old(5), young(6)},
		"the young first": {modern(10, discover, "", `{}`), greeting, old(1), young(2), old(3), modern(4, discover, "", `{}`), old(5), young(6)},
	} {
		got := talk(t, a, lines...)
		for id, isYoung := range map[string]bool{"1": false, "2": true, "3": false, "4": true, "5": false, "6": true} {
			result, _ := got[id]["result"].(map[string]any)
			if result == nil || (result["resultType"] == "complete") != isYoung {
				t.Errorf("%s: the answer to %s is %v", name, id, got[id])
			}
		}
	}
	got := talk(t, a, modern(1, discover, "", `{}`), old(2), ping)
	for id, code := range map[string]float64{"2": -32602, "7": -32602} {
		if fault, _ := got[id]["error"].(map[string]any); fault["code"] != code {
			t.Errorf("a client that began as a young one, then said nothing: %v", got[id])
		}
	}
	r := newRig(t, setup{})
	s := r.initialize("2025-11-25", `{}`)
	for i := range 3 {
		if got := s.post(old(i)); got.at("result", "resultType") != nil {
			t.Errorf("old: %.80s", got.body)
		}
		if got := r.ask(young(i)); got.at("result", "resultType") != "complete" {
			t.Errorf("young: %.80s", got.body)
		}
		if got := r.ask(young(i), "Mcp-Session-Id", s.id); got.at("result", "resultType") != "complete" || got.header.Get("Mcp-Session-Id") != "" {
			t.Errorf("young, with a session that means nothing: %.80s", got.body)
		}
	}
	r.post(young(1)).want(t, "young without headers", http.StatusBadRequest, -32020)
}

// TestSecondInitialize checks that a second initialize replaces the first.
func TestSecondInitialize(t *testing.T) {
	a, _ := open(t, approval.Ask)
	c := converse(t, a)
	c.send(canElicit)
	c.receive()
	c.send(message(5, "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`))
	c.receive()
	c.send(write)
	if got := c.receive(); !strings.Contains(got, `\"status\":\"pending\"`) {
		t.Errorf("the client was asked: %s", got)
	}
	c.end()
}

// TestClosedStreamCancels checks that closing a modern stream cancels the call.
func TestClosedStreamCancels(t *testing.T) {
	r := newRig(t, setup{toolsets: []string{"conformance"}})
	body := message(1, "tools/call", `{"name":"test_tool_with_logging","arguments":{},"_meta":`+meta(`{}`, `,"io.modelcontextprotocol/logLevel":"info"`)+`}`)
	stream := r.listen(body)
	stream.next()
	stream.close()
	eventually(t, "the call was cancelled", func() bool {
		return slices.ContainsFunc(auditOf(t, r), func(line string) bool {
			return strings.Contains(line, "test_tool_with_logging") && strings.Contains(line, "unavailable")
		})
	})
}
