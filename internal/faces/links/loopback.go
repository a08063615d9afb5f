package links

import (
	"context"
	"errors"
	"sync"
)

// Loopback serves links where no server runs. It begins with the first link that
// somebody asks for, and most never do.
type Loopback struct {
	// Serve serves links on this machine until ctx ends. It tells ready the address.
	Serve func(ctx context.Context, ready func(base string)) error

	mu     sync.Mutex
	base   string
	end    func() error // nil if nothing is served
	closed bool
}

// Base is what links begin with. It is served from then on.
func (l *Loopback) Base() (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return "", errors.New("links are not served any more")
	}
	if l.end != nil {
		return l.base, nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	ready, done := make(chan string, 1), make(chan error, 1)
	go func() { done <- l.Serve(ctx, func(base string) { ready <- base }) }()
	select {
	case l.base = <-ready:
		l.end = func() error { cancel(); return <-done }
		return l.base, nil
	case err := <-done:
		cancel()
		return "", errors.Join(errors.New("links cannot be served"), err)
	}
}

// Close ends what was served, once the requests under way are answered.
func (l *Loopback) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if l.end == nil {
		return nil
	}
	end := l.end
	l.end = nil
	return end()
}
