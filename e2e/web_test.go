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

// web is a running "remit serve".
type web struct {
	t      *testing.T
	space  *space
	cmd    *exec.Cmd
	url    string // without a path
	stderr *syncBuffer
	exit   chan struct{} // closed when the process has ended
	last   atomic.Int64  // id of the last request
}

var greeting = regexp.MustCompile(`(?m)^Remit \S+ serves (http://127\.0\.0\.1:\d+) .*\n(?:Console: .*\n)?`)

// serve starts a server on a free port; args follow "remit serve".
func (s *space) serve(args ...string) *web {
	s.t.Helper()
	return s.serveWith(nil, args...)
}

// serveWith starts a server with more environment variables.
func (s *space) serveWith(env []string, args ...string) *web {
	s.t.Helper()
	return s.serveVia(nil, env, args...)
}

// serveVia starts a server through a command that runs the one given to it.
func (s *space) serveVia(via, env []string, args ...string) *web {
	s.t.Helper()
	command := slices.Concat(via, []string{remitBin, "serve", "--addr", "127.0.0.1:0", "--log-level", "warn", "--root", s.root}, args)
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir, cmd.Env = s.t.TempDir(), environment(append(s.env, env...)...)
	w := &web{t: s.t, space: s, cmd: cmd, stderr: &syncBuffer{}, exit: make(chan struct{})}
	cmd.Stderr = w.stderr
	s.check(cmd.Start())
	go func() {
		defer close(w.exit)
		_ = cmd.Wait() // how it ended is in ProcessState
	}()
	s.t.Cleanup(w.kill)
	w.await()
	return w
}

// await waits until the server says where it is.
func (w *web) await() {
	w.t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		if found := greeting.FindStringSubmatch(w.stderr.String()); found != nil {
			w.url = found[1]
			return
		}
		select {
		case <-w.exit:
			w.t.Fatalf("it did not serve: %s", w.stderr)
		default:
		}
	}
	w.t.Fatalf("it does not say where it serves: %s", w.stderr)
}

// kill ends the process without a warning.
func (w *web) kill() {
	_ = w.cmd.Process.Kill() // it may have ended already
	<-w.exit
}

// end tells the server to end; it must leave in peace.
func (w *web) end() {
	w.t.Helper()
	w.space.check(w.cmd.Process.Signal(syscall.SIGTERM))
	w.exited(0)
}

// exited waits for the end of the process and checks how it ended: nothing but
// the greeting may be on stderr.
func (w *web) exited(code int) {
	w.t.Helper()
	select {
	case <-w.exit:
	case <-time.After(patience):
		w.t.Fatalf("the server does not exit; stderr: %s", w.stderr)
	}
	if got := w.cmd.ProcessState.ExitCode(); got != code {
		w.t.Errorf("exit code %d, want %d", got, code)
	}
	if text := complaints(greeting.ReplaceAllString(w.stderr.String(), "")); text != "" {
		w.t.Errorf("on stderr: %s", text)
	}
}

// The versions of the protocol that stand for its two eras here.
const (
	legacyVersion = "2025-11-25"
	modernVersion = "2026-07-28"
)

// modernParams gives the members of params what every request of the modern era
// carries.
func modernParams(members, capabilities string) string {
	if members != "" {
		members += ","
	}
	return fmt.Sprintf(`{%s"_meta":{"io.modelcontextprotocol/protocolVersion":%q,"io.modelcontextprotocol/clientCapabilities":%s,"io.modelcontextprotocol/clientInfo":{"name":"raw","version":"1"}}}`,
		members, modernVersion, capabilities)
}

// modernHeaders are those that a request of the modern era has over HTTP. name is
// what the request is about; most are about nothing.
func modernHeaders(method, name string) http.Header {
	h := http.Header{"Mcp-Protocol-Version": {modernVersion}, "Mcp-Method": {method}}
	if name != "" {
		h.Set("Mcp-Name", "=?base64?"+base64.StdEncoding.EncodeToString([]byte(name))+"?=")
	}
	return h
}

// httpAnswer is what an HTTP request came to.
type httpAnswer struct {
	status int
	header http.Header
	body   []byte // of a stream: its last message
}

// newPost prepares a request with a JSON body.
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

// send sends a request and reads the answer to its end.
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

// lastEvent gives the last message of a stream: the answer.
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
		return nil, fmt.Errorf("a stream without an answer: %s", clip(stream))
	}
	return last, nil
}

// post sends a body to a path of the server.
func (w *web) post(path, body string, header http.Header) httpAnswer {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	r, err := newPost(ctx, w.url+path, body, header)
	w.space.check(err)
	got, err := send(http.DefaultClient, r)
	if err != nil {
		w.t.Fatalf("post %s: %v; stderr: %s", path, err, w.stderr)
	}
	return got
}

// nameOf finds what a request is about, for the header that says so.
func nameOf(params string) string {
	var about struct{ Name, URI, TaskID string }
	if err := json.Unmarshal([]byte(params), &about); err != nil {
		return ""
	}
	return about.Name + about.URI + about.TaskID
}

// modern asks in the modern era.
func (w *web) modern(method, members, capabilities string) message {
	w.t.Helper()
	params := modernParams(members, capabilities)
	got := w.post("/mcp", requestLine(fmt.Sprint(w.last.Add(1)), method, params), modernHeaders(method, nameOf(params)))
	return readMessage(w.t, w.space.root, append(got.body, '\n'))
}

// modern asks in the modern era over stdio.
func (r *server) modern(method, members, capabilities string) message {
	r.t.Helper()
	return r.ask(method, modernParams(members, capabilities))
}

func (r *server) kill() {
	r.t.Helper()
	r.space.check(r.cmd.Process.Kill())
}
