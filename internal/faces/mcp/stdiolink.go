package mcp

import (
	"context"
)

// turn is the place of a request among those that run.
type turn struct {
	conn  *stdio
	large bool
}

func (t turn) take() {
	t.conn.slots <- struct{}{}
	if t.large {
		t.conn.larges <- struct{}{}
	}
}

func (t turn) give() {
	if t.large {
		<-t.conn.larges
	}
	<-t.conn.slots
}

// send gives a message to the one stream that there is.
func (t turn) send(line []byte) error {
	t.conn.out.send(line)
	return nil
}

// release has nothing to let go: the stream belongs to all requests.
func (turn) release() {}

// pausing gives up the place while a person thinks, so that other requests, and
// the answer itself, can be read.
func (t turn) pausing() func() {
	t.give()
	return t.take
}

func (c *stdio) subscribe(uri string) error { return c.changes.watch(uri) }
func (c *stdio) unsubscribe(uri string)     { c.changes.unwatch(uri) }
func (c *stdio) listed()                    { c.changes.watchLists(true, true, true) }

func (c *stdio) put(ctx context.Context, send func([]byte) error, method string, params []byte) (message, error) {
	return c.questions.put(ctx, send, method, params)
}

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
	defer c.leave(q.id, call)
	if !c.mayListen() {
		c.out.send(faultf(codeBusy, "At most %d subscriptions can be open at once", maxListening).reply(q.id, modern))
		return
	}
	defer c.stopsListening()
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

func (c *stdio) mayListen() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.listening >= maxListening {
		return false
	}
	c.listening++
	return true
}

func (c *stdio) stopsListening() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.listening--
}
