package app

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"remit/internal/engine/audit"
	"remit/internal/stores/sqlstore"
)

// The stored data is checked soon after the start, as far as that is quick, and then completely
// once a day; more often while it is damaged, because it may be repaired.
const (
	damageDelay    = time.Second // not during the start
	damageInterval = 24 * time.Hour
	damageRetry    = time.Minute
)

// damage is what the last check of the stored data found.
type damage struct {
	database atomic.Pointer[sqlstore.DamagedError]
	audit    atomic.Pointer[audit.BrokenError]
}

// watchDamage checks the stored data until ctx ends.
func (a *App) watchDamage(ctx context.Context) {
	timer := time.NewTimer(damageDelay)
	defer timer.Stop()
	for quick := true; ; quick = false {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		a.checkDamage(ctx, quick)
		a.purgeTrash(ctx)
		next := damageInterval
		if a.damage.database.Load() != nil || a.damage.audit.Load() != nil {
			next = damageRetry
		}
		timer.Reset(next)
	}
}

// checkDamage checks the tables and the audit records, and remembers what it finds.
func (a *App) checkDamage(ctx context.Context, quick bool) {
	if err := a.findDamage(ctx, quick); ctx.Err() == nil {
		damaged, found := errors.AsType[*sqlstore.DamagedError](err)
		if found {
			a.log.Error("the database is damaged; "+fixDamaged, "error", damaged)
		}
		a.damage.database.Store(damaged)
	}
	if err := a.findBroken(ctx, quick); ctx.Err() == nil {
		broken, found := errors.AsType[*audit.BrokenError](err)
		if found {
			a.log.Error("the audit log is broken; keep the files unchanged for an investigation", "error", broken)
		}
		a.damage.audit.Store(broken)
	}
}

// purgeTrash removes deleted tasks that are too old to be restored.
func (a *App) purgeTrash(ctx context.Context) {
	if a.settings.ReadOnly || !a.database.exists() {
		return
	}
	db, err := a.database.open(ctx)
	if err != nil {
		return // every call that needs it says so
	}
	if err := db.Tasks().Purge(ctx); err != nil && ctx.Err() == nil {
		a.log.Warn("old deleted tasks cannot be removed", "error", err)
	}
}

// findDamage checks the tables of a SQLite database.
func (a *App) findDamage(ctx context.Context, quick bool) error {
	if a.database.isShared() || !a.database.exists() {
		return nil
	}
	db, err := a.database.open(ctx)
	if err != nil {
		return err // every call that needs it says so
	}
	if quick {
		limited, cancel := context.WithTimeout(ctx, quickLimit)
		defer cancel()
		ctx = limited
	}
	_, _, err = db.CheckFile(ctx, false)
	return err
}

// findBroken verifies the chain of audit records in files. Those of a shared database are left to
// "remit audit verify", because each replica would read them.
func (a *App) findBroken(ctx context.Context, quick bool) error {
	if a.database.isShared() {
		return nil
	}
	days, err := a.storage.audit.Days(ctx)
	if err != nil || sizeOf(days) > maxVerify && quick {
		return nil //nolint:nilerr // the check of the data folder reports it
	}
	_, err = audit.Verify(ctx, a.storage.audit)
	return err
}

// databaseHealth returns an error if the database does not answer or is damaged.
func (a *App) databaseHealth(ctx context.Context) error {
	if err := a.database.ping(ctx); err != nil {
		return err
	}
	if damaged := a.damage.database.Load(); damaged != nil {
		return damaged
	}
	return nil
}

// auditHealth returns an error if no record can be stored, or records are missing.
func (a *App) auditHealth(ctx context.Context) error {
	if err := a.options.Audit.Ready(time.Now()); err != nil {
		return err
	}
	if broken := a.damage.audit.Load(); broken != nil {
		return broken
	}
	if a.database.isShared() {
		return nil
	}
	return a.CheckTip(ctx)
}
