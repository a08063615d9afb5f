//go:build linux

package bench

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// repeatedCall is one request that a caller repeats over one connection, each time with a new id.
type repeatedCall struct {
	conn    *os.File
	request []byte
	id      []byte // the part of request that holds the id
	want    []byte // what every answer must contain
	answer  []byte // the part received so far
}

// firstID has enough digits to count up without changing the length of the request.
const firstID = "1000000000"

// helloBody returns a call of hello; more is added to params.
func helloBody(more string) string {
	return `{"jsonrpc":"2.0","id":` + firstID + `,"method":"tools/call","params":{"name":"hello","arguments":{"name":"Ada"}` + more + `}}`
}

// repeatedCall opens a connection for a request.
func (s *httpServer) repeatedCall(header http.Header, body string) (*repeatedCall, error) {
	conn, err := net.DialTimeout("tcp", s.address, timeout)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	file, err := conn.(*net.TCPConn).File() // so that Go's poller does not handle it
	if err != nil {
		return nil, err
	}
	var request bytes.Buffer
	fmt.Fprintf(&request, "POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n", s.address, len(body))
	if err := header.Write(&request); err != nil {
		return nil, err
	}
	request.WriteString("\r\n" + body)
	at := bytes.Index(request.Bytes(), []byte(firstID))
	return &repeatedCall{conn: file, request: request.Bytes(), id: request.Bytes()[at : at+len(firstID)], want: []byte(helloQuestion.want)}, nil
}

func (r *repeatedCall) ask() error {
	for i := len(r.id) - 1; ; i-- { // increments the id
		if r.id[i] < '9' {
			r.id[i]++
			break
		}
		r.id[i] = '0'
	}
	r.answer = r.answer[:0]
	_, err := unix.Write(int(r.conn.Fd()), r.request)
	return err
}

// read reads the available bytes, and reports whether the answer is complete.
func (r *repeatedCall) read() (complete bool, err error) {
	r.answer = append(r.answer, make([]byte, 2048)...)
	n, err := unix.Read(int(r.conn.Fd()), r.answer[len(r.answer)-2048:])
	if n <= 0 {
		return false, errors.Join(err, io.ErrUnexpectedEOF)
	}
	r.answer = r.answer[:len(r.answer)-2048+n]
	head, body, ok := bytes.Cut(r.answer, []byte("\r\n\r\n"))
	if !ok || !isWhole(head, body) {
		return false, nil
	}
	if !bytes.HasPrefix(head, []byte("HTTP/1.1 200 ")) || !bytes.Contains(body, r.id) || !bytes.Contains(body, r.want) {
		return false, fmt.Errorf("answer to id %s: %s", r.id, r.answer)
	}
	return true, nil
}

// isWhole supports only the part of HTTP that these servers use.
func isWhole(head, body []byte) bool {
	_, length, ok := bytes.Cut(head, []byte("\r\nContent-Length: "))
	if !ok { // chunked encoding
		return bytes.HasSuffix(body, []byte("\r\n0\r\n\r\n"))
	}
	digits, _, _ := bytes.Cut(length, []byte("\r\n"))
	n, err := strconv.Atoi(string(digits))
	return err == nil && len(body) >= n
}

// callerGroup holds callers that call concurrently. One goroutine with one epoll instance serves
// them all, so that the server is measured: goroutines and net/http would take as much CPU as it
// does.
type callerGroup struct {
	epoll int
	all   []*repeatedCall
}

// connectCallers connects callers. part returns the header and body that each of them repeats.
func (s *httpServer) connectCallers(t *testing.T, n int, part func() (http.Header, string, error)) *callerGroup {
	t.Helper()
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	c := &callerGroup{epoll: epoll}
	t.Cleanup(c.close)
	for i := range n {
		header, body, err := part()
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.repeatedCall(header, body)
		if err != nil {
			t.Fatal(err)
		}
		c.all = append(c.all, r)
		if err := unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, int(r.conn.Fd()), &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(i)}); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func (c *callerGroup) close() {
	for _, r := range c.all {
		r.conn.Close()
	}
	_ = unix.Close(c.epoll)
}

// callFor makes all callers call for a duration, and returns the number of calls.
func (c *callerGroup) callFor(d time.Duration) (calls int, err error) {
	end := time.Now().Add(d)
	for _, r := range c.all {
		if err := r.ask(); err != nil {
			return 0, err
		}
	}
	for waiting := len(c.all); waiting > 0; {
		answered, err := c.next()
		if err != nil {
			return calls, err
		}
		calls += len(answered)
		for _, r := range answered {
			if time.Now().After(end) {
				waiting--
			} else if err := r.ask(); err != nil {
				return calls, err
			}
		}
	}
	return calls, nil
}

// next waits for answers, and returns the callers that have theirs.
func (c *callerGroup) next() ([]*repeatedCall, error) {
	var events [callers]unix.EpollEvent
	n, err := unix.EpollWait(c.epoll, events[:], int(timeout.Milliseconds()))
	if errors.Is(err, unix.EINTR) {
		return nil, nil
	}
	if err != nil || n == 0 {
		return nil, fmt.Errorf("wait for answers: %w", err)
	}
	var answered []*repeatedCall
	for _, e := range events[:n] {
		complete, err := c.all[e.Fd].read()
		if err != nil {
			return nil, err
		}
		if complete {
			answered = append(answered, c.all[e.Fd])
		}
	}
	return answered, nil
}

// inSession returns the request of a client of the session era, which has initialized before.
func (s *httpServer) inSession() (http.Header, string, error) {
	header, err := s.initialize()
	return header, helloBody(""), err
}

// stateless returns the request of a client of the stateless era, which contains everything the
// server needs.
func stateless() (http.Header, string, error) {
	const version = "2026-07-28"
	header := postHeader()
	header.Set("MCP-Protocol-Version", version)
	header.Set("Mcp-Method", "tools/call")
	header.Set("Mcp-Name", "hello")
	return header, helloBody(`,"_meta":{"io.modelcontextprotocol/protocolVersion":"` + version + `",` +
		`"io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`), nil
}

// plain returns the request of a client that sends none of MCP's headers.
func plain() (http.Header, string, error) { return postHeader(), helloBody(""), nil }

// TestHTTPAgainstBareHandler compares HTTP calls with a handler that only decodes and encodes.
func TestHTTPAgainstBareHandler(t *testing.T) {
	skipUnlessMeasuring(t)
	theirs := startHTTP(t, exec.Command(program(t, bareHTTPSource)))
	ours := startHTTP(t, remit(t, "serve", "--addr", "127.0.0.1:0"))
	const bare, old, recent = 0, 1, 2
	contenders := []contender{
		bare:   {"bare net/http", theirs.pid, theirs.connectCallers(t, callers, plain).callFor},
		old:    {"remit, in a session", ours.pid, ours.connectCallers(t, callers, ours.inSession).callFor},
		recent: {"remit, stateless", ours.pid, ours.connectCallers(t, callers, stateless).callFor},
	}
	compareContenders(t, contenders, []limit{
		{what: "calls/s in a session against a bare handler", ratio: func(r []speed) float64 { return r[old].rate / r[bare].rate }, min: 0.6},
		{what: "calls/s stateless against a bare handler", ratio: func(r []speed) float64 { return r[recent].rate / r[bare].rate }, min: 0.6},
		{what: "calls/s stateless against in a session", ratio: func(r []speed) float64 { return r[recent].rate / r[old].rate }, min: 0.85},
	})
}
