package httpserver

import (
	"net"
	"sync"
)

// MemListener is an in-memory listener, so that its deadlines follow the clock of the test.
type MemListener struct {
	waiting chan net.Conn
	closed  chan struct{}
	once    sync.Once
}

// NewMemListener returns a new listener.
func NewMemListener() *MemListener {
	return &MemListener{waiting: make(chan net.Conn), closed: make(chan struct{})}
}

// Accept returns the next connection.
func (p *MemListener) Accept() (net.Conn, error) {
	select {
	case c := <-p.waiting:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Close ends Accept.
func (p *MemListener) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

// Addr returns a local address.
func (p *MemListener) Addr() net.Addr { return &net.UnixAddr{Name: "localhost"} }

// Dial opens a connection.
func (p *MemListener) Dial() net.Conn {
	ours, theirs := net.Pipe()
	p.waiting <- theirs
	return ours
}
