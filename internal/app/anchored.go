package app

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"remit/internal/engine/approval"
	"remit/internal/engine/audit"
)

// anchoredApprovals is a store in which no approval is used twice, even if the database is put
// back.
type anchoredApprovals struct {
	approval.Store
	anchor *anchor
}

// Take implements approval.Store.
func (s *anchoredApprovals) Take(ctx context.Context, key, shown string, now time.Time) (approval.Request, bool, error) {
	for {
		r, found, err := s.Store.Take(ctx, key, shown, now)
		if err != nil || !found || r.State != approval.Approved && r.State != approval.Changed {
			return r, found, err
		}
		fresh, err := s.end(&r, now)
		if err != nil || fresh {
			return r, fresh, err
		}
	}
}

// Withdraw implements approval.Store.
func (s *anchoredApprovals) Withdraw(ctx context.Context, id string, v approval.Verdict, now time.Time) (approval.Request, error) {
	r, err := s.Store.Withdraw(ctx, id, v, now)
	if err == nil {
		_, err = s.end(&r, now)
	}
	return r, err
}

// end records that an approval is of no use any more, and reports whether it was until now.
func (s *anchoredApprovals) end(r *approval.Request, now time.Time) (fresh bool, err error) {
	if fresh, err = s.anchor.use("approval "+r.ID, now, r.ExpiresAt); err != nil {
		return false, fmt.Errorf("record the end of approval %s: %w", r.ID, err)
	}
	return fresh, nil
}

// Count implements approval.RuleAnchor. The database need not be told, because it counts itself.
func (a *anchor) Count(key string, limit int, now, expires time.Time) (uses int, ok bool, err error) {
	return a.file.Count(key, limit, now, expires)
}

// Counted implements approval.RuleAnchor.
func (a *anchor) Counted(key string) (int, error) { return a.file.Counted(key) }

// EndedWith implements approval.RuleAnchor.
func (a *anchor) EndedWith(prefix string, now time.Time) ([]string, error) {
	return a.file.EndedWith(prefix, now)
}

var _ approval.RuleAnchor = (*anchor)(nil)

// anchoredRecords is a log that is not ready while the database or the data folder is in doubt, so
// that nothing is written then.
type anchoredRecords struct {
	*audit.Log
	anchor    *anchor
	tips      *tipKeeper   // nil for a shared database
	place     func() error // returns an error if the folder of the records is gone
	announced *announcements
	checked   recentCheck
}

// recentCheck is a check that is not repeated for a millisecond after it has succeeded. It takes
// several system calls, and what it looks at may be replaced right after it anyway: each store
// looks again where it has written.
type recentCheck struct {
	last atomic.Int64 // when the last check began that succeeded, since the program started
}

const checkedFor = time.Millisecond

func (r *recentCheck) run(check func() error) error {
	now := int64(time.Since(started))
	if last := r.last.Load(); last != 0 && now-last < int64(checkedFor) {
		return nil
	}
	err := check()
	if err == nil {
		r.last.Store(now)
	}
	return err
}

// Write stores one record.
func (r *anchoredRecords) Write(ctx context.Context, record *audit.Record, durable bool) error {
	begins := record.Outcome == audit.Begun
	if begins {
		if err := r.announced.begin(ctx, record); err != nil {
			return err
		}
	}
	err := r.Log.Write(ctx, record, durable)
	if !begins {
		r.announced.end(record, err)
	}
	r.tips.touch()
	if record.Call != "" { // what only reads settles nothing
		r.announced.start()
	}
	return err
}

// Ready returns an error if a record could not be stored now, or should not be.
func (r *anchoredRecords) Ready(now time.Time) error {
	if err := r.checked.run(r.check); err != nil {
		return err
	}
	return r.Log.Ready(now)
}

func (r *anchoredRecords) check() error {
	if err := r.anchor.check(context.Background()); err != nil {
		return err
	}
	return r.place()
}

// reportLost logs once a minute that audit records were lost, because no caller gets that error.
func (a *App) reportLost(err error) {
	a.announced.lose()
	at, now := a.saidLost.Load(), time.Now().UnixNano()
	if now-at < int64(time.Minute) || !a.saidLost.CompareAndSwap(at, now) {
		return
	}
	a.auditFailures.Add(1)
	if a.isDoubt(err) {
		return
	}
	a.log.Warn("audit records of reads are being lost; set --data to a writable folder, or check the database", "error", err)
}

// isDoubt reports whether records are lost because the database is in doubt. It logs that once: who
// needs the database gets an error that says more.
func (a *App) isDoubt(err error) bool {
	_, ok := errors.AsType[*doubtError](err)
	if ok && !a.saidDoubt.Swap(true) {
		a.log.Warn("nothing is recorded while the database is in doubt; \"remit doctor\" says why")
	}
	return ok
}
