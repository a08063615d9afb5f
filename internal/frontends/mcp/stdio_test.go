package mcp_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"remit/internal/app"
	"remit/internal/engine/approval"
	"remit/internal/frontends/cli"
)

// TestMain ignores the goroutine that net/http keeps for half a second after it has rejected a
// body.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"))
}

func open(t testing.TB, mode approval.Mode) (*app.App, string) {
	t.Helper()
	root := t.TempDir()
	data := filepath.Join(root, ".remit")
	a, err := app.Open(context.Background(), cli.Settings{
		Elicitation: true,
		Root:        root, Data: data, Config: filepath.Join(root, "remit.yaml"), Database: "sqlite://" + filepath.Join(data, "remit.db"),
		Toolsets: []string{"learning-os"}, Approve: mode, Keys: root + "-keys",
	}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a, root
}

// talk sends lines and returns the responses by id ("null" for those without).
func talk(t testing.TB, a *app.App, lines ...string) map[string]map[string]any {
	t.Helper()
	var out bytes.Buffer
	if err := a.ServeStdio(context.Background(), strings.NewReader(strings.Join(lines, "\n")), &out); err != nil {
		t.Fatal(err)
	}
	return replies(t, out.Bytes())
}

func replies(t testing.TB, out []byte) map[string]map[string]any {
	t.Helper()
	byID := map[string]map[string]any{}
	for line := range bytes.Lines(out) {
		var reply map[string]any
		if err := json.Unmarshal(line, &reply); err != nil {
			t.Fatalf("not JSON: %q: %v", line, err)
		}
		id, err := json.Marshal(reply["id"])
		if err != nil {
			t.Fatal(err)
		}
		byID[string(id)] = reply
	}
	return byID
}

const hello = `{"jsonrpc":"2.0","id":99,"method":"tools/call","params":{"name":"hello","arguments":{"name":"Ada"}}}`

// TestBadLines checks that each bad line gets an error, and that the next valid request succeeds.
func TestBadLines(t *testing.T) {
	a, _ := open(t, approval.Auto)
	for _, tc := range []struct {
		name, line, id string
		code           float64
		want           string
	}{
		{"garbage", "hello?", "null", -32700, "unexpected 'h'"},
		{"truncated", `{"jsonrpc":"2.0","id":1`, "null", -32700, "unexpected end"},
		{"invalid UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", "1", -32700, "invalid UTF-8"},
		{"key twice", `{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`, "null", -32700, `duplicate key "id"`},
		{"half a character", `{"jsonrpc":"2.0","id":5,"method":"ping","params":{"x":"\ud800"}}`, "5", -32700, "half of a surrogate pair"},
		{"key twice, but not the id", `{"jsonrpc":"2.0","id":"k","method":"ping","params":{"x":1,"x":2}}`, `"k"`, -32700, `duplicate key "x"`},
		{"deep", strings.Repeat("[", 500), "null", -32700, "nested too deeply"},
		{"batch", `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, "null", -32600, "batches"},
		{"a number", `7`, "null", -32600, "not a number"},
		{"wrong version", `{"jsonrpc":"1.0","id":1,"method":"ping"}`, "1", -32600, "jsonrpc"},
		{"null id", `{"jsonrpc":"2.0","id":null,"method":"ping"}`, "null", -32600, "id must be"},
		{"no method", `{"jsonrpc":"2.0","id":1}`, "1", -32600, "a method, or an id with either a result or an error"},
		{"method is a number", `{"jsonrpc":"2.0","id":1,"method":7}`, "1", -32600, "method must be a string"},
		{"params is an array", `{"jsonrpc":"2.0","id":"a","method":"ping","params":[]}`, `"a"`, -32602, "params must be an object"},
		{"unknown method", `{"jsonrpc":"2.0","id":1,"method":"tools/lst"}`, "1", -32601, "tools/lst"},
		{"no tool name", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}`, "1", -32602, "name"},
		{"unknown tool", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"helo"}}`, "1", -32602, `did you mean "hello"?`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := talk(t, a, tc.line, hello)
			fault, _ := got[tc.id]["error"].(map[string]any)
			if fault["code"] != tc.code || !strings.Contains(fault["message"].(string), tc.want) {
				t.Errorf("got %v, want %v with %q", got[tc.id], tc.code, tc.want)
			}
			if got["99"]["result"] == nil {
				t.Errorf("the next request was not served: %v", got)
			}
		})
	}
}

func TestLineTooLong(t *testing.T) {
	a, _ := open(t, approval.Auto)
	in := io.MultiReader(
		strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"`),
		io.LimitReader(zeros{}, 40<<20),
		strings.NewReader("\"}}\n"+hello+"\n"),
	)
	var out bytes.Buffer
	if err := a.ServeStdio(context.Background(), in, &out); err != nil {
		t.Fatal(err)
	}
	got := replies(t, out.Bytes())
	if fault, _ := got["null"]["error"].(map[string]any); fault["code"] != float64(-32600) || got["99"]["result"] == nil {
		t.Errorf("got %v", got)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '0'
	}
	return len(p), nil
}

// conversation is a client that sends and reads line by line.
type conversation struct {
	t    *testing.T
	in   *io.PipeWriter
	out  chan string
	done chan error
}

func converse(t *testing.T, a *app.App) *conversation {
	t.Helper()
	return speak(t, func(in io.Reader, out io.Writer) error { return a.ServeStdio(context.Background(), in, out) })
}

// speak connects a client to a server on a pair of streams.
func speak(t *testing.T, serve func(in io.Reader, out io.Writer) error) *conversation {
	t.Helper()
	inRead, inWrite := io.Pipe()
	outRead, outWrite := io.Pipe()
	c := &conversation{t: t, in: inWrite, out: make(chan string), done: make(chan error, 1)}
	go func() {
		c.done <- serve(inRead, outWrite)
		outWrite.Close()
	}()
	go func() {
		defer close(c.out)
		lines := bufio.NewScanner(outRead)
		lines.Buffer(nil, 64<<20)
		for lines.Scan() {
			c.out <- lines.Text()
		}
	}()
	t.Cleanup(func() {
		inWrite.Close()
		for range c.out {
		}
	})
	return c
}

func (c *conversation) send(line string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, line+"\n"); err != nil {
		c.t.Fatal(err)
	}
}

func (c *conversation) receive() string {
	c.t.Helper()
	select {
	case line, more := <-c.out:
		if !more {
			c.t.Fatal("no more lines")
		}
		return line
	case <-time.After(testTimeout):
		c.t.Fatal("nothing comes")
	}
	return ""
}

// quiet checks that no line comes for a moment.
func (c *conversation) quiet() {
	c.t.Helper()
	select {
	case line := <-c.out:
		c.t.Errorf("unexpected message: %s", line)
	case <-time.After(50 * time.Millisecond):
	}
}

func (c *conversation) end() {
	c.t.Helper()
	c.in.Close()
	for range c.out {
	}
	if err := <-c.done; err != nil {
		c.t.Error(err)
	}
}

const (
	canElicit = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"elicitation":{}},"clientInfo":{"name":"t","version":"1"}}}`
	write     = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"write_memory_entry","arguments":{"file":"decisions.jsonl","entry":{"timestamp":"2026-01-09T10:30:00Z","type":"x"}}}}`
)

func TestElicitation(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, answer string
		thinks       time.Duration
		want         string
		written      bool
	}{
		{"accepted", `"result":{"action":"accept","content":{}}`, 350 * time.Millisecond, `\"line_number\":1`, true},
		{"accepted before anyone saw it", `"result":{"action":"accept","content":{}}`, 0, `\"status\":\"pending\"`, false},
		{"declined", `"result":{"action":"decline"}`, 350 * time.Millisecond, "A person denied this call", false},
		{"declined before anyone saw it", `"result":{"action":"decline"}`, 0, `\"status\":\"pending\"`, false},
		{"dialog closed", `"result":{"action":"cancel"}`, 0, `\"status\":\"pending\"`, false},
		{"client fails", `"error":{"code":-32601,"message":"no"}`, 0, `\"status\":\"pending\"`, false},
	} {
		inBubble(t, tc.name, func(t *testing.T) {
			a, root := open(t, approval.Ask)
			c := converse(t, a)
			c.send(canElicit)
			c.receive()
			c.send(write)
			question := c.receive()
			if !strings.Contains(question, `"method":"elicitation/create"`) || !strings.Contains(question, `decisions.jsonl`) || !strings.Contains(question, "2026-01-09T10:30:00Z") {
				t.Fatalf("question %s", question)
			}
			time.Sleep(tc.thinks)
			c.send(`{"jsonrpc":"2.0","id":"remit-1",` + tc.answer + `}`)
			if got := c.receive(); !strings.Contains(got, tc.want) {
				t.Errorf("got %s, want %s", got, tc.want)
			}
			c.end()
			if _, err := os.Stat(filepath.Join(root, ".claude/memory/decisions.jsonl")); (err == nil) != tc.written {
				t.Errorf("written = %v, want %v", err == nil, tc.written)
			}
		})
	}
}

// TestManyQuestions checks that calls that wait for a person do not block the answers or other
// calls.
func TestManyQuestions(t *testing.T) {
	t.Parallel()
	a, root := open(t, approval.Ask)
	c := converse(t, a)
	c.send(canElicit)
	c.receive()
	const n = approval.MaxPending
	for i := range n {
		c.send(strings.Replace(strings.Replace(write, `"id":1`, `"id":`+jsonInt(1000+i), 1), `"x"`, `"`+jsonInt(i)+`"`, 1))
		if i%2 == 0 {
			c.send(strings.Replace(hello, "99", jsonInt(5000+i), 1))
		}
		for got := false; !got; {
			var m struct{ ID, Method any }
			if err := json.Unmarshal([]byte(c.receive()), &m); err != nil {
				t.Fatal(err)
			}
			got = m.Method != nil
		}
	}
	think()
	go func() {
		for i := range n {
			c.send(`{"jsonrpc":"2.0","id":"remit-` + jsonInt(i+1) + `","result":{"action":"accept"}}`)
		}
	}()
	for done := 0; done < n; {
		if line := c.receive(); strings.Contains(line, "line_number") {
			done++
		}
	}
	c.end()
	data, err := os.ReadFile(filepath.Join(root, ".claude/memory/decisions.jsonl"))
	if err != nil || bytes.Count(data, []byte("\n")) != n {
		t.Errorf("%d lines written (%v), want %d", bytes.Count(data, []byte("\n")), err, n)
	}
}

func jsonInt(n int) string { b, _ := json.Marshal(n); return string(b) }

func TestClientDisconnectsDuringQuestion(t *testing.T) {
	a, root := open(t, approval.Ask)
	c := converse(t, a)
	c.send(canElicit)
	c.receive()
	c.send(write)
	c.receive()
	c.in.Close()
	if got := c.receive(); !strings.Contains(got, `\"status\":\"pending\"`) {
		t.Errorf("got %s", got)
	}
	c.end()
	if _, err := os.Stat(filepath.Join(root, ".claude/memory/decisions.jsonl")); err == nil {
		t.Error("written without approval")
	}
}

func TestCancelledCallGetsNoAnswer(t *testing.T) {
	a, _ := open(t, approval.Ask)
	c := converse(t, a)
	c.send(canElicit)
	c.receive()
	c.send(write)
	c.receive()
	c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	if got := c.receive(); !strings.Contains(got, `"method":"notifications/cancelled"`) || !strings.Contains(got, `"remit-1"`) {
		t.Errorf("the question was not withdrawn: %s", got)
	}
	c.send(`{"jsonrpc":"2.0","id":2,"method":"ping"}`)
	if got := c.receive(); got != `{"jsonrpc":"2.0","id":2,"result":{}}` {
		t.Errorf("got %s", got)
	}
	c.end()
}

// TestOrderOfWrites checks that the writes of one client keep their order.
func TestOrderOfWrites(t *testing.T) {
	t.Parallel()
	a, root := open(t, approval.Auto)
	var lines []string
	for i := range 500 {
		lines = append(lines, strings.Replace(strings.Replace(write, `"id":1`, `"id":`+jsonInt(i), 1), `"x"`, `"n`+jsonInt(i)+`"`, 1))
	}
	got := talk(t, a, lines...)
	data, err := os.ReadFile(filepath.Join(root, ".claude/memory/decisions.jsonl"))
	if err != nil || len(got) != 500 {
		t.Fatalf("%d answers, %v", len(got), err)
	}
	for i, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		if !strings.Contains(line, `"n`+jsonInt(i)+`"`) {
			t.Fatalf("line %d is %s", i+1, line)
		}
	}
}

// FuzzStdio checks that any input, in either era, gets JSON-RPC lines, and that a valid request of
// each era succeeds at the end.
func FuzzStdio(f *testing.F) {
	for _, seed := range []string{
		hello, write, canElicit, `[]`, `{"jsonrpc":"2.0","id":"remit-1","result":{}}`, "\x00", `{"jsonrpc":"2.0","method":"notifications/cancelled"}`,
		modern(1, "server/discover", "", `{}`), modern(1, "subscriptions/listen", `"notifications":{"toolsListChanged":true}`, `{}`) + "\n" + message(nil, "notifications/cancelled", `{"requestId":1}`),
		modern("x", "tools/call", `"name":"write_memory_entry","arguments":{},"inputResponses":{},"requestState":"x"`, `{"elicitation":{}}`),
		message(0, "initialize", `{"protocolVersion":"2025-03-26"}`) + "\n[" + ping + "," + ping + "]",
		message(1, "resources/subscribe", `{"uri":"memory://decisions.jsonl"}`), message(1, "tools/list", `{"cursor":"ZnJvbSAy"}`),
	} {
		f.Add([]byte(seed))
	}
	a, _ := open(f, approval.Deny)
	last := message("the last", "ping", `{}`) + "\n" + modern("the very last", "server/discover", "", `{}`) + "\n"
	f.Fuzz(func(t *testing.T, data []byte) {
		in := append(append([]byte("\n"), data...), "\n"+message("old", "initialize", `{}`)+"\n"+last...)
		var out bytes.Buffer
		if err := a.ServeStdio(context.Background(), bytes.NewReader(in), &out); err != nil {
			t.Fatal(err)
		}
		served := map[string]bool{}
		for line := range bytes.Lines(out.Bytes()) {
			if !isMessage(line) {
				t.Fatalf("not a message after %q: %q", data, line)
			}
			if bytes.Contains(line, []byte(`"result":`)) {
				served[mustJSON(t, at(string(line), "id"))] = true
			}
		}
		if !served[`"the last"`] || !served[`"the very last"`] {
			t.Fatalf("the last requests were not served after %q: %s", data, out.Bytes())
		}
	})
}
