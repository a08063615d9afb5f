package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// httpServer is a running "remit serve".
type httpServer struct {
	t         *testing.T
	workspace *workspace
	cmd       *exec.Cmd
	url       string // without a path
	stderr    *syncBuffer
	exit      chan struct{} // closed when the process has exited
	last      atomic.Int64  // id of the last request
	token     string        // of modern requests; empty for none
	args, env []string      // of the command
}

var startupLines = regexp.MustCompile(`(?m)(?:^remit: a server already runs in this workspace: .*\n)*^Remit \S+ serves (http://127\.0\.0\.1:\d+) .*\n(?:Console: .*\n)?`)

// serve starts a server on a free port; args follow "remit serve".
func (s *workspace) serve(args ...string) *httpServer {
	s.t.Helper()
	return s.serveWith(nil, args...)
}

// serveWith starts a server with more environment variables.
func (s *workspace) serveWith(env []string, args ...string) *httpServer {
	s.t.Helper()
	return s.serveVia(nil, env, args...)
}

// serveVia starts a server through another command, which runs the command in its arguments.
func (s *workspace) serveVia(via, env []string, args ...string) *httpServer {
	s.t.Helper()
	command := slices.Concat(via, []string{remitBin, "serve", "--addr", "127.0.0.1:0", "--log-level", "warn", "--root", s.root}, args)
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir, cmd.Env = s.t.TempDir(), environment(append(s.env, env...)...)
	w := &httpServer{t: s.t, workspace: s, cmd: cmd, stderr: &syncBuffer{}, exit: make(chan struct{}), args: args, env: env}
	cmd.Stderr = w.stderr
	s.check(cmd.Start())
	go func() {
		defer close(w.exit)
		_ = cmd.Wait() // ProcessState has the exit code
	}()
	s.t.Cleanup(w.kill)
	w.waitReady()
	return w
}

// waitReady waits until the server logs its address.
func (w *httpServer) waitReady() {
	w.t.Helper()
	for deadline := time.Now().Add(timeout); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		if found := startupLines.FindStringSubmatch(w.stderr.String()); found != nil {
			w.url = found[1]
			return
		}
		select {
		case <-w.exit:
			w.t.Fatalf("the server did not start: %s", w.stderr)
		default:
		}
	}
	w.t.Fatalf("the server does not log its address: %s", w.stderr)
}

// kill kills the process.
func (w *httpServer) kill() {
	_ = w.cmd.Process.Kill() // it may have exited already
	<-w.exit
}

// end sends SIGTERM; the server must exit with code 0.
func (w *httpServer) end() {
	w.t.Helper()
	w.workspace.check(w.cmd.Process.Signal(syscall.SIGTERM))
	w.checkExit(0)
}

// checkExit waits until the process has exited and checks the exit code. Only the startup lines may
// be on stderr.
func (w *httpServer) checkExit(code int) {
	w.t.Helper()
	select {
	case <-w.exit:
	case <-time.After(timeout):
		w.t.Fatalf("the server did not exit before the timeout; stderr: %s", w.stderr)
	}
	if got := w.cmd.ProcessState.ExitCode(); got != code {
		w.t.Errorf("exit code %d, want %d", got, code)
	}
	if text := unexpectedLog(startupLines.ReplaceAllString(w.stderr.String(), "")); text != "" {
		w.t.Errorf("unexpected stderr: %s", text)
	}
}

// The protocol versions that represent the two eras in these tests.
const (
	legacyVersion = "2025-11-25"
	modernVersion = "2026-07-28"
)

// modernParams adds the fields that every request of the modern era needs to the members of params.
func modernParams(members, capabilities string) string {
	if members != "" {
		members += ","
	}
	return fmt.Sprintf(`{%s"_meta":{"io.modelcontextprotocol/protocolVersion":%q,"io.modelcontextprotocol/clientCapabilities":%s,"io.modelcontextprotocol/clientInfo":{"name":"raw","version":"1"}}}`,
		members, modernVersion, capabilities)
}

// modernHeaders returns the HTTP headers of a request of the modern era. name is the tool, prompt
// or URI of the request, if it has one.
func modernHeaders(method, name string) http.Header {
	h := http.Header{"Mcp-Protocol-Version": {modernVersion}, "Mcp-Method": {method}}
	if name != "" {
		h.Set("Mcp-Name", "=?base64?"+base64.StdEncoding.EncodeToString([]byte(name))+"?=")
	}
	return h
}

// httpAnswer is the answer to an HTTP request.
type httpAnswer struct {
	status int
	header http.Header
	body   []byte // the last message if it is a stream
}

// newPost returns a request with a JSON body.
func newPost(ctx context.Context, url, body string, header http.Header) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	for name, values := range header {
		r.Header[name] = values
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	return r, nil
}

// send sends a request and reads the whole answer.
func send(client *http.Client, r *http.Request) (httpAnswer, error) {
	response, err := client.Do(r)
	if err != nil {
		return httpAnswer{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") {
		body, err = lastEvent(body)
	}
	return httpAnswer{response.StatusCode, response.Header, body}, err
}

// lastEvent returns the last message of a stream, which is the answer.
func lastEvent(stream []byte) ([]byte, error) {
	var last []byte
	scanner := bufio.NewScanner(bytes.NewReader(stream))
	scanner.Buffer(nil, len(stream)+1)
	for scanner.Scan() {
		if data, ok := bytes.CutPrefix(scanner.Bytes(), []byte("data:")); ok && len(bytes.TrimSpace(data)) > 0 {
			last = bytes.Clone(bytes.TrimSpace(data))
		}
	}
	if last == nil {
		return nil, fmt.Errorf("the stream has no answer: %s", clip(stream))
	}
	return last, nil
}

// post sends a body to a path of the server.
func (w *httpServer) post(path, body string, header http.Header) httpAnswer {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), timeout)
	defer cancel()
	r, err := newPost(ctx, w.url+path, body, header)
	w.workspace.check(err)
	got, err := send(http.DefaultClient, r)
	if err != nil {
		w.t.Fatalf("post %s: %v; stderr: %s", path, err, w.stderr)
	}
	return got
}

// nameOf returns the tool, prompt or URI of a request, for its header.
func nameOf(params string) string {
	var about struct{ Name, URI, TaskID string }
	if err := json.Unmarshal([]byte(params), &about); err != nil {
		return ""
	}
	return about.Name + about.URI + about.TaskID
}

// modern sends a request of the modern era.
func (w *httpServer) modern(method, members, capabilities string) message {
	w.t.Helper()
	params := modernParams(members, capabilities)
	header := modernHeaders(method, nameOf(params))
	if w.token != "" {
		header.Set("Authorization", "Bearer "+w.token)
	}
	got := w.post("/mcp", requestLine(fmt.Sprint(w.last.Add(1)), method, params), header)
	return readMessage(w.t, w.workspace.root, append(got.body, '\n'))
}

// modern sends a request of the modern era over stdio.
func (r *stdioServer) modern(method, members, capabilities string) message {
	r.t.Helper()
	return r.ask(method, modernParams(members, capabilities))
}

func (r *stdioServer) kill() {
	r.t.Helper()
	r.workspace.check(r.cmd.Process.Kill())
}
