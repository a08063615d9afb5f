package httpserver

import (
	"net"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

// limited is a listener that holds a number of connections at most.
type limited struct {
	net.Listener
	most int64
	open atomic.Int64
	peak atomic.Int64 // since memory was last given back

	mu    sync.Mutex
	conns map[*counted]struct{}
}

func limit(l net.Listener, most int64) *limited {
	return &limited{Listener: l, most: most, conns: map[*counted]struct{}{}}
}

// refusal is what a connection gets that is one too many.
const refusal = "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: 55\r\n\r\n" +
	`{"error":"too many connections are open; try it again"}`

// Accept gives the next connection that there is room for.
func (l *limited) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if open := l.open.Add(1); open <= l.most {
			if open > l.peak.Load() {
				l.peak.Store(open) // two at once may store the lesser; that is near enough
			}
			return l.keep(conn), nil
		}
		l.open.Add(-1)
		_, _ = conn.Write([]byte(refusal)) // a few bytes never block
		_ = conn.Close()
	}
}

// keep counts a connection until it is closed.
func (l *limited) keep(conn net.Conn) *counted {
	c := &counted{Conn: conn, of: l}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conns[c] = struct{}{}
	return c
}

func (l *limited) forget(c *counted) {
	l.open.Add(-1)
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, c)
}

// closeSilent closes connections that never said anything. Clients open some in
// reserve, and the server would wait for them before it ends.
func (l *limited) closeSilent() {
	l.mu.Lock()
	var silent []*counted
	for c := range l.conns {
		if !c.heard.Load() {
			silent = append(silent, c)
		}
	}
	l.mu.Unlock()
	for _, c := range silent {
		_ = c.Close() // there is nothing on it to lose
	}
}

// counted is a connection that counts until it is closed, and that a client who
// does not read cannot hold for ever.
type counted struct {
	net.Conn
	of      *limited
	once    sync.Once
	heard   atomic.Bool  // it has sent something
	renewed atomic.Int64 // when the deadline of writes was last put off, in Unix nanoseconds
}

// A write has this long at least, and half as much again at most: to put the
// deadline off at every write would cost more than many an answer.
const (
	writePatience = 30 * time.Second
	renewAfter    = writePatience / 2
)

// Read notes that the client has said something.
func (c *counted) Read(into []byte) (int, error) {
	n, err := c.Conn.Read(into)
	if n > 0 && !c.heard.Load() {
		c.heard.Store(true)
	}
	return n, err
}

// Write sends what the client has time for.
func (c *counted) Write(data []byte) (int, error) {
	if now := time.Now(); now.UnixNano()-c.renewed.Load() > int64(renewAfter) {
		c.renewed.Store(now.UnixNano())
		if err := c.Conn.SetWriteDeadline(now.Add(writePatience + renewAfter)); err != nil {
			return 0, err
		}
	}
	return c.Conn.Write(data)
}

// SetWriteDeadline does not lift the deadline: net/http does so after every answer,
// and the next one would have none.
func (c *counted) SetWriteDeadline(at time.Time) error {
	if at.IsZero() {
		return nil
	}
	c.renewed.Store(time.Now().UnixNano()) // the next write does not put off what a handler has set
	return c.Conn.SetWriteDeadline(at)
}

// Close closes the connection.
func (c *counted) Close() error {
	c.once.Do(func() { c.of.forget(c) })
	return c.Conn.Close()
}

// crowd is how many connections make one.
const crowd = 500

// giveBack returns memory to the system when a crowd has gone. The runtime would
// keep most of it for minutes.
func (l *limited) giveBack() {
	if peak, open := l.peak.Load(), l.open.Load(); peak >= crowd && open <= peak/4 {
		l.peak.Store(open)
		debug.FreeOSMemory()
	}
}
