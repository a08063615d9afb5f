package httpserver

import (
	"cmp"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// limitedListener is a listener with a maximum number of open connections. If there are more, it
// closes those that have been idle for longest, so that idle connections keep nobody out.
type limitedListener struct {
	net.Listener
	maxOpen int64
	open    atomic.Int64
	closed  atomic.Int64 // idle connections that were closed to make room
	peak    atomic.Int64 // since memory was last released

	mu    sync.Mutex
	conns map[*trackedConn]struct{}
}

func limitConnections(l net.Listener, maxOpen int64) *limitedListener {
	return &limitedListener{Listener: l, maxOpen: maxOpen, conns: map[*trackedConn]struct{}{}}
}

// refusal is the response to a connection above the limit.
const refusal = "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\n" +
	"Content-Type: application/json\r\nContent-Length: 55\r\n\r\n" +
	`{"error":"too many connections are open; try it again"}`

// connectionLimit is how many connections may be open. Half of the file descriptors are left for
// files and for connections to other services.
func connectionLimit() int64 { return min(maxConnections, max(openFileLimit()/2, 1)) }

// Accept returns the next connection within the limit.
func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
				l.closeIdle() // net/http tries again soon
			}
			return nil, err
		}
		open := l.open.Add(1)
		if open > l.maxOpen {
			l.closeIdle()
			open = l.open.Load()
		}
		if open <= l.maxOpen {
			if open > l.peak.Load() {
				l.peak.Store(open) // a race may store the smaller value; an estimate is enough
			}
			return l.track(conn), nil
		}
		l.open.Add(-1)
		_, _ = conn.Write([]byte(refusal)) // a few bytes never block
		_ = conn.Close()
	}
}

// track counts a connection until it is closed.
func (l *limitedListener) track(conn net.Conn) *trackedConn {
	c := &trackedConn{Conn: conn, of: l}
	c.idleSince.Store(time.Now().UnixNano())
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conns[c] = struct{}{}
	return c
}

func (l *limitedListener) untrack(c *trackedConn) {
	l.open.Add(-1)
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, c)
}

// closeIdle closes the connections that have been idle for longest: one in 16, so that the next
// ones need no search.
func (l *limitedListener) closeIdle() {
	type idleConn struct {
		*trackedConn
		since int64
	}
	var idle []idleConn
	l.mu.Lock()
	for c := range l.conns {
		if since := c.idleSince.Load(); since != 0 {
			idle = append(idle, idleConn{c, since})
		}
	}
	l.mu.Unlock()
	slices.SortFunc(idle, func(a, b idleConn) int { return cmp.Compare(a.since, b.since) })
	for _, c := range idle[:min(int(l.maxOpen/16)+1, len(idle))] {
		if c.idleSince.CompareAndSwap(c.since, 0) {
			_ = c.Close() // no request is lost
			l.closed.Add(1)
		}
	}
}

// noteState records since when a connection has been idle: no request has arrived on it completely,
// or since the last one.
func noteState(conn net.Conn, state http.ConnState) {
	if encrypted, ok := conn.(*tls.Conn); ok {
		conn = encrypted.NetConn()
	}
	c, ok := conn.(*trackedConn)
	switch {
	case !ok:
	case state == http.StateIdle:
		c.idleSince.Store(time.Now().UnixNano())
	case state == http.StateActive, state == http.StateHijacked:
		c.idleSince.Store(0)
	}
}

// Connections returns how many connections of a listener of Listen are open, how many may be, and
// how many were closed because others needed their place.
func Connections(l net.Listener) (open, limit, closed int64) {
	limited, ok := l.(*limitedListener)
	if !ok {
		return 0, 0, 0
	}
	return limited.open.Load(), limited.maxOpen, limited.closed.Load()
}

// closeUnused closes connections on which the client never sent anything. Clients open some in
// reserve, and Shutdown would wait for them.
func (l *limitedListener) closeUnused() {
	l.mu.Lock()
	var unused []*trackedConn
	for c := range l.conns {
		if !c.sentData.Load() {
			unused = append(unused, c)
		}
	}
	l.mu.Unlock()
	for _, c := range unused {
		_ = c.Close() // no request is lost
	}
}

// trackedConn is a connection that is counted until it is closed, and whose write deadline ends a
// client that does not read.
type trackedConn struct {
	net.Conn
	of       *limitedListener
	once     sync.Once
	sentData atomic.Bool  // the client has sent data
	extended atomic.Int64 // when the write deadline was last extended, in Unix nanoseconds
	// Since when no request is in progress, in Unix nanoseconds; 0 while one is.
	idleSince atomic.Int64
}

// A write has at least writeTimeout and at most half as much again. Extending the deadline at every
// write would cost more than many a response.
const (
	writeTimeout = 30 * time.Second
	extendAfter  = writeTimeout / 2
)

// Read implements net.Conn. It records that the client has sent data.
func (c *trackedConn) Read(into []byte) (int, error) {
	n, err := c.Conn.Read(into)
	if n > 0 && !c.sentData.Load() {
		c.sentData.Store(true)
	}
	return n, err
}

// Write implements net.Conn. It extends the write deadline if that is due.
func (c *trackedConn) Write(data []byte) (int, error) {
	if now := time.Now(); now.UnixNano()-c.extended.Load() > int64(extendAfter) {
		c.extended.Store(now.UnixNano())
		if err := c.Conn.SetWriteDeadline(now.Add(writeTimeout + extendAfter)); err != nil {
			return 0, err
		}
	}
	return c.Conn.Write(data)
}

// SetWriteDeadline implements net.Conn, but never removes the deadline: net/http does that after
// every response, and the next one would have none.
func (c *trackedConn) SetWriteDeadline(at time.Time) error {
	if at.IsZero() {
		return nil
	}
	// So that the next write does not extend the handler's deadline.
	c.extended.Store(time.Now().UnixNano())
	return c.Conn.SetWriteDeadline(at)
}

// Close implements net.Conn.
func (c *trackedConn) Close() error {
	c.once.Do(func() { c.of.untrack(c) })
	return c.Conn.Close()
}

// manyConnections is the number of connections above which memory is released early.
const manyConnections = 500

// releaseMemory returns memory to the operating system when most of many connections have closed.
// The runtime would keep most of it for minutes.
func (l *limitedListener) releaseMemory() {
	if peak, open := l.peak.Load(), l.open.Load(); peak >= manyConnections && open <= peak/4 {
		l.peak.Store(open)
		debug.FreeOSMemory()
	}
}
