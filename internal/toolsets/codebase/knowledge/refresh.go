package knowledge

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"remit/internal/search/tree"
)

// A refresh brings the index up to date for all callers that joined before it began.
type refresh struct {
	// Closed when the memory files are indexed, for those who joined while it was set; nil if it is
	// closed already. Guarded by Index.mu.
	memory chan struct{}
	done   chan struct{} // closed when small changes are done as well
	err    error         // may be read after done is closed
}

// refresher is the state of the goroutine that runs the refreshes.
type refresher struct {
	loaded   bool              // everything in the store is in the catalog
	surveyed bool              // all files of the tree were examined once
	stamps   map[string]string // of the memory files in the catalog
	// Paths that must not be searched; nil if there are none or they are not known yet.
	skip func(path string, folder bool) bool
	// The store has the mark of the version that cut the files.
	marked  bool
	recut   bool          // another version cut the stored files
	failing bool          // the last refresh failed, and that was logged
	retry   time.Duration // delay after the next failure
}

// join returns a refresh that has not begun, and wakes the goroutine that runs it. The memory files
// are indexed when memory is closed, which may be long before the refresh begins.
func (x *Index) join() (r *refresh, memory <-chan struct{}) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.next == nil {
		x.next = &refresh{done: make(chan struct{})}
	}
	if x.next.memory == nil {
		x.next.memory = make(chan struct{})
	}
	x.start()
	x.wakeUp()
	return x.next, x.next.memory
}

// wakeUp wakes the goroutine that runs refreshes.
func (x *Index) wakeUp() {
	select {
	case x.wake <- struct{}{}:
	default: // it has been woken already
	}
}

// runRefreshes runs refreshes: those that callers wait for and retries of failed ones.
func (x *Index) runRefreshes() {
	var again <-chan time.Time
	for {
		select {
		case <-x.wake:
		case <-again:
		case <-x.ctx.Done():
			return
		}
		r := x.takeRefresh()
		r.err = guarded("refresh", func() error { return x.update(r) })
		x.noteRefresh(r.err)
		x.memoryDone(r)
		close(r.done)
		again = x.conclude(r.err)
		if r.err == nil {
			x.tidy()
		}
	}
}

func (x *Index) takeRefresh() *refresh {
	x.mu.Lock()
	defer x.mu.Unlock()
	r := x.next
	x.next = nil
	if r == nil {
		r = &refresh{done: make(chan struct{})}
	}
	return r
}

// takeMemory returns the channel to close when the memory files are indexed, nil if nobody waits
// for that. Who joins later gets another one.
func (x *Index) takeMemory(r *refresh) chan struct{} {
	x.mu.Lock()
	defer x.mu.Unlock()
	if r == nil {
		return nil
	}
	memory := r.memory
	r.memory = nil
	return memory
}

// memoryDone notifies those who wait for the memory files.
func (x *Index) memoryDone(r *refresh) {
	if memory := x.takeMemory(r); memory != nil {
		close(memory)
	}
}

// servingMemory runs f, which may take seconds, and indexes the memory files for those who join the
// next refresh meanwhile.
func (x *Index) servingMemory(f func() error) error {
	done := make(chan error, 1)
	x.work.Go(func() { done <- guarded("refresh", f) })
	for {
		select {
		case err := <-done:
			x.mu.Lock()
			defer x.mu.Unlock()
			if x.next != nil {
				x.wakeUp()
			}
			return err
		case <-x.wake:
			x.mu.Lock()
			next := x.next
			x.mu.Unlock()
			if memory := x.takeMemory(next); memory != nil {
				// If it fails, so does the next refresh, which returns the error.
				_ = guarded("refresh", func() error { return errors.Join(x.refreshMemory(), x.storeFed()) })
				close(memory)
			}
		}
	}
}

// conclude logs how a refresh went, and returns when to retry without a caller.
func (x *Index) conclude(err error) <-chan time.Time {
	c := &x.refresher
	if err == nil {
		c.failing, c.retry = false, 0
		return nil
	}
	if x.ctx.Err() != nil {
		return nil
	}
	if !c.failing {
		x.o.Log.Warn("cannot update the project index, will retry", "error", err)
	}
	c.failing = true
	c.retry = min(max(2*c.retry, x.limits.retry), 30*time.Second)
	return time.After(c.retry)
}

// guarded converts a panic into an error: an unexpected file must not end the program.
func guarded(what string, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &panicError{what: what, value: p, stack: debug.Stack()}
		}
	}()
	return f()
}

// oneByOne calls f with all items and, if that panics, with each item separately. It leaves out an
// item with which f panics alone, and calls leftOut for it.
func oneByOne[T any](what string, items []T, f func([]T) error, leftOut func(item T, err error)) error {
	err := guarded(what, func() error { return f(items) })
	if !errors.As(err, new(*panicError)) {
		return err
	}
	if len(items) == 1 {
		leftOut(items[0], err)
		return nil
	}
	for i := range items {
		if err := oneByOne(what, items[i:i+1], f, leftOut); err != nil {
			return err
		}
	}
	return nil
}

// panicError is a recovered panic.
type panicError struct {
	what  string
	value any
	stack []byte
}

func (e *panicError) Error() string {
	return fmt.Sprintf("%s: panic: %v\n%s", e.what, e.value, e.stack)
}

// update runs one refresh. A failing step does not keep the others from running.
func (x *Index) update(r *refresh) error {
	if !x.refresher.loaded { // otherwise everything would be indexed again
		if err := x.load(); err != nil {
			return err
		}
	}
	if err := x.markCut(x.ctx); err != nil {
		return err
	}
	remembering := x.refreshMemory()
	feeding := x.storeFed()
	x.memoryDone(r)
	loading := x.load()
	looking := x.servingMemory(func() error { return errors.Join(x.updateFiles(), x.processFresh()) })
	return errors.Join(loading, remembering, feeding, looking)
}

// processFresh indexes fresh changes while a caller may be waiting for them. The workers do the
// rest.
func (x *Index) processFresh() error {
	ctx, cancel := context.WithTimeout(x.ctx, x.limits.fresh)
	defer cancel()
	for ctx.Err() == nil {
		batch := x.queue.take(fresh)
		if len(batch) == 0 {
			calm := false
			x.queue.await(ctx, func() bool {
				j := x.queue.first()
				calm = x.queue.calm()
				return calm || j != nil && j.urgency == fresh
			})
			if calm {
				return nil
			}
			continue
		}
		if err := x.process(x.ctx, batch); err != nil {
			return err
		}
	}
	return nil
}

// store opens the store.
func (x *Index) store(ctx context.Context) (Store, error) {
	s, err := x.o.Open(ctx)
	if err != nil {
		return nil, fmt.Errorf("open chunk store: %w", err)
	}
	return s, nil
}

// openTree opens the tree, once.
func (x *Index) openTree() (*tree.Tree, error) {
	if t := x.tree.Load(); t != nil {
		return t, nil
	}
	t, err := x.o.Tree()
	if err != nil {
		return nil, fmt.Errorf("open file tree: %w", err)
	}
	t.StatAdded()
	x.tree.Store(t)
	return t, nil
}
