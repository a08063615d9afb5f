package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// server is a running "remit stdio" that is spoken to in raw lines.
type server struct {
	t      *testing.T
	space  *space
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	lines  chan []byte // closed when stdout ends
	stderr *syncBuffer
	last   int                // id of the last request; the first is 1001
	early  map[string]message // replies that came before they were asked for
}

// stdio starts a server in the workspace; args follow "remit stdio".
func (s *space) stdio(args ...string) *server {
	s.t.Helper()
	return s.stdioWith(nil, args...)
}

// stdioWith starts a server with more environment variables.
func (s *space) stdioWith(env []string, args ...string) *server {
	s.t.Helper()
	cmd := exec.Command(remitBin, append([]string{"stdio", "--root", s.root}, args...)...)
	cmd.Dir, cmd.Env = s.t.TempDir(), environment(append(s.env, env...)...)
	r := &server{t: s.t, space: s, cmd: cmd, lines: make(chan []byte, 1<<14), stderr: &syncBuffer{}, last: 1000, early: map[string]message{}}
	cmd.Stderr = r.stderr
	var err error
	r.stdin, err = cmd.StdinPipe()
	s.check(err)
	stdout, err := cmd.StdoutPipe()
	s.check(err)
	s.check(cmd.Start())
	read := make(chan struct{})
	go func() {
		defer close(read)
		r.readLines(stdout)
	}()
	s.t.Cleanup(func() {
		_ = cmd.Process.Kill() // if the test did not end it
		<-read
		_ = cmd.Wait()
	})
	return r
}

func (r *server) readLines(stdout io.Reader) {
	defer close(r.lines)
	reader := bufio.NewReaderSize(stdout, 1<<16)
	for {
		line, err := reader.ReadBytes('\n')
		if len(line) > 0 {
			r.lines <- line
		}
		if err != nil {
			return
		}
	}
}

// message is one JSON-RPC message from the server.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   *rpcError       `json:"error"`
	raw     []byte
}

type rpcError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
}

// parse takes a line of stdout apart. Anything but one JSON-RPC message a line is
// a failure, whatever the test is about.
func (r *server) parse(line []byte) message {
	r.t.Helper()
	return readMessage(r.t, r.space.root, line)
}

// readMessage takes one message of a server in the folder root apart.
func readMessage(t *testing.T, root string, line []byte) message {
	t.Helper()
	var m message
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(&m)
	answers := m.Method == "" && len(m.ID) > 0 && (m.Result != nil) != (m.Error != nil)
	asks := m.Method != "" && m.Result == nil && m.Error == nil
	if err != nil || decoder.More() || m.Version != "2.0" || !answers && !asks || line[len(line)-1] != '\n' {
		t.Fatalf("something else than JSON-RPC (%v): %s", err, clip(line))
	}
	if bytes.Contains(line, []byte(root)) {
		t.Fatalf("a path of the host is told: %s", clip(line))
	}
	m.raw = line
	return m
}

// line gives the next line of stdout; false when there is none left.
func (r *server) line() ([]byte, bool) {
	r.t.Helper()
	select {
	case line, open := <-r.lines:
		return line, open
	case <-time.After(patience):
		r.t.Fatalf("the server says nothing; stderr: %s", r.stderr)
		return nil, false
	}
}

// next gives the next message from the server; false when it closed stdout.
func (r *server) next() (message, bool) {
	r.t.Helper()
	line, open := r.line()
	if !open {
		return message{}, false
	}
	return r.parse(line), true
}

// need gives the next message, which must come.
func (r *server) need() message {
	r.t.Helper()
	m, ok := r.next()
	if !ok {
		r.t.Fatalf("the server is gone; stderr: %s", r.stderr)
	}
	return m
}

// send writes one line.
func (r *server) send(line string) {
	r.t.Helper()
	if _, err := io.WriteString(r.stdin, line+"\n"); err != nil {
		r.t.Fatalf("send: %v; stderr: %s", err, r.stderr)
	}
}

// request sends a request and returns its id.
func (r *server) request(method, params string) string {
	r.t.Helper()
	r.last++
	id := fmt.Sprint(r.last)
	r.send(requestLine(id, method, params))
	return id
}

func requestLine(id, method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, params)
}

// reply waits for the answer to a request; answers to others are kept.
func (r *server) reply(id string) message {
	r.t.Helper()
	for {
		if m, ok := r.early[id]; ok {
			delete(r.early, id)
			return m
		}
		m := r.need()
		if m.Method != "" {
			r.t.Fatalf("the server asks while an answer is due: %s", clip(m.raw))
		}
		r.early[string(m.ID)] = m
	}
}

// ask sends a request and waits for its answer.
func (r *server) ask(method, params string) message {
	r.t.Helper()
	return r.reply(r.request(method, params))
}

// start sends a call of a tool and returns its id.
func (r *server) start(tool, args string) string {
	r.t.Helper()
	return r.request("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, args))
}

// call calls a tool and waits for its result.
func (r *server) call(tool, args string) toolResult {
	r.t.Helper()
	return r.result(r.reply(r.start(tool, args)))
}

// toolResult is what a call came to.
type toolResult struct {
	text   string // JSON
	failed bool
}

// result reads the result of a call, and checks what holds for every one of them.
func (r *server) result(m message) toolResult {
	r.t.Helper()
	if m.Error != nil {
		r.t.Fatalf("a protocol error instead of a tool result: %s", clip(m.raw))
	}
	var got struct {
		Content []struct {
			Type string `json:"type"`
			Text string `json:"text"`
		} `json:"content"`
		Structured json.RawMessage `json:"structuredContent"`
		IsError    bool            `json:"isError"`
		ResultType string          `json:"resultType"` // of the modern era, like the next
		Meta       json.RawMessage `json:"_meta"`
	}
	r.decode(m.Result, &got)
	noted := bytes.Contains(got.Meta, []byte(`"io.remit/`)) // in either era
	if got.ResultType != "" && got.ResultType != "complete" || (got.ResultType == "") != (got.Meta == nil) && !noted {
		r.t.Errorf("neither the one era nor the other: %s", clip(m.raw))
	}
	if len(got.Content) != 1 || got.Content[0].Type != "text" || !json.Valid([]byte(got.Content[0].Text)) {
		r.t.Fatalf("the content is not one JSON text: %s", clip(m.raw))
	}
	text := got.Content[0].Text
	if got.IsError && got.Structured != nil {
		r.t.Errorf("an error has structured content: %s", clip(m.raw))
	}
	if !got.IsError && !isStructureOf(string(got.Structured), text) {
		r.t.Errorf("text and structuredContent differ: %s", clip(m.raw))
	}
	return toolResult{text, got.IsError}
}

// isStructureOf tells whether structure says what the text does: the same, or an object
// with nothing but the list that the text is.
func isStructureOf(structured, text string) bool {
	if !strings.HasPrefix(text, "[") {
		return structured == text
	}
	before, ends := strings.CutSuffix(structured, text+"}")
	return ends && strings.HasPrefix(before, `{"`) && strings.HasSuffix(before, `":`) && strings.Count(before, `"`) == 2
}

func (r *server) decode(data []byte, into any) {
	r.t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		r.t.Fatalf("decode %s: %v", clip(data), err)
	}
}

// greet says hello to the server, as a client that can or cannot ask a person.
func (r *server) greet(capabilities string) {
	r.t.Helper()
	m := r.ask("initialize", `{"protocolVersion":"2025-11-25","capabilities":`+capabilities+`,"clientInfo":{"name":"raw","version":"1"}}`)
	if m.Error != nil {
		r.t.Fatalf("initialize: %s", m.raw)
	}
	r.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

// end closes stdin; the server must leave in peace, without another word.
func (r *server) end() {
	r.t.Helper()
	r.stdin.Close()
	if m, ok := r.next(); ok {
		r.t.Errorf("unasked at the end: %s", clip(m.raw))
	}
	r.exited(0)
}

// exited waits for the end of the process and checks how it ended. Nothing may
// be on stderr: at the default level there is nothing to say.
func (r *server) exited(code int) {
	r.t.Helper()
	done := make(chan error, 1)
	go func() { done <- r.cmd.Wait() }()
	select {
	case <-done:
	case <-time.After(patience):
		r.t.Fatalf("the server does not exit; stderr: %s", r.stderr)
	}
	if got := r.cmd.ProcessState.ExitCode(); got != code {
		r.t.Errorf("exit code %d, want %d; stderr: %s", got, code, r.stderr)
	}
	if text := complaints(r.stderr.String()); text != "" {
		r.t.Errorf("on stderr: %s", text)
	}
}
