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

// stdioServer is a running "remit stdio". Tests exchange raw lines with it.
type stdioServer struct {
	t         *testing.T
	workspace *workspace
	cmd       *exec.Cmd
	stdin     io.WriteCloser
	lines     chan []byte // closed when stdout ends
	stderr    *syncBuffer
	last      int                // id of the last request; the first is 1001
	early     map[string]message // replies that arrived before a test waited for them
}

// stdio starts a server in the workspace; args follow "remit stdio".
func (s *workspace) stdio(args ...string) *stdioServer {
	s.t.Helper()
	return s.stdioWith(nil, args...)
}

// stdioWith starts a server with more environment variables.
func (s *workspace) stdioWith(env []string, args ...string) *stdioServer {
	s.t.Helper()
	cmd := exec.Command(remitBin, append([]string{"stdio", "--root", s.root}, args...)...)
	cmd.Dir, cmd.Env = s.t.TempDir(), environment(append(s.env, env...)...)
	r := &stdioServer{t: s.t, workspace: s, cmd: cmd, lines: make(chan []byte, 1<<14), stderr: &syncBuffer{}, last: 1000, early: map[string]message{}}
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

func (r *stdioServer) readLines(stdout io.Reader) {
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

// parse parses a line of stdout. The test fails if a line is not exactly one JSON-RPC message.
func (r *stdioServer) parse(line []byte) message {
	r.t.Helper()
	return readMessage(r.t, r.workspace.root, line)
}

// readMessage parses one message of a server in the folder root. The message must not contain that
// path.
func readMessage(t *testing.T, root string, line []byte) message {
	t.Helper()
	var m message
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(&m)
	answers := m.Method == "" && len(m.ID) > 0 && (m.Result != nil) != (m.Error != nil)
	asks := m.Method != "" && m.Result == nil && m.Error == nil
	if err != nil || decoder.More() || m.Version != "2.0" || !answers && !asks || line[len(line)-1] != '\n' {
		t.Fatalf("not a JSON-RPC message (%v): %s", err, clip(line))
	}
	if bytes.Contains(line, []byte(root)) {
		t.Fatalf("the message contains a host path: %s", clip(line))
	}
	m.raw = line
	return m
}

// line returns the next line of stdout, or false at the end.
func (r *stdioServer) line() ([]byte, bool) {
	r.t.Helper()
	select {
	case line, open := <-r.lines:
		return line, open
	case <-time.After(timeout):
		r.t.Fatalf("no line from the server before the timeout; stderr: %s", r.stderr)
		return nil, false
	}
}

// next returns the next message from the server, or false if it closed stdout.
func (r *stdioServer) next() (message, bool) {
	r.t.Helper()
	line, open := r.line()
	if !open {
		return message{}, false
	}
	return r.parse(line), true
}

// mustNext returns the next message, and fails the test if there is none.
func (r *stdioServer) mustNext() message {
	r.t.Helper()
	m, ok := r.next()
	if !ok {
		r.t.Fatalf("the server closed stdout; stderr: %s", r.stderr)
	}
	return m
}

// send writes one line.
func (r *stdioServer) send(line string) {
	r.t.Helper()
	if _, err := io.WriteString(r.stdin, line+"\n"); err != nil {
		r.t.Fatalf("send: %v; stderr: %s", err, r.stderr)
	}
}

// request sends a request and returns its id.
func (r *stdioServer) request(method, params string) string {
	r.t.Helper()
	r.last++
	id := fmt.Sprint(r.last)
	r.send(requestLine(id, method, params))
	return id
}

func requestLine(id, method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, params)
}

// reply waits for the answer to a request. It keeps answers to other requests for later calls.
func (r *stdioServer) reply(id string) message {
	r.t.Helper()
	for {
		if m, ok := r.early[id]; ok {
			delete(r.early, id)
			return m
		}
		m := r.mustNext()
		if m.Method != "" {
			r.t.Fatalf("got a request from the server, want an answer: %s", clip(m.raw))
		}
		r.early[string(m.ID)] = m
	}
}

// ask sends a request and waits for its answer.
func (r *stdioServer) ask(method, params string) message {
	r.t.Helper()
	return r.reply(r.request(method, params))
}

// start sends a tool call and returns its id.
func (r *stdioServer) start(tool, args string) string {
	r.t.Helper()
	return r.request("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, args))
}

// call calls a tool and waits for its result.
func (r *stdioServer) call(tool, args string) toolResult {
	r.t.Helper()
	return r.result(r.reply(r.start(tool, args)))
}

// toolResult is the result of a tool call.
type toolResult struct {
	text   string // JSON
	failed bool
}

// result decodes the result of a call, and checks the rules that every result must follow.
func (r *stdioServer) result(m message) toolResult {
	r.t.Helper()
	if m.Error != nil {
		r.t.Fatalf("got a protocol error, want a tool result: %s", clip(m.raw))
	}
	var got struct {
		Content []struct {
			Type string `json:"type"`
			Text string `json:"text"`
		} `json:"content"`
		Structured json.RawMessage `json:"structuredContent"`
		IsError    bool            `json:"isError"`
		ResultType string          `json:"resultType"` // modern era only, like Meta
		Meta       json.RawMessage `json:"_meta"`
	}
	r.decode(m.Result, &got)
	noted := bytes.Contains(got.Meta, []byte(`"io.remit/`)) // both eras may have this
	if got.ResultType != "" && got.ResultType != "complete" || (got.ResultType == "") != (got.Meta == nil) && !noted {
		r.t.Errorf("the result fits neither era: %s", clip(m.raw))
	}
	if len(got.Content) != 1 || got.Content[0].Type != "text" || !json.Valid([]byte(got.Content[0].Text)) {
		r.t.Fatalf("the content is not a single JSON text: %s", clip(m.raw))
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

// isStructureOf reports whether structured content equals the text. If the text is a list, the
// structured content must be an object whose only field is that list.
func isStructureOf(structured, text string) bool {
	if !strings.HasPrefix(text, "[") {
		return structured == text
	}
	before, ends := strings.CutSuffix(structured, text+"}")
	return ends && strings.HasPrefix(before, `{"`) && strings.HasSuffix(before, `":`) && strings.Count(before, `"`) == 2
}

func (r *stdioServer) decode(data []byte, into any) {
	r.t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		r.t.Fatalf("decode %s: %v", clip(data), err)
	}
}

// initialize opens a session. capabilities say whether the client supports elicitation.
func (r *stdioServer) initialize(capabilities string) {
	r.t.Helper()
	m := r.ask("initialize", `{"protocolVersion":"2025-11-25","capabilities":`+capabilities+`,"clientInfo":{"name":"raw","version":"1"}}`)
	if m.Error != nil {
		r.t.Fatalf("initialize: %s", m.raw)
	}
	r.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

// end closes stdin. The server must exit with code 0 and write nothing more.
func (r *stdioServer) end() {
	r.t.Helper()
	r.stdin.Close()
	if m, ok := r.next(); ok {
		r.t.Errorf("unexpected message at the end: %s", clip(m.raw))
	}
	r.checkExit(0)
}

// checkExit waits until the process has ended and checks the exit code. Nothing may be on stderr,
// because the default log level has nothing to report.
func (r *stdioServer) checkExit(code int) {
	r.t.Helper()
	done := make(chan error, 1)
	go func() { done <- r.cmd.Wait() }()
	select {
	case <-done:
	case <-time.After(timeout):
		r.t.Fatalf("the server did not exit before the timeout; stderr: %s", r.stderr)
	}
	if got := r.cmd.ProcessState.ExitCode(); got != code {
		r.t.Errorf("exit code %d, want %d; stderr: %s", got, code, r.stderr)
	}
	if text := unexpectedLog(r.stderr.String()); text != "" {
		r.t.Errorf("unexpected stderr: %s", text)
	}
}
