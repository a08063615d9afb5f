package engine

import (
	"context"
	"sync"
)

// Lane keeps the writes of one connection in the order in which they arrived,
// though calls run side by side: a log should read as it was told. A call enters
// the lane when it is read, and gives way once its write has its place.
type Lane struct {
	mu      sync.Mutex
	first   uint64 // the earliest turn that has not given way
	next    uint64
	gone    map[uint64]bool          // turns after the first that gave way early
	waiting map[uint64]chan struct{} // closed when that turn is the first
}

type turn struct {
	lane   *Lane
	number uint64
}

type turnKey struct{}

// Enter gives ctx the next turn of the lane. leave must be called when the call
// has ended, whatever became of it.
func (l *Lane) Enter(ctx context.Context) (_ context.Context, leave func()) {
	l.mu.Lock()
	t := turn{l, l.next}
	l.next++
	l.mu.Unlock()
	return context.WithValue(ctx, turnKey{}, t), t.giveWay
}

func (t turn) giveWay() {
	l := t.lane
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.waiting, t.number)
	if t.number > l.first {
		if l.gone == nil {
			l.gone = map[uint64]bool{}
		}
		l.gone[t.number] = true
		return
	}
	if t.number < l.first {
		return
	}
	for l.first++; l.gone[l.first]; l.first++ {
		delete(l.gone, l.first)
	}
	if ready, ok := l.waiting[l.first]; ok {
		delete(l.waiting, l.first)
		close(ready)
	}
}

// await returns when every earlier turn has given way, or ctx ends. A turn that
// has given way itself, to ask a person, has nothing left to wait for.
func (t turn) await(ctx context.Context) {
	l := t.lane
	l.mu.Lock()
	if t.number <= l.first || l.gone[t.number] {
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

// awaitTurn waits until every earlier write of the connection has its place.
func awaitTurn(ctx context.Context) {
	if t, ok := ctx.Value(turnKey{}).(turn); ok {
		t.await(ctx)
	}
}

// Placed says that the write of this call has its place in the order of its
// store, so that the next one of the connection may follow while this one is
// still on its way to the disk.
func Placed(ctx context.Context) {
	if t, ok := ctx.Value(turnKey{}).(turn); ok {
		t.giveWay()
	}
}
