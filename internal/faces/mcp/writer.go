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
	queued  [][]byte // in the order in which they leave; the last one is a buffer that takes further lines
	size    int      // of what is queued
	left    [][]byte // was queued before, and can hold what is queued next
	spare   []byte   // a buffer
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
		w.queued = append(w.queued, w.spare[:0])
		w.spare = nil
	}
	buffer := &w.queued[len(w.queued)-1]
	*buffer = append(append(*buffer, line...), '\n')
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
		w.queued, w.size = w.left[:0], 0
		w.mu.Unlock()
		err := w.write(batch)
		w.mu.Lock()
		if buffer := batch[len(batch)-1]; cap(buffer) <= highWater { // one large answer must not stay in memory
			w.spare = buffer
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
