package httpserver

import (
	"net"
	"sync"
)

// Pipes is a listener whose connections stay in the process, so that their
// deadlines go by the clock of the test.
type Pipes struct {
	waiting chan net.Conn
	closed  chan struct{}
	once    sync.Once
}

// NewPipes makes one.
func NewPipes() *Pipes { return &Pipes{waiting: make(chan net.Conn), closed: make(chan struct{})} }

// Accept gives the next connection.
func (p *Pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.waiting:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Close ends Accept.
func (p *Pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

// Addr is one of this machine.
func (p *Pipes) Addr() net.Addr { return &net.UnixAddr{Name: "localhost"} }

// Dial opens a connection.
func (p *Pipes) Dial() net.Conn {
	ours, theirs := net.Pipe()
	p.waiting <- theirs
	return ours
}
