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

// caller is a client of "remit serve" that sends one request after the other on
// one connection, until there is no server any more. It speaks HTTP itself: the
// client of the standard library repeats requests on its own.
type caller struct {
	name  string
	way   way
	addr  string
	write bool

	conn     net.Conn
	reader   *bufio.Reader
	answered int // on this connection
	session  string
	sent     int

	promises []promise
	done     atomic.Int64 // answered
	lost     []string     // requests that got no answer
}

// way is how a caller calls.
type way struct {
	name string
	path func(tool string) string
	// body wraps the arguments of a tool, and header says what belongs to them.
	body   func(id int, tool, args string) string
	header func(c *caller, tool string) http.Header
	// text is what the tool answered; false if it is a refusal.
	text func(got httpAnswer) (string, bool)
}

func mcpPath(string) string { return "/mcp" }

var ways = []way{
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

// exchange sends a request and reads its answer, on the connection there is.
func (c *caller) exchange(path, body string, header http.Header) (httpAnswer, error) {
	if c.conn == nil {
		conn, err := net.DialTimeout("tcp", c.addr, patience)
		if err != nil {
			return httpAnswer{}, errGone
		}
		c.conn, c.reader, c.answered = conn, bufio.NewReader(conn), 0
	}
	got, closes, err := c.once(path, body, header)
	if err == nil {
		c.answered++
	}
	if err != nil || closes {
		c.conn.Close()
		c.conn = nil
	}
	return got, err
}

// errGone says that nobody listens any more.
var errGone = errors.New("the server is gone")

func (c *caller) once(path, body string, header http.Header) (got httpAnswer, closes bool, err error) {
	r, err := newPost(context.Background(), "http://"+c.addr+path, body, header)
	if err != nil {
		return got, false, err
	}
	if err := c.conn.SetDeadline(time.Now().Add(patience)); err != nil {
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

// introduce opens the session that the legacy era wants.
func (c *caller) introduce() error {
	if c.way.name != "legacy" {
		return nil
	}
	got, err := c.exchange("/mcp", requestLine("0", "initialize", `{"protocolVersion":"`+legacyVersion+`","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}`), nil)
	c.session = got.header.Get("Mcp-Session-Id")
	if err == nil && c.session == "" {
		err = fmt.Errorf("no session: %s", got.body)
	}
	return err
}

// run calls until the server is gone.
func (c *caller) run() {
	for {
		tool, args := "hello", fmt.Sprintf(`{"name":%q}`, c.name)
		c.sent++
		entry := fmt.Sprintf(`{"timestamp":"2026-01-09T10:30:00Z","type":"task","by":%q,"n":%d}`, c.name, c.sent)
		if c.write {
			tool, args = "write_memory_entry", fmt.Sprintf(`{"file":%q,"entry":%s}`, memoryFile, entry)
		}
		got, err := c.exchange(c.way.path(tool), c.way.body(c.sent, tool, args), c.way.header(c, tool))
		switch {
		case errors.Is(err, errGone):
			return
		case err != nil:
			c.lost = append(c.lost, fmt.Sprintf("%s, request %d, after %d others on its connection: %v", c.name, c.sent, c.answered, err))
			return
		}
		c.take(got, entry)
		c.done.Add(1)
	}
}

// take notes what an answer promises.
func (c *caller) take(got httpAnswer, entry string) {
	text, ok := c.way.text(got)
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
		c.lost = append(c.lost, fmt.Sprintf("%s: an odd answer: %s", c.name, text))
		return
	}
	c.promises = append(c.promises, promise{entry, body.Number})
}

// load is a server and sixteen callers of every kind.
type load struct {
	*web
	callers []*caller
	calling sync.WaitGroup
}

// load starts them.
func (s *space) load(round int) *load {
	s.t.Helper()
	l := &load{web: s.serveWith([]string{"REMIT_RATE_LIMITS=off"}, "--toolsets", "learning-os", "--approve", "auto")}
	for i := range 16 {
		way := ways[i%len(ways)]
		c := &caller{
			name: fmt.Sprintf("round%d-%s-%d", round, way.name, i), way: way,
			addr: strings.TrimPrefix(l.url, "http://"), write: i%2 == 0,
		}
		l.callers = append(l.callers, c)
		s.check(c.introduce())
		l.calling.Go(c.run)
	}
	return l
}

// under waits until every caller has its connection, and some more requests were
// answered: a signal that comes now comes in the middle of the work.
func (l *load) under(more int64) {
	l.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(100 * time.Microsecond) {
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

// wait waits until all callers have found the server gone, and gives what they
// were promised.
func (l *load) wait() (made []promise) {
	l.calling.Wait()
	for _, c := range l.callers {
		made = append(made, c.promises...)
	}
	return made
}

// Told to end in the middle of the work, the server answers every request that was
// sent on a connection, and leaves with 0. A connection that comes later is refused
// rather than cut off.
func TestServeFinishesWhatRuns(t *testing.T) {
	t.Parallel()
	s := newSpace(t, nil)
	var all []promise
	answered := int64(0)
	for round, more := range []int64{1, 50, 200, 600, 1500, 3000} {
		l := s.load(round)
		l.under(more)
		s.check(l.cmd.Process.Signal(syscall.SIGTERM))
		all = append(all, l.wait()...)
		l.exited(0)
		for _, c := range l.callers {
			for _, request := range c.lost {
				t.Errorf("no answer: %s", request)
			}
			answered += c.done.Load()
		}
		s.keeps(all)
	}
	// All were answered, so there is nothing that nobody was told of.
	if lines, tail := s.logged(); !t.Failed() && (len(lines) != len(all) || tail != "") {
		t.Errorf("%d lines and %q, but %d were acknowledged", len(lines), tail, len(all))
	}
	s.audited(all)
	note(t, "SIGTERM under load: %d requests answered, %d writes kept", answered, len(all))
}

// Killed in the middle of the work, the server has kept what it acknowledged.
func TestServeKilledLosesNothing(t *testing.T) {
	t.Parallel()
	s := newSpace(t, nil)
	var all []promise
	for round, more := range []int64{1, 50, 200, 600, 1500} {
		l := s.load(round)
		l.under(more)
		l.kill()
		all = append(all, l.wait()...)
		s.keeps(all)
	}
	if len(all) < 40 {
		t.Errorf("only %d entries were acknowledged", len(all))
	}
	s.audited(all)
	note(t, "SIGKILL under load: %d writes kept", len(all))
}
