package engine

import (
	"context"
	"sync"
)

// OrderedQueue keeps the writes of one connection in the order in which they arrived, although
// calls run concurrently: a log must read in the order in which the client wrote it. A call enters
// the queue when it is read, and releases its ticket as soon as its write has a fixed position.
type OrderedQueue struct {
	mu       sync.Mutex
	first    uint64 // the earliest ticket that is not released
	next     uint64
	released map[uint64]bool          // later tickets that were released early
	waiting  map[uint64]chan struct{} // closed when that ticket is the first
}

type ticket struct {
	queue  *OrderedQueue
	number uint64
}

type ticketKey struct{}

// Enter adds the next ticket of the queue to ctx. The caller must call leave when the call has
// ended, whatever its outcome.
func (l *OrderedQueue) Enter(ctx context.Context) (_ context.Context, leave func()) {
	l.mu.Lock()
	t := ticket{l, l.next}
	l.next++
	l.mu.Unlock()
	return context.WithValue(ctx, ticketKey{}, t), t.release
}

func (t ticket) release() {
	l := t.queue
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.waiting, t.number)
	if t.number > l.first {
		if l.released == nil {
			l.released = map[uint64]bool{}
		}
		l.released[t.number] = true
		return
	}
	if t.number < l.first {
		return
	}
	for l.first++; l.released[l.first]; l.first++ {
		delete(l.released, l.first)
	}
	if ready, ok := l.waiting[l.first]; ok {
		delete(l.waiting, l.first)
		close(ready)
	}
}

// await returns when every earlier ticket is released, or when ctx ends. A ticket that was released
// itself, to ask a person, does not wait.
func (t ticket) await(ctx context.Context) {
	l := t.queue
	l.mu.Lock()
	if t.number <= l.first || l.released[t.number] {
		l.mu.Unlock()
		return
	}
	if l.waiting == nil {
		l.waiting = map[uint64]chan struct{}{}
	}
	ready := make(chan struct{})
	l.waiting[t.number] = ready
	l.mu.Unlock()
	select {
	case <-ready:
	case <-ctx.Done():
	}
}

// awaitEarlierWrites waits until every earlier write of the connection has its position.
func awaitEarlierWrites(ctx context.Context) {
	if t, ok := ctx.Value(ticketKey{}).(ticket); ok {
		t.await(ctx)
	}
}

// MarkOrdered tells the queue that the write of this call has its position in the order of its
// store. The next write of the connection may then start while this one is still being written to
// disk.
func MarkOrdered(ctx context.Context) {
	if t, ok := ctx.Value(ticketKey{}).(ticket); ok {
		t.release()
	}
}
