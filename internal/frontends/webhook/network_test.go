package webhook_test

import (
	"context"
	"net"
	"sync"
)

// memNetwork is an in-memory network, so that its deadlines follow the clock of the test.
type memNetwork struct {
	waiting chan net.Conn
	closed  chan struct{}
	once    sync.Once
}

func newMemNetwork() *memNetwork {
	return &memNetwork{waiting: make(chan net.Conn), closed: make(chan struct{})}
}

func (p *memNetwork) Accept() (net.Conn, error) {
	select {
	case c := <-p.waiting:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *memNetwork) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *memNetwork) Addr() net.Addr { return &net.UnixAddr{Name: "localhost"} }

func (p *memNetwork) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case p.waiting <- theirs:
		return ours, nil
	case <-p.closed:
		return nil, &net.OpError{Op: "dial", Net: "pipe", Err: net.ErrClosed}
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
