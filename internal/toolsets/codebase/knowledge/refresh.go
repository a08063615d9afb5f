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
	memory chan struct{} // closed when the memory files are indexed
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

// join returns a refresh that has not begun, and wakes the goroutine that runs it.
func (x *Index) join() *refresh {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.next == nil {
		x.next = &refresh{memory: make(chan struct{}), done: make(chan struct{})}
	}
	x.start()
	select {
	case x.wake <- struct{}{}:
	default: // it has been woken already
	}
	return x.next
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
		r.finish()
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
		r = &refresh{memory: make(chan struct{}), done: make(chan struct{})}
	}
	return r
}

func (r *refresh) memoryDone() {
	select {
	case <-r.memory:
	default:
		close(r.memory)
	}
}

func (r *refresh) finish() {
	r.memoryDone()
	close(r.done)
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
	r.memoryDone()
	loading := x.load()
	looking := x.updateFiles()
	working := x.processFresh()
	return errors.Join(loading, remembering, feeding, looking, working)
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
