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

// refrain is one request that a caller sends again and again over one connection,
// each time with a new id.
type refrain struct {
	conn    *os.File
	request []byte
	id      []byte // its place in request
	want    []byte // what every answer has in it
	answer  []byte // as far as it is here
}

// firstID leaves room to count without the request growing.
const firstID = "1000000000"

// helloBody asks for hello; more goes into params.
func helloBody(more string) string {
	return `{"jsonrpc":"2.0","id":` + firstID + `,"method":"tools/call","params":{"name":"hello","arguments":{"name":"Ada"}` + more + `}}`
}

// refrain opens a connection for a request.
func (s *httpServer) refrain(header http.Header, body string) (*refrain, error) {
	conn, err := net.DialTimeout("tcp", s.address, patience)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	file, err := conn.(*net.TCPConn).File() // out of the care of Go's poller
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
	return &refrain{conn: file, request: request.Bytes(), id: request.Bytes()[at : at+len(firstID)], want: []byte(helloQuestion.want)}, nil
}

func (r *refrain) ask() error {
	for i := len(r.id) - 1; ; i-- { // adds one
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

// read takes what has come, and tells whether the answer is complete.
func (r *refrain) read() (complete bool, err error) {
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

// isWhole reads no more of HTTP than the servers here write.
func isWhole(head, body []byte) bool {
	_, length, ok := bytes.Cut(head, []byte("\r\nContent-Length: "))
	if !ok { // in chunks
		return bytes.HasSuffix(body, []byte("\r\n0\r\n\r\n"))
	}
	digits, _, _ := bytes.Cut(length, []byte("\r\n"))
	n, err := strconv.Atoi(string(digits))
	return err == nil && len(body) >= n
}

// chorus is callers who call at the same time. One goroutine and one epoll do it for
// all, so that the server is what is measured: goroutines and net/http would take as
// much of the CPU as it does.
type chorus struct {
	epoll int
	all   []*refrain
}

// gather connects callers; part gives each the header and body that it repeats.
func (s *httpServer) gather(t *testing.T, n int, part func() (http.Header, string, error)) *chorus {
	t.Helper()
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	c := &chorus{epoll: epoll}
	t.Cleanup(c.close)
	for i := range n {
		header, body, err := part()
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.refrain(header, body)
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

func (c *chorus) close() {
	for _, r := range c.all {
		r.conn.Close()
	}
	_ = unix.Close(c.epoll)
}

// callFor lets everyone call for so long, and returns how often they did.
func (c *chorus) callFor(d time.Duration) (calls int, err error) {
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

// next waits for answers, and returns those callers who have theirs.
func (c *chorus) next() ([]*refrain, error) {
	var events [callers]unix.EpollEvent
	n, err := unix.EpollWait(c.epoll, events[:], int(patience.Milliseconds()))
	if errors.Is(err, unix.EINTR) {
		return nil, nil
	}
	if err != nil || n == 0 {
		return nil, fmt.Errorf("no answer came: %w", err)
	}
	var answered []*refrain
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

// inSession is the part of a client of the old era, which has greeted before.
func (s *httpServer) inSession() (http.Header, string, error) {
	header, err := s.greet()
	return header, helloBody(""), err
}

// stateless is the part of a client of the new era: all there is to know is in the
// request.
func stateless() (http.Header, string, error) {
	const version = "2026-07-28"
	header := postHeader()
	header.Set("MCP-Protocol-Version", version)
	header.Set("Mcp-Method", "tools/call")
	header.Set("Mcp-Name", "hello")
	return header, helloBody(`,"_meta":{"io.modelcontextprotocol/protocolVersion":"` + version + `",` +
		`"io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`), nil
}

// plain is the part of a client that knows nothing of MCP's headers.
func plain() (http.Header, string, error) { return postHeader(), helloBody(""), nil }

// TestHTTPAgainstBareHandler: what the contract costs over HTTP, against a handler
// that only decodes and encodes.
func TestHTTPAgainstBareHandler(t *testing.T) {
	measures(t)
	theirs := startHTTP(t, exec.Command(program(t, bareHTTPSource)))
	ours := startHTTP(t, remit(t, "serve", "--addr", "127.0.0.1:0"))
	const bare, old, recent = 0, 1, 2
	lanes := []lane{
		bare:   {"bare net/http", theirs.pid, theirs.gather(t, callers, plain).callFor},
		old:    {"remit, in a session", ours.pid, ours.gather(t, callers, ours.inSession).callFor},
		recent: {"remit, stateless", ours.pid, ours.gather(t, callers, stateless).callFor},
	}
	contest(t, lanes, []bar{
		{what: "calls/s in a session against a bare handler", ratio: func(r []pace) float64 { return r[old].rate / r[bare].rate }, least: 0.6},
		{what: "calls/s stateless against a bare handler", ratio: func(r []pace) float64 { return r[recent].rate / r[bare].rate }, least: 0.6},
		{what: "calls/s stateless against in a session", ratio: func(r []pace) float64 { return r[recent].rate / r[old].rate }, least: 0.85},
	})
}
