package e2e

import (
	"fmt"
	"strings"
	"testing"
)

// protocolFaults are requests that are not valid tool calls, with the error code and the id of the
// expected answer.
var protocolFaults = []struct {
	name, line, id, contains string
	code                     int
}{
	{"unknown method", `{"jsonrpc":"2.0","id":7,"method":"tools/cal"}`, `7`, "tools/cal", -32601},
	{"empty method", `{"jsonrpc":"2.0","id":7,"method":""}`, `7`, "ethod", 0},
	{"unknown tool", `{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"helo"}}`, `"a"`, `did you mean "hello"?`, -32602},
	{"unknown tool with no similar name", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"zzzzzzzzzzzz"}}`, `1`, "zzzzzzzzzzzz", -32602},
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

// TestMalformedInput checks that each malformed request gets one error, and that the next call
// succeeds.
func TestMalformedInput(t *testing.T) {
	t.Parallel()
	for _, test := range protocolFaults {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := newWorkspace(t, nil).stdio("--toolsets", "booster")
			r.send(test.line)
			good := r.start("hello", `{"name":"after"}`)
			fault, next := r.mustNext(), r.mustNext()
			if string(fault.ID) == good { // calls run concurrently
				fault, next = next, fault
			}
			r.wantFault(fault, test.code, test.id, test.contains)
			if got := r.result(next); got.failed {
				t.Errorf("the next call failed: %s", got.text)
			}
			r.end()
		})
	}
}

// TestDiscoveryWithoutAVersion checks that a modern request without a version gets an error that
// says so, and that the client can still use the legacy era.
func TestDiscoveryWithoutAVersion(t *testing.T) {
	t.Parallel()
	r := newWorkspace(t, nil).stdio("--toolsets", "booster")
	r.wantFault(r.ask("server/discover", `{}`), -32602, "1001", "io.modelcontextprotocol/protocolVersion")
	if m := r.modern("server/discover", "", `{}`); m.Error != nil {
		t.Errorf("a valid discovery: %s", clip(m.raw))
	}
	r.initialize(`{}`)
	if got := r.call("hello", `{}`); got.failed {
		t.Errorf("the next call failed: %s", got.text)
	}
	r.end()
}

// wantFault checks an error. Code 0 allows any code of JSON-RPC.
func (r *stdioServer) wantFault(m message, code int, id, contains string) {
	r.t.Helper()
	switch {
	case m.Error == nil:
		r.t.Fatalf("no error: %s", clip(m.raw))
	case code != 0 && m.Error.Code != code, m.Error.Code > -32600 && code == 0 && m.Error.Code != -32601, m.Error.Code < -32700:
		r.t.Errorf("code %d, want %d: %s", m.Error.Code, code, clip(m.raw))
	case string(m.ID) != id:
		r.t.Errorf("id %s, want %s: %s", m.ID, id, clip(m.raw))
	case !strings.Contains(m.Error.Message, contains):
		r.t.Errorf("the message does not contain %q: %s", contains, clip(m.raw))
	case len(m.raw) > 4096:
		r.t.Errorf("the error is %d bytes long", len(m.raw))
	}
}

func TestHugeLineIsSkipped(t *testing.T) {
	t.Parallel()
	r := newWorkspace(t, nil).stdio("--toolsets", "booster")
	r.send(`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"filler":"` + strings.Repeat("x", 40<<20) + `"}}`)
	r.wantFault(r.mustNext(), 0, "null", "")
	r.send(strings.Repeat(" ", 40<<20) + `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	r.wantFault(r.mustNext(), 0, "null", "")
	if got := r.call("hello", `{"name":"after"}`); got.failed {
		t.Errorf("the next call failed: %s", got.text)
	}
	r.end()
}

// TestStreamEndsWithinALine checks that a message cut off by the end of the stream is not an error.
func TestStreamEndsWithinALine(t *testing.T) {
	t.Parallel()
	r := newWorkspace(t, nil).stdio("--toolsets", "booster")
	fmt.Fprint(r.stdin, `{"jsonrpc":"2.0","id":1,"method":"tools/ca`)
	r.stdin.Close()
	r.wantFault(r.mustNext(), -32700, "null", "")
	r.end()

	r = newWorkspace(t, nil).stdio("--toolsets", "booster")
	// Complete, but without a newline.
	fmt.Fprint(r.stdin, `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	r.stdin.Close()
	if m := r.reply("1"); m.Error != nil {
		t.Errorf("the last line without a newline got no answer: %s", m.raw)
	}
	r.end()
}
