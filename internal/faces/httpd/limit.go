package httpd

import (
	"net"
	"sync"
	"sync/atomic"
)

// limited is a listener that holds a number of connections at most.
type limited struct {
	net.Listener
	most int64
	open atomic.Int64
}

func limit(l net.Listener, most int64) net.Listener { return &limited{Listener: l, most: most} }

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
		if l.open.Add(1) <= l.most {
			return &counted{Conn: conn, open: &l.open}, nil
		}
		l.open.Add(-1)
		_, _ = conn.Write([]byte(refusal)) // a few bytes never block
		_ = conn.Close()
	}
}

// counted is a connection that counts until it is closed.
type counted struct {
	net.Conn
	open *atomic.Int64
	once sync.Once
}

// Close closes the connection.
func (c *counted) Close() error {
	c.once.Do(func() { c.open.Add(-1) })
	return c.Conn.Close()
}
