package background

import (
	"context"
	"time"

	"remit/internal/engine"
)

// current reads a task as it stands now: not if it is expired or of another place,
// and as failed if whoever ran it has stopped.
func (r *Runner) current(ctx context.Context, id string) (Task, error) {
	for {
		t, err := r.read(ctx, id)
		if err != nil || !r.abandoned(&t) {
			return t, err
		}
		t.fail(&engine.ProtocolError{Code: internalError, Message: "The server stopped while this task ran; start it again"})
		if kept, err := r.keep(ctx, &t); kept || err != nil {
			return t, err
		}
	}
}

func (r *Runner) read(ctx context.Context, id string) (Task, error) {
	store, err := r.Store(ctx)
	if err != nil {
		return Task{}, storeFailed(ctx, err)
	}
	t, err := store.Get(ctx, id)
	if err != nil {
		return Task{}, storeFailed(ctx, err)
	}
	if t.Place != r.Place || !r.now().Before(t.ExpiresAt()) {
		return Task{}, notFound(id)
	}
	return t, nil
}

// abandoned tells whether nobody runs a working task any more. A machine that
// slept may have let the lease of a task lapse that still runs here.
func (r *Runner) abandoned(t *Task) bool {
	return t.Lapsed(r.now()) && !r.runsHere(t.ID)
}

// change lets f change a task of the principal, again if somebody else changed it
// meanwhile. changed is what f said last.
func (r *Runner) change(ctx context.Context, principal, id string, f func(t *Task, now time.Time) bool) (t Task, changed bool, err error) {
	for {
		t, err := r.Get(ctx, principal, id)
		if err != nil || !f(&t, r.now()) {
			return t, false, err
		}
		if kept, err := r.keep(ctx, &t); kept || err != nil {
			return t, kept, err
		}
	}
}

// keep stores a changed task and tells who watches it; false if it is no longer
// what it was when it was read.
func (r *Runner) keep(ctx context.Context, t *Task) (bool, error) {
	// Later than before even if the clock is not: watches go by it.
	if now := r.now(); now.After(t.UpdatedAt) {
		t.UpdatedAt = now
	} else {
		t.UpdatedAt = t.UpdatedAt.Add(time.Microsecond)
	}
	return r.swap(ctx, t)
}

func (r *Runner) swap(ctx context.Context, t *Task) (bool, error) {
	store, err := r.Store(ctx)
	if err != nil {
		return false, storeFailed(ctx, err)
	}
	kept, err := store.Swap(ctx, *t)
	if err != nil {
		return false, storeFailed(ctx, err)
	}
	if kept {
		t.Revision++
		r.notify(t)
	}
	return kept, nil
}
