package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// caller is a client of "remit serve" that sends requests over one connection, one after another,
// until the server has ended. It does not use http.Client, which repeats requests by itself.
type caller struct {
	name     string
	protocol protocol
	addr     string
	write    bool

	conn     net.Conn
	reader   *bufio.Reader
	answered int // number of answers on this connection
	session  string
	sent     int

	acks []ack
	done atomic.Int64 // number of answers
	lost []string     // requests that got no answer
}

// protocol is how a caller sends requests.
type protocol struct {
	name string
	path func(tool string) string
	// body wraps the arguments of a tool, and header returns the matching headers.
	body   func(id int, tool, args string) string
	header func(c *caller, tool string) http.Header
	// text returns the tool's answer, or false if it is an error.
	text func(got httpAnswer) (string, bool)
}

func mcpPath(string) string { return "/mcp" }

var protocols = []protocol{
	{
		"modern", mcpPath,
		func(id int, tool, args string) string {
			return requestLine(fmt.Sprint(id), "tools/call", modernParams(fmt.Sprintf(`"name":%q,"arguments":%s`, tool, args), `{}`))
		},
		func(_ *caller, tool string) http.Header { return modernHeaders("tools/call", tool) },
		mcpText,
	},
	{
		"legacy", mcpPath,
		func(id int, tool, args string) string {
			return requestLine(fmt.Sprint(id), "tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, args))
		},
		func(c *caller, _ string) http.Header {
			return http.Header{"Mcp-Protocol-Version": {legacyVersion}, "Mcp-Session-Id": {c.session}}
		},
		mcpText,
	},
	{
		"plain", func(tool string) string { return "/tools/" + tool },
		func(_ int, _, args string) string { return args },
		func(*caller, string) http.Header { return nil },
		func(got httpAnswer) (string, bool) { return string(got.body), got.status == http.StatusOK },
	},
}

func mcpText(got httpAnswer) (string, bool) {
	var m struct {
		Result struct {
			Content []struct{ Text string }
			IsError bool
		}
	}
	if err := json.Unmarshal(got.body, &m); err != nil || len(m.Result.Content) != 1 || m.Result.IsError {
		return string(got.body), false
	}
	return m.Result.Content[0].Text, true
}

// exchange sends a request and reads its answer. It opens a connection if there is none.
func (c *caller) exchange(path, body string, header http.Header) (httpAnswer, error) {
	if c.conn == nil {
		conn, err := net.DialTimeout("tcp", c.addr, timeout)
		if err != nil {
			return httpAnswer{}, errServerGone
		}
		c.conn, c.reader, c.answered = conn, bufio.NewReader(conn), 0
	}
	got, closes, err := c.roundTrip(path, body, header)
	if err == nil {
		c.answered++
	}
	if err != nil || closes {
		c.conn.Close()
		c.conn = nil
	}
	return got, err
}

// errServerGone says that no server listens any more.
var errServerGone = errors.New("no server is listening")

func (c *caller) roundTrip(path, body string, header http.Header) (got httpAnswer, closes bool, err error) {
	r, err := newPost(context.Background(), "http://"+c.addr+path, body, header)
	if err != nil {
		return got, false, err
	}
	if err := c.conn.SetDeadline(time.Now().Add(timeout)); err != nil {
		return got, false, err
	}
	if err := r.Write(c.conn); err != nil {
		return got, false, fmt.Errorf("send: %w", err)
	}
	response, err := http.ReadResponse(c.reader, r)
	if err != nil {
		return got, false, fmt.Errorf("read the answer: %w", err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") {
		text, err = lastEvent(text)
	}
	return httpAnswer{response.StatusCode, response.Header, text}, response.Close, err
}

// initialize opens a session if the era needs one.
func (c *caller) initialize() error {
	if c.protocol.name != "legacy" {
		return nil
	}
	got, err := c.exchange("/mcp", requestLine("0", "initialize", `{"protocolVersion":"`+legacyVersion+`","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}`), nil)
	c.session = got.header.Get("Mcp-Session-Id")
	if err == nil && c.session == "" {
		err = fmt.Errorf("no session id: %s", got.body)
	}
	return err
}

// run sends requests until the server has ended.
func (c *caller) run() {
	for {
		tool, args := "hello", fmt.Sprintf(`{"name":%q}`, c.name)
		c.sent++
		entry := fmt.Sprintf(`{"timestamp":"2026-01-09T10:30:00Z","type":"task","by":%q,"n":%d}`, c.name, c.sent)
		if c.write {
			tool, args = "write_memory_entry", fmt.Sprintf(`{"file":%q,"entry":%s}`, memoryFile, entry)
		}
		got, err := c.exchange(c.protocol.path(tool), c.protocol.body(c.sent, tool, args), c.protocol.header(c, tool))
		switch {
		case errors.Is(err, errServerGone):
			return
		case err != nil:
			c.lost = append(c.lost, fmt.Sprintf("%s, request %d, after %d others on its connection: %v", c.name, c.sent, c.answered, err))
			return
		}
		c.receive(got, entry)
		c.done.Add(1)
	}
}

// receive records the acknowledged line number.
func (c *caller) receive(got httpAnswer, entry string) {
	text, ok := c.protocol.text(got)
	if !ok {
		c.lost = append(c.lost, fmt.Sprintf("%s, request %d: status %d: %s", c.name, c.sent, got.status, clip(text)))
		return
	}
	if !c.write {
		return
	}
	var body struct {
		Number int `json:"line_number"`
	}
	if err := json.Unmarshal([]byte(text), &body); err != nil || body.Number < 1 {
		c.lost = append(c.lost, fmt.Sprintf("%s: unexpected answer: %s", c.name, text))
		return
	}
	c.acks = append(c.acks, ack{entry, body.Number})
}

// load is a server and 16 callers that use all protocols.
type load struct {
	*httpServer
	callers []*caller
	calling sync.WaitGroup
}

// load starts a server and its callers.
func (s *workspace) load(round int) *load {
	s.t.Helper()
	l := &load{httpServer: s.serveWith([]string{"REMIT_RATE_LIMITS=off"}, "--toolsets", "learning-os", "--approve", "auto")}
	for i := range 16 {
		protocol := protocols[i%len(protocols)]
		c := &caller{
			name: fmt.Sprintf("round%d-%s-%d", round, protocol.name, i), protocol: protocol,
			addr: strings.TrimPrefix(l.url, "http://"), write: i%2 == 0,
		}
		l.callers = append(l.callers, c)
		s.check(c.initialize())
		l.calling.Go(c.run)
	}
	return l
}

// waitBusy waits until every caller has a connection and the given number of requests were
// answered, so that a signal sent now arrives during work.
func (l *load) waitBusy(more int64) {
	l.t.Helper()
	for deadline := time.Now().Add(timeout); ; time.Sleep(100 * time.Microsecond) {
		total, least := int64(0), more
		for _, c := range l.callers {
			total += c.done.Load()
			least = min(least, c.done.Load())
		}
		if least > 0 && total >= more {
			return
		}
		if time.Now().After(deadline) {
			l.t.Fatalf("only %d requests were answered; stderr: %s", total, l.stderr)
		}
	}
}

// wait waits until all callers have stopped, and returns the acknowledged entries.
func (l *load) wait() (made []ack) {
	l.calling.Wait()
	for _, c := range l.callers {
		made = append(made, c.acks...)
	}
	return made
}

// TestServeFinishesRequests checks that after SIGTERM the server answers every request on open
// connections and exits with code 0. It refuses new connections instead of cutting them off.
func TestServeFinishesRequests(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, nil)
	var all []ack
	answered := int64(0)
	for round, more := range []int64{1, 50, 200, 600, 1500, 3000} {
		l := s.load(round)
		l.waitBusy(more)
		s.check(l.cmd.Process.Signal(syscall.SIGTERM))
		all = append(all, l.wait()...)
		l.checkExit(0)
		for _, c := range l.callers {
			for _, request := range c.lost {
				t.Errorf("no answer: %s", request)
			}
			answered += c.done.Load()
		}
		s.checkKept(all)
	}
	// All requests were answered, so every line must be acknowledged.
	if lines, tail := s.logLines(); !t.Failed() && (len(lines) != len(all) || tail != "") {
		t.Errorf("%d lines and %q, but %d were acknowledged", len(lines), tail, len(all))
	}
	s.checkAudited(all)
	note(t, "SIGTERM under load: %d requests answered, %d writes kept", answered, len(all))
}

// TestServeKilledLosesNothing checks that acknowledged entries are stored if the server is killed
// during work.
func TestServeKilledLosesNothing(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, nil)
	var all []ack
	for round, more := range []int64{1, 50, 200, 600, 1500} {
		l := s.load(round)
		l.waitBusy(more)
		l.kill()
		all = append(all, l.wait()...)
		s.checkKept(all)
	}
	if len(all) < 40 {
		t.Errorf("only %d entries were acknowledged", len(all))
	}
	s.checkAudited(all)
	note(t, "SIGKILL under load: %d writes kept", len(all))
}
