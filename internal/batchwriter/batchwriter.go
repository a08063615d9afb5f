// Package batchwriter writes items in batches in the background. Callers that add an item never
// wait for the write.
package batchwriter

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"
)

const (
	// DefaultDelay is how long a writer waits for more items before it writes.
	DefaultDelay = 200 * time.Millisecond
	// DefaultTimeout is how long one write may take.
	DefaultTimeout = 5 * time.Second
	// MaxBackoff is the longest pause after a failed write. The first pause is twice the delay, and
	// each further pause doubles.
	MaxBackoff = 30 * time.Second
	// CloseTimeout is how long Close may take.
	CloseTimeout = 2 * time.Second
)

// Options configure a Writer. Write and Max are required.
type Options[T any] struct {
	// Write writes a batch, which begins with the item that was added or merged longest ago. The
	// writer queues the items in retry again, before those that were added meanwhile. Only one call
	// runs at a time.
	Write func(ctx context.Context, batch []T) (retry []T, err error)

	// Max is how many items may wait, or the sum of their sizes if Size is set. Add rejects an item
	// that does not fit; with DropOldest the writer drops the oldest items instead. Both count as
	// dropped.
	Max        int
	Size       func(item T) int
	DropOldest bool

	// Key, if set, makes the writer merge items with the same key. Merge gets the waiting item, or
	// the zero value if there is none, and the added one. It must not keep references to memory of
	// the added item that its owner may change.
	Key   func(item T) string
	Merge func(waiting, added T) T

	// Due, if set, gives each item its own time at which it is written, alone. Write returns an
	// item that failed with a later time. Without Due the writer writes all items together: Delay
	// after the first was added, or after the pause that follows a failure.
	Due func(item T) time.Time

	Delay   time.Duration // DefaultDelay if zero
	Timeout time.Duration // DefaultTimeout if zero

	// Log gets Failure as a message when a write fails, and then nothing until a write succeeds.
	// Nil disables logging.
	Log     *slog.Logger
	Failure string
}

// Writer queues items and writes them in a goroutine that exists only while items wait. It is safe
// for concurrent use.
type Writer[T any] struct {
	o      Options[T]
	ctx    context.Context // of all writes; canceled when Close times out
	cancel context.CancelFunc
	wake   chan struct{} // holds one token when the goroutine must check the queue again

	mu      sync.Mutex
	queue   queue[T]
	dropped int
	next    time.Time       // of the next write, unless Due is set
	flushes []chan struct{} // closed after the next write
	done    chan struct{}   // closed when the goroutine ends; nil while there is none
	closed  bool
	last    bool // the last write has begun

	backoff time.Duration // used only by the goroutine; zero after a success
}

// New returns a writer. Nothing runs before the first item is added.
func New[T any](o Options[T]) *Writer[T] {
	o.Delay, o.Timeout = cmp.Or(o.Delay, DefaultDelay), cmp.Or(o.Timeout, DefaultTimeout)
	w := &Writer[T]{o: o, wake: make(chan struct{}, 1), queue: newQueue(o.Key, o.Merge, o.Size)}
	w.ctx, w.cancel = context.WithCancel(context.Background()) //nolint:gosec // Close calls cancel
	return w
}

// Add queues an item and returns at once. It returns false if the writer is full or closed.
func (w *Writer[T]) Add(item T) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return false
	}
	if !w.o.DropOldest && w.queue.sizeWith(item) > w.o.Max {
		w.dropped++
		return false
	}
	if soonest := time.Now().Add(w.o.Delay); w.queue.len() == 0 && w.next.Before(soonest) {
		w.next = soonest
	}
	w.queue.add(item)
	w.trim()
	if w.done == nil {
		w.done = make(chan struct{})
		go w.run(w.done)
	}
	if w.o.Due != nil {
		w.rouse()
	}
	return true
}

// trim drops the oldest items while there are too many. The mutex must be held.
func (w *Writer[T]) trim() {
	for w.o.DropOldest && w.queue.size > w.o.Max {
		w.queue.remove(w.queue.order.Front())
		w.dropped++
	}
}

// rouse makes the goroutine check the queue again.
func (w *Writer[T]) rouse() {
	select {
	case w.wake <- struct{}{}:
	default: // it will check anyway
	}
}

// Len reports how many items wait.
func (w *Writer[T]) Len() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.queue.len()
}

// Closed reports whether Close was called.
func (w *Writer[T]) Closed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.closed
}

// TakeDropped returns how many items were dropped since the previous call of TakeDropped.
func (w *Writer[T]) TakeDropped() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := w.dropped
	w.dropped = 0
	return n
}

// Drain removes and returns all waiting items.
func (w *Writer[T]) Drain() []T {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.queue.take()
}

// Flush writes all items that were added before. It returns after one attempt, or when ctx ends.
func (w *Writer[T]) Flush(ctx context.Context) {
	w.mu.Lock()
	if w.done == nil {
		w.mu.Unlock()
		return
	}
	tried := make(chan struct{})
	w.flushes = append(w.flushes, tried)
	w.rouse()
	w.mu.Unlock()
	select {
	case <-tried:
	case <-ctx.Done():
	}
}

// Close tries to write all items once more, within CloseTimeout and until ctx ends. It returns the
// items that were not written.
func (w *Writer[T]) Close(ctx context.Context) (lost []T) {
	w.mu.Lock()
	w.closed = true
	done := w.done
	w.rouse()
	w.mu.Unlock()
	defer w.cancel()
	if done != nil {
		ctx, cancel := context.WithTimeout(ctx, CloseTimeout)
		defer cancel()
		defer context.AfterFunc(ctx, w.cancel)()
		<-done
	}
	return w.Drain()
}

// run writes until no items wait.
func (w *Writer[T]) run(done chan struct{}) {
	defer close(done)
	for w.wait() {
		batch, flushes := w.take()
		switch {
		case w.o.Due == nil && len(batch) > 0:
			w.write(batch)
		case w.o.Due != nil:
			for _, item := range batch {
				w.write([]T{item})
			}
		}
		for _, tried := range flushes {
			close(tried)
		}
	}
}

// wait returns true when the next write is due, and false when the goroutine must end.
func (w *Writer[T]) wait() bool {
	for {
		pause, over := w.pause()
		if over || pause <= 0 {
			return !over
		}
		timer := time.NewTimer(pause)
		select {
		case <-w.wake:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// pause returns the time until the next write. over is true when no items wait, or after the last
// write.
func (w *Writer[T]) pause() (pause time.Duration, over bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.last || w.queue.len() == 0 && len(w.flushes) == 0:
		for _, tried := range w.flushes {
			close(tried)
		}
		w.flushes, w.done = nil, nil
		return 0, true
	case w.closed || len(w.flushes) > 0:
		return 0, false
	case w.o.Due != nil:
		_, due := w.queue.soonest(w.o.Due)
		return time.Until(due), false
	}
	return time.Until(w.next), false
}

// take removes the items to write now from the queue: all of them, or only the one that is due.
func (w *Writer[T]) take() (batch []T, flushes []chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	flushes, w.flushes, w.last = w.flushes, nil, w.closed
	if w.o.Due == nil || w.closed || len(flushes) > 0 {
		return w.queue.take(), flushes
	}
	e, _ := w.queue.soonest(w.o.Due)
	return []T{w.queue.remove(e)}, nil
}

// write writes a batch and queues the items to retry again.
func (w *Writer[T]) write(batch []T) {
	ctx, cancel := context.WithTimeout(w.ctx, w.o.Timeout)
	defer cancel()
	retry, err := w.o.Write(ctx, batch)
	if err != nil && w.backoff == 0 && w.o.Log != nil {
		level := slog.LevelWarn
		if w.Closed() { // a failure of the last write is expected, and no later write follows
			level = slog.LevelDebug
		}
		w.o.Log.Log(ctx, level, w.o.Failure, "error", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(retry) > 0 {
		for _, item := range append(retry, w.queue.take()...) {
			w.queue.add(item)
		}
		w.trim()
	}
	if err == nil {
		w.backoff, w.next = 0, time.Now().Add(w.o.Delay)
		return
	}
	w.backoff = min(max(w.backoff, w.o.Delay)*2, MaxBackoff)
	w.next = time.Now().Add(w.backoff)
}
