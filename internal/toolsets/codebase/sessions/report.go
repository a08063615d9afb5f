package sessions

import (
	"context"
	"fmt"
	"slices"
	"time"

	"remit/internal/batchwriter"
	"remit/internal/engine"
)

// Own names the session of a caller; "" if there is none yet. Whoever has no connection may be in one of another process.
func (k *Keeper) Own(ctx context.Context, caller engine.Caller) string {
	if id := k.known(keyOf(caller)); id != "" || caller.Connection != "" {
		return id
	}
	store, err := k.open(ctx)
	if err != nil {
		return ""
	}
	session, ok, err := store.Current(ctx, keyOf(caller), k.now(), Idle)
	if err != nil || !ok {
		return ""
	}
	k.learn(keyOf(caller), session.ID)
	return session.ID
}

func (k *Keeper) known(key string) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if c := k.clients[key]; c != nil {
		return c.id
	}
	return ""
}

// Stamp changes whenever a client of this process does something that is kept.
func (k *Keeper) Stamp() uint64 { return k.changes.Load() }

// Current gives the session of a caller with all that was seen so far; false if there is none.
func (k *Keeper) Current(ctx context.Context, caller engine.Caller) (Session, bool, error) {
	store, err := k.upToDate(ctx)
	if err != nil {
		return Session{}, false, err
	}
	return store.Current(ctx, keyOf(caller), k.now(), Idle)
}

// Recent gives the sessions that were active last, the last first.
func (k *Keeper) Recent(ctx context.Context, limit int) ([]Session, error) {
	store, err := k.upToDate(ctx)
	if err != nil {
		return nil, err
	}
	return store.Recent(ctx, limit)
}

// upToDate writes down what waits, as far as that is possible now, and gives the store.
func (k *Keeper) upToDate(ctx context.Context) (Store, error) {
	patient, cancel := context.WithTimeout(ctx, batchwriter.DefaultTimeout)
	defer cancel()
	k.writer.Flush(patient) // what cannot be written waits on, and the writer tells of a failure
	store, err := k.open(ctx)
	if err != nil {
		return nil, fmt.Errorf("open the sessions: %w", err)
	}
	return store, nil
}

// Change is what became of sessions.
type Change struct {
	Active []Session // as they are now, the one that was active last first
	Gone   []string  // ids of those that are no longer kept
}

const (
	mostTold  = 100              // sessions that are told of at once, and as many that are gone
	lookEvery = 10 * time.Second // how often Tell looks
	lookSoon  = time.Second      // how soon it does after a failure
	overlap   = time.Minute      // how late a session may be written and still be told of
)

// Tell tells what became of sessions since it did so before, the first time of all that are kept, but for the caller's own session.
// It is for those who ask again and again: it looks every few seconds, tells of some sessions more than once, and once more of what
// tell failed to take in.
func (k *Keeper) Tell(ctx context.Context, caller engine.Caller, tell func(ctx context.Context, c Change) error) error {
	told, due := k.dueToLook()
	if !due {
		return nil
	}
	until, err := k.tell(ctx, caller, told.Add(-overlap), tell)
	k.looked(until, err)
	return err
}

func (k *Keeper) dueToLook() (told time.Time, due bool) {
	now := k.now()
	k.mu.Lock()
	defer k.mu.Unlock()
	if now.Before(k.due) {
		return k.told, false
	}
	k.due = now.Add(lookEvery)
	return k.told, true
}

// looked keeps until when sessions were told of, or that this is to be tried again.
func (k *Keeper) looked(until time.Time, err error) {
	now := k.now()
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case err != nil:
		k.due = now.Add(lookSoon)
	case until.After(k.told):
		k.told = until
	}
}

// tell tells of the sessions that were active since, and until when there is nothing more to tell.
func (k *Keeper) tell(ctx context.Context, caller engine.Caller, since time.Time, tell func(ctx context.Context, c Change) error) (until time.Time, err error) {
	store, err := k.upToDate(ctx)
	if err != nil {
		return until, err
	}
	active, err := store.Recent(ctx, mostTold)
	if err != nil {
		return until, err
	}
	gone, err := store.Pruned(ctx, mostTold)
	if err != nil {
		return until, err
	}
	own := k.Own(ctx, caller) // only now: it may have been written, and named, a moment ago
	until = toldUntil(active, own, k.now())
	active = slices.DeleteFunc(active, func(s Session) bool { return s.ID == own || s.Last.Before(since) })
	if len(active)+len(gone) == 0 {
		return until, nil
	}
	if err := tell(ctx, Change{Active: active, Gone: gone}); err != nil {
		return until, err
	}
	return until, store.Forget(ctx, gone)
}

// toldUntil is until when all is told once these sessions are, but for one's own, which others are to be told of later. The clock
// of another machine, which may be ahead, puts nothing off.
func toldUntil(active []Session, own string, now time.Time) (until time.Time) {
	for i := range active {
		last := active[i].Last
		if last.After(now) {
			last = now
		}
		if active[i].ID == own {
			return last
		}
		if last.After(until) {
			until = last
		}
	}
	return until
}
