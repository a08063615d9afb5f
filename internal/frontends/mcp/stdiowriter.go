package mcp

import (
	"context"
	"io"
	"sync"
)

// slot is the slot of a running request.
type slot struct {
	conn  *stdio
	large bool

	mu      sync.Mutex
	waiting int // open questions
}

func (s *slot) acquire() {
	s.conn.slots <- struct{}{}
	if s.large {
		s.conn.largeSlots <- struct{}{}
	}
}

func (s *slot) free() {
	if s.large {
		<-s.conn.largeSlots
	}
	<-s.conn.slots
}

// send sends a message on the shared stream.
func (s *slot) send(line []byte) error {
	s.conn.out.send(line)
	return nil
}

// release does nothing: all requests share the stream.
func (*slot) release() {}

// pausing releases the slot while a person decides, so that other requests, and the answer itself,
// can be read.
func (s *slot) pausing() func() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting++; s.waiting == 1 {
		s.free()
	}
	return s.resume
}

func (s *slot) resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting--; s.waiting == 0 {
		s.acquire()
	}
}

func (c *stdio) notifications() *subscription { return c.changes }

// startNotifications starts to send notifications to a client of the legacy era.
func (c *stdio) startNotifications() {
	if c.notifying {
		return
	}
	c.notifying = true
	// The list of resources is watched once the client has asked for it.
	c.changes.watchLists(true, true, false)
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

// listen serves a subscriptions/listen until the client cancels it or the connection ends.
func (c *stdio) listen(ctx context.Context, q *request, call *running) {
	defer c.inflight.finish(q.id, call)
	defer c.listening.Add(-1)
	if c.listening.Add(1) > maxListening {
		c.out.send(rpcErrorf(codeBusy, "At most %d subscriptions can be open at once", maxListening).reply(q.id, modern))
		return
	}
	sub, acknowledgement, err := q.listen(ctx)
	if err != nil {
		c.out.send(toRPCError(err, modern).reply(q.id, modern))
		return
	}
	defer sub.close()
	c.out.send(acknowledgement)
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.ended:
			c.out.send(q.listenResult())
			return
		case <-sub.wake:
			for _, line := range sub.next(ctx) {
				c.out.send(line)
			}
		}
	}
}

// writer writes whole lines. Lines that arrive during a write are written together in the next one.
// If the client does not read, send blocks instead of filling the memory.
type writer struct {
	out      io.Writer
	mu       sync.Mutex
	changed  *sync.Cond
	queued   [][]byte // in order; the last one is a buffer to which further lines are appended
	size     int      // of the queue in bytes
	reusable [][]byte // the previous queue slice, for reuse
	spare    [][]byte // buffers for reuse: one is filled while the other is written
	closed   bool
	err      error
	done     chan struct{}
}

const (
	highWater = 4 << 20  // the queue size above which send blocks
	longLine  = 64 << 10 // longer lines are not copied into a buffer
)

func newWriter(out io.Writer) *writer {
	w := &writer{out: out, done: make(chan struct{})}
	w.changed = sync.NewCond(&w.mu)
	go w.run()
	return w
}

// send queues one line, without its newline. The caller must not change it afterwards.
func (w *writer) send(line []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.size > highWater && w.err == nil {
		w.changed.Wait()
	}
	if w.err != nil {
		return // the client no longer reads
	}
	w.size += len(line) + len("\n")
	isLong := len(line) >= longLine
	if isLong {
		w.queued = append(w.queued, line)
		line = nil // its newline is written with what follows
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
		w.queued, w.size = w.reusable[:0], 0
		w.mu.Unlock()
		err := w.write(batch)
		w.mu.Lock()
		// Do not keep a large buffer in memory.
		if buffer := batch[len(batch)-1]; len(w.spare) < 2 && cap(buffer) <= highWater/2 {
			w.spare = append(w.spare, buffer[:0])
		}
		clear(batch)
		w.reusable = batch
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

// close writes the queue and waits until that is done.
func (w *writer) close() error {
	w.mu.Lock()
	w.closed = true
	w.changed.Broadcast()
	w.mu.Unlock()
	<-w.done
	return w.err
}
