package mcp

import (
	"context"
	"sync"
)

// slot is the place of a request among those that run.
type slot struct {
	conn  *stdio
	large bool

	mu      sync.Mutex
	waiting int // questions that are open
}

func (s *slot) take() {
	s.conn.slots <- struct{}{}
	if s.large {
		s.conn.larges <- struct{}{}
	}
}

func (s *slot) give() {
	if s.large {
		<-s.conn.larges
	}
	<-s.conn.slots
}

// send gives a message to the one stream that there is.
func (s *slot) send(line []byte) error {
	s.conn.out.send(line)
	return nil
}

// release has nothing to let go: the stream belongs to all requests.
func (*slot) release() {}

// pausing gives up the place while a person thinks, so that other requests, and
// the answer itself, can be read.
func (s *slot) pausing() func() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting++; s.waiting == 1 {
		s.give()
	}
	return s.resume
}

func (s *slot) resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting--; s.waiting == 0 {
		s.take()
	}
}

func (c *stdio) subscribe(uri string) error { return c.changes.watch(uri) }
func (c *stdio) unsubscribe(uri string)     { c.changes.unwatch(uri) }
func (c *stdio) listed()                    { c.changes.watchLists(true, true, true) }

// tell begins to tell a client of the legacy era of changes.
func (c *stdio) tell() {
	if c.telling {
		return
	}
	c.telling = true
	c.changes.watchLists(true, true, false) // that of the resources once it was asked for
	c.work.Go(func() {
		for {
			select {
			case <-c.ended:
				return
			case <-c.changes.wake:
				for _, line := range c.changes.next(context.Background()) {
					c.out.send(line)
				}
			}
		}
	})
}

// listen carries out a subscriptions/listen until the client takes it back or
// the connection ends.
func (c *stdio) listen(ctx context.Context, q *request, call *running) {
	defer c.inflight.finish(q.id, call)
	defer c.listening.Add(-1)
	if c.listening.Add(1) > maxListening {
		c.out.send(faultf(codeBusy, "At most %d subscriptions can be open at once", maxListening).reply(q.id, modern))
		return
	}
	sub, acknowledgement, err := q.listen(ctx)
	if err != nil {
		c.out.send(faultOf(err, modern).reply(q.id, modern))
		return
	}
	defer sub.close()
	c.out.send(acknowledgement)
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.ended:
			c.out.send(q.listened())
			return
		case <-sub.wake:
			for _, line := range sub.next(ctx) {
				c.out.send(line)
			}
		}
	}
}
