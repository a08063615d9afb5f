package mcp

import (
	"io"
	"sync"
)

// writer sends whole lines. Lines that come while one write is under way leave
// together in the next; a client that does not read slows its callers down
// instead of filling our memory.
type writer struct {
	out     io.Writer
	mu      sync.Mutex
	changed *sync.Cond
	queued  []byte
	spare   []byte
	closed  bool
	err     error
	done    chan struct{}
}

// highWater is how much may wait for a client that does not read.
const highWater = 4 << 20

func newWriter(out io.Writer) *writer {
	w := &writer{out: out, done: make(chan struct{})}
	w.changed = sync.NewCond(&w.mu)
	go w.run()
	return w
}

// send queues one line, without its newline.
func (w *writer) send(line []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.queued) > highWater && w.err == nil {
		w.changed.Wait()
	}
	if w.err != nil {
		return // nobody reads any more
	}
	w.queued = append(append(w.queued, line...), '\n')
	w.changed.Broadcast()
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
		w.queued = w.spare[:0]
		w.mu.Unlock()
		_, err := w.out.Write(batch)
		w.mu.Lock()
		w.spare = batch
		if cap(batch) > highWater {
			w.spare = nil // one large answer must not stay in memory
		}
		w.err = err
		w.changed.Broadcast()
	}
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
