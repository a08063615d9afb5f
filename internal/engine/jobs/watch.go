package jobs

import (
	"context"
	"sync"
	"time"

	"remit/internal/contract"
)

// watchInterval is how often a watch checks for changes by other processes.
const watchInterval = time.Second

// watch is a subscription to the changes of one task.
type watch struct {
	id      string
	changed func()
	cancel  context.CancelFunc

	mu   sync.Mutex
	seen time.Time // the latest change that was reported
}

// Watch calls changed after each change of the task with this id, by whichever process, until stop
// or Close is called. It may report changes in quick succession once. changed must not block; it
// may be called from several goroutines, and once more while stop returns.
func (r *Runner) Watch(id string, changed func()) (stop func()) {
	leave, err := r.enter()
	if err != nil {
		return func() {}
	}
	defer leave()
	ctx, cancel := context.WithCancel(context.Background())
	w := &watch{id: id, changed: changed, cancel: cancel}
	r.mu.Lock()
	r.watches[w] = struct{}{}
	if r.closed { // closed meanwhile: nobody would end the watch later
		cancel()
	}
	r.mu.Unlock()
	// Read the task before Watch returns: what its caller reads next is not older, so no change is
	// missed in between.
	if t, err := r.readCurrent(ctx, id); err == nil {
		w.isNew(t.UpdatedAt)
	}
	r.busy.Go(func() { r.follow(ctx, w) })
	return func() { r.unwatch(w) }
}

func (r *Runner) unwatch(w *watch) {
	r.mu.Lock()
	delete(r.watches, w)
	r.mu.Unlock()
	w.cancel()
}

// unwatchAll ends every watch.
func (r *Runner) unwatchAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for w := range r.watches {
		w.cancel()
	}
	clear(r.watches)
}

// notify reports a change of a task to its watches in this process.
func (r *Runner) notify(t *Task) {
	for _, w := range r.watching(t.ID) {
		w.notify(t.UpdatedAt)
	}
}

func (r *Runner) watching(id string) []*watch {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found []*watch
	for w := range r.watches {
		if w.id == id {
			found = append(found, w)
		}
	}
	return found
}

// follow checks for changes by other processes until ctx ends or the task is final.
func (r *Runner) follow(ctx context.Context, w *watch) {
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		t, err := r.readCurrent(ctx, w.id)
		switch {
		case err == nil:
			w.notify(t.UpdatedAt)
			if t.Status.Final() {
				return
			}
		case ctx.Err() == nil && contract.AsError(err).Kind == contract.NotFound:
			w.changed() // the task was deleted
			return
		}
	}
}

func (r *Runner) readCurrent(ctx context.Context, id string) (Task, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	return r.current(ctx, id)
}

// notify reports a change, once.
func (w *watch) notify(at time.Time) {
	if w.isNew(at) {
		w.changed()
	}
}

// isNew reports whether a change is newer than all before, and remembers it.
func (w *watch) isNew(at time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !at.After(w.seen) {
		return false
	}
	w.seen = at
	return true
}
