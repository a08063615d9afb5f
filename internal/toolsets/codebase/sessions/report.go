package sessions

import (
	"context"
	"fmt"
	"slices"
	"time"

	"remit/internal/batchwriter"
	"remit/internal/engine"
)

// Own returns the id of a caller's session, or "" if there is none yet. The session of a caller
// without a connection may have been started by another process.
func (k *Recorder) Own(ctx context.Context, caller engine.Caller) string {
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

func (k *Recorder) known(key string) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if c := k.clients[key]; c != nil {
		return c.id
	}
	return ""
}

// Stamp changes whenever a client of this process does something that is recorded.
func (k *Recorder) Stamp() uint64 { return k.changes.Load() }

// Current returns the session of a caller with everything recorded so far, or false if there is
// none.
func (k *Recorder) Current(ctx context.Context, caller engine.Caller) (Session, bool, error) {
	store, err := k.upToDate(ctx)
	if err != nil {
		return Session{}, false, err
	}
	return store.Current(ctx, keyOf(caller), k.now(), Idle)
}

// Recent returns the most recently active sessions, the last first.
func (k *Recorder) Recent(ctx context.Context, limit int) ([]Session, error) {
	store, err := k.upToDate(ctx)
	if err != nil {
		return nil, err
	}
	return store.Recent(ctx, limit)
}

// upToDate writes pending notes as far as possible, and returns the store.
func (k *Recorder) upToDate(ctx context.Context) (Store, error) {
	flushCtx, cancel := context.WithTimeout(ctx, batchwriter.DefaultTimeout)
	defer cancel()
	// What cannot be written keeps waiting, and the writer logs the failure.
	k.writer.Flush(flushCtx)
	store, err := k.open(ctx)
	if err != nil {
		return nil, fmt.Errorf("open session store: %w", err)
	}
	return store, nil
}

// Change describes changed sessions.
type Change struct {
	Active []Session // their current state, the most recently active first
	Gone   []string  // ids of removed sessions
}

const (
	maxReported   = 100              // sessions reported at once, and as many removed ones
	checkInterval = 10 * time.Second // how often Report checks
	retryInterval = time.Second      // how soon Report checks again after a failure
	overlap       = time.Minute      // how late a session may be written and still be reported
)

// Report reports the sessions that changed since the last call, on the first call all of them,
// except the caller's own session. It is meant to be called often: it checks the store only every
// few seconds. It may report a session more than once, and it repeats what tell failed to process.
func (k *Recorder) Report(ctx context.Context, caller engine.Caller, report func(ctx context.Context, c Change) error) error {
	reported, due := k.checkDue()
	if !due {
		return nil
	}
	until, err := k.report(ctx, caller, reported.Add(-overlap), report)
	k.noteChecked(until, err)
	return err
}

func (k *Recorder) checkDue() (reported time.Time, due bool) {
	now := k.now()
	k.mu.Lock()
	defer k.mu.Unlock()
	if now.Before(k.due) {
		return k.reported, false
	}
	k.due = now.Add(checkInterval)
	return k.reported, true
}

// noteChecked records up to which activity sessions were reported, or schedules a retry after an
// error.
func (k *Recorder) noteChecked(until time.Time, err error) {
	now := k.now()
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case err != nil:
		k.due = now.Add(retryInterval)
	case until.After(k.reported):
		k.reported = until
	}
}

// report reports the sessions active since a time. It returns the activity up to which everything
// is reported.
func (k *Recorder) report(ctx context.Context, caller engine.Caller, since time.Time, report func(ctx context.Context, c Change) error) (until time.Time, err error) {
	store, err := k.upToDate(ctx)
	if err != nil {
		return until, err
	}
	active, err := store.Recent(ctx, maxReported)
	if err != nil {
		return until, err
	}
	gone, err := store.Pruned(ctx, maxReported)
	if err != nil {
		return until, err
	}
	own := k.Own(ctx, caller) // only now: it may have been written, and named, a moment ago
	until = reportedUntil(active, own, k.now())
	active = slices.DeleteFunc(active, func(s Session) bool { return s.ID == own || s.Last.Before(since) })
	if len(active)+len(gone) == 0 {
		return until, nil
	}
	if err := report(ctx, Change{Active: active, Gone: gone}); err != nil {
		return until, err
	}
	return until, store.Forget(ctx, gone)
}

// reportedUntil returns the activity up to which everything is reported once these sessions are. It
// excludes the caller's own session, which must be reported to others later. The clock of another
// machine that is ahead delays nothing.
func reportedUntil(active []Session, own string, now time.Time) (until time.Time) {
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
