package jobs

import (
	"context"
	"sync"
	"time"

	"remit/internal/contract"
)

// watchLook is how often a watch looks for changes by other processes.
const watchLook = time.Second

// watch is somebody who wants to hear of changes of one task.
type watch struct {
	id      string
	changed func()
	cancel  context.CancelFunc

	mu   sync.Mutex
	seen time.Time // the change that was told last
}

// Watch calls changed after each change of the task with this id, by whichever
// process, until stop is called or Close. Changes that follow each other
// quickly may be told once. changed must not block; it may be called from several
// goroutines, and once more while stop returns.
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
	if r.closed { // meanwhile: nobody will end it later
		cancel()
	}
	r.mu.Unlock()
	// Read before Watch returns: whatever its caller reads next is no older, so
	// that no change falls between the two.
	if t, err := r.look(ctx, id); err == nil {
		w.sees(t.UpdatedAt)
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

// notify tells those who watch a task of its change here.
func (r *Runner) notify(t *Task) {
	for _, w := range r.watching(t.ID) {
		w.tell(t.UpdatedAt)
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

// follow looks for changes by others until ctx ends or there can be none.
func (r *Runner) follow(ctx context.Context, w *watch) {
	tick := time.NewTicker(watchLook)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		t, err := r.look(ctx, w.id)
		switch {
		case err == nil:
			w.tell(t.UpdatedAt)
			if t.Status.Final() {
				return
			}
		case ctx.Err() == nil && contract.AsError(err).Kind == contract.NotFound:
			w.changed() // it is gone
			return
		}
	}
}

func (r *Runner) look(ctx context.Context, id string) (Task, error) {
	ctx, cancel := context.WithTimeout(ctx, storePatience)
	defer cancel()
	return r.current(ctx, id)
}

// tell passes a change on, once.
func (w *watch) tell(at time.Time) {
	if w.sees(at) {
		w.changed()
	}
}

// sees tells whether a change is newer than all before.
func (w *watch) sees(at time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !at.After(w.seen) {
		return false
	}
	w.seen = at
	return true
}
