package knowledge

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"remit/internal/search/tree"
)

// A round brings the index up to date for all who came before it began.
type round struct {
	memory chan struct{} // closed when the memory files are indexed
	done   chan struct{} // closed when what is little is done as well
	err    error         // to be read after done
}

// conductor is what the goroutine that goes through rounds knows.
type conductor struct {
	loaded   bool                                // everything in the store is in the catalog
	surveyed bool                                // all files of the tree were looked at once
	stamps   map[string]string                   // of memory files that are in the catalog
	skip     func(path string, folder bool) bool // what is out of reach; nil: nothing, or it is not known yet
	marked   bool                                // the store knows which version cut the files
	recut    bool                                // another version cut what was there at first
	failing  bool                                // and that was said
	retry    time.Duration                       // after the next failure
}

// join returns a round that has not begun, and sees to it that it does.
func (x *Index) join() *round {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.next == nil {
		x.next = &round{memory: make(chan struct{}), done: make(chan struct{})}
	}
	x.start()
	select {
	case x.wake <- struct{}{}:
	default: // it is to wake already
	}
	return x.next
}

// conduct goes through rounds, those that somebody wants and those that were not what they should have been.
func (x *Index) conduct() {
	var again <-chan time.Time
	for {
		select {
		case <-x.wake:
		case <-again:
		case <-x.ctx.Done():
			return
		}
		r := x.takeRound()
		r.err = guarded("round", func() error { return x.bring(r) })
		x.noteRound(r.err)
		r.ended()
		again = x.judge(r.err)
		if r.err == nil {
			x.tidy()
		}
	}
}

func (x *Index) takeRound() *round {
	x.mu.Lock()
	defer x.mu.Unlock()
	r := x.next
	x.next = nil
	if r == nil {
		r = &round{memory: make(chan struct{}), done: make(chan struct{})}
	}
	return r
}

func (r *round) remembered() {
	select {
	case <-r.memory:
	default:
		close(r.memory)
	}
}

func (r *round) ended() {
	r.remembered()
	close(r.done)
}

// judge says how a round went, and when the next one is due that nobody asks for.
func (x *Index) judge(err error) <-chan time.Time {
	c := &x.conductor
	if err == nil {
		c.failing, c.retry = false, 0
		return nil
	}
	if x.ctx.Err() != nil {
		return nil
	}
	if !c.failing {
		x.o.Log.Warn("what the project knows cannot be brought up to date for now", "error", err)
	}
	c.failing = true
	c.retry = min(max(2*c.retry, x.limits.retry), 30*time.Second)
	return time.After(c.retry)
}

// guarded turns a panic into an error: a file that nobody thought of must not end the program.
func guarded(what string, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &panicError{what: what, value: p, stack: debug.Stack()}
		}
	}()
	return f()
}

// singly calls f with all items, and with one after the other if that panics. An item that f panics with alone is left out, and
// leftOut is told.
func singly[T any](what string, items []T, f func([]T) error, leftOut func(item T, err error)) error {
	err := guarded(what, func() error { return f(items) })
	if !errors.As(err, new(*panicError)) {
		return err
	}
	if len(items) == 1 {
		leftOut(items[0], err)
		return nil
	}
	for i := range items {
		if err := singly(what, items[i:i+1], f, leftOut); err != nil {
			return err
		}
	}
	return nil
}

// panicError is a panic that was caught.
type panicError struct {
	what  string
	value any
	stack []byte
}

func (e *panicError) Error() string {
	return fmt.Sprintf("%s: panic: %v\n%s", e.what, e.value, e.stack)
}

// bring is one round. What fails does not keep the rest from being done.
func (x *Index) bring(r *round) error {
	if !x.conductor.loaded { // without knowing what is there everything would be done again
		if err := x.load(); err != nil {
			return err
		}
	}
	if err := x.markCut(x.ctx); err != nil {
		return err
	}
	remembering := x.remember()
	feeding := x.swallow()
	r.remembered()
	loading := x.load()
	looking := x.look()
	working := x.hurry()
	return errors.Join(loading, remembering, feeding, looking, working)
}

// hurry does what is fresh, as long as somebody may wait for it. The workers do the rest.
func (x *Index) hurry() error {
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
		return nil, fmt.Errorf("open the store of pieces: %w", err)
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
		return nil, fmt.Errorf("open the files: %w", err)
	}
	x.tree.Store(t)
	return t, nil
}
