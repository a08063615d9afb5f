package mcp

import (
	"context"
	"io"
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

func (c *stdio) told() *subscription { return c.changes }

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

// writer sends whole lines. Lines that come while one write is under way leave
// together in the next; a client that does not read slows its callers down
// instead of filling our memory.
type writer struct {
	out     io.Writer
	mu      sync.Mutex
	changed *sync.Cond
	queued  [][]byte // in the order in which they leave; the last one is a buffer that takes further lines
	size    int      // of what is queued
	left    [][]byte // was queued before, and can hold what is queued next
	spare   [][]byte // buffers: one is filled while the other one is written
	closed  bool
	err     error
	done    chan struct{}
}

const (
	highWater = 4 << 20  // how much may wait for a client that does not read
	longLine  = 64 << 10 // from here on a line is not copied to leave with others
)

func newWriter(out io.Writer) *writer {
	w := &writer{out: out, done: make(chan struct{})}
	w.changed = sync.NewCond(&w.mu)
	go w.run()
	return w
}

// send queues one line, without its newline. Nobody may change it any more.
func (w *writer) send(line []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.size > highWater && w.err == nil {
		w.changed.Wait()
	}
	if w.err != nil {
		return // nobody reads any more
	}
	w.size += len(line) + len("\n")
	isLong := len(line) >= longLine
	if isLong {
		w.queued = append(w.queued, line)
		line = nil // its newline leaves with what follows
	}
	if isLong || len(w.queued) == 0 {
		w.queued = append(w.queued, w.takeSpare())
	}
	buffer := &w.queued[len(w.queued)-1]
	*buffer = append(append(*buffer, line...), '\n')
	w.changed.Broadcast()
}

func (w *writer) takeSpare() (buffer []byte) {
	if last := len(w.spare) - 1; last >= 0 {
		buffer, w.spare[last] = w.spare[last], nil
		w.spare = w.spare[:last]
	}
	return buffer
}

func (w *writer) run() {
	defer close(w.done)
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		for len(w.queued) == 0 && !w.closed {
			w.changed.Wait()
		}
		if len(w.queued) == 0 || w.err != nil {
			return
		}
		batch := w.queued
		w.queued, w.size = w.left[:0], 0
		w.mu.Unlock()
		err := w.write(batch)
		w.mu.Lock()
		if buffer := batch[len(batch)-1]; len(w.spare) < 2 && cap(buffer) <= highWater/2 { // one large answer must not stay in memory
			w.spare = append(w.spare, buffer[:0])
		}
		clear(batch)
		w.left = batch
		w.err = err
		w.changed.Broadcast()
	}
}

func (w *writer) write(batch [][]byte) error {
	for _, part := range batch {
		if _, err := w.out.Write(part); err != nil {
			return err
		}
	}
	return nil
}

// close sends what is queued and waits until it is out.
func (w *writer) close() error {
	w.mu.Lock()
	w.closed = true
	w.changed.Broadcast()
	w.mu.Unlock()
	<-w.done
	return w.err
}
