package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"remit/internal/engine/audit"
	"remit/internal/engine/identity"
	"remit/internal/filelock"
	"remit/internal/frontends/cli"
)

const (
	// retentionInterval is how often a server looks for records that are too old.
	retentionInterval = time.Hour
	// maxIdle is how many days may lie between two days with records. More may be a clock that is
	// wrong, which must not drop anything.
	maxIdle = 31
)

// retained returns a reader of the records that were not dropped.
func (a *App) retained() *audit.Retained {
	return &audit.Retained{Reader: a.drained(), Valid: func(c audit.Cut) bool {
		seal, err := a.sealCut(&c)
		return err == nil && c.Seal == seal
	}}
}

// sealCut returns the seal of a cut with the key of the workspace.
func (a *App) sealCut(c *audit.Cut) (string, error) {
	key, err := a.database.key()
	if err != nil {
		return "", err
	}
	place, err := a.anchor.Place()
	parts := []string{"audit cut 1", place, c.Through, strconv.FormatInt(c.Records, 10), c.Next}
	for _, id := range slices.Sorted(maps.Keys(c.Passkeys)) {
		parts = append(parts, id, c.Passkeys[id])
	}
	return identity.Seal(key, parts...), err
}

// followRetention drops old records now and every hour until end is called, if the operator limits
// their age.
func (a *App) followRetention(ctx context.Context) (end func()) {
	if a.settings.AuditKeep == 0 {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var following sync.WaitGroup
	following.Go(func() {
		for tick := time.NewTicker(retentionInterval); ; {
			if err := a.dropRecords(ctx, time.Now()); err != nil && ctx.Err() == nil {
				a.log.Error("old audit records cannot be dropped", "error", err)
			}
			select {
			case <-ctx.Done():
				tick.Stop()
				return
			case <-tick.C:
			}
		}
	})
	return func() { cancel(); following.Wait() }
}

// dropRecords drops the records of days that are older than the operator wants. It first records
// what it drops, so that the chain stays provable. Several processes may do it at once.
func (a *App) dropRecords(ctx context.Context, now time.Time) error {
	records := a.retained()
	cut, err := records.Cut(ctx)
	if err != nil {
		return err
	}
	days, err := a.storage.audit.Days(ctx)
	if err != nil || len(days) < 2 {
		return err
	}
	var left []string // of an earlier run that did not finish
	for _, d := range days {
		if d.Name <= cut.Through {
			left = append(left, d.Name)
		}
	}
	if err := a.removeDays(ctx, left); err != nil {
		return err
	}
	check := a.recordCheck(ctx)
	next, drop, err := records.PlanCut(ctx, oldestKept(days, now, a.settings.AuditKeep), check.Check)
	if err != nil || len(drop) == 0 {
		return err
	}
	next.Passkeys = check.Recorded()
	if next.Seal, err = a.sealCut(&next); err != nil {
		return err
	}
	about, err := next.Value()
	if err != nil {
		return fmt.Errorf("encode what is dropped: %w", err)
	}
	err = a.records.Write(ctx, &audit.Record{
		Time: now, Principal: cli.LocalPrincipal, Frontend: "serve", Tool: audit.RetentionTool, Arguments: about, Outcome: "ok",
	}, true)
	if err == nil {
		err = a.removeDays(ctx, drop)
	}
	if err == nil {
		a.log.Info("audit records dropped", "through", next.Through, "days", len(drop), "records", next.Records-cut.Records)
	}
	return err
}

// oldestKept returns the first day that is kept. A clock that jumps ahead drops at most the days
// that would be too old within maxIdle days.
func oldestKept(days []audit.Day, now time.Time, keep time.Duration) string {
	newest := min(now.UTC().Format(time.DateOnly), days[len(days)-1].Name)
	if before, err := time.Parse(time.DateOnly, days[len(days)-2].Name); err == nil {
		newest = min(newest, before.AddDate(0, 0, maxIdle).Format(time.DateOnly))
	}
	at, err := time.Parse(time.DateOnly, newest)
	if err != nil {
		return ""
	}
	return at.Add(-keep).Format(time.DateOnly)
}

// removeDays removes the records of some days.
func (a *App) removeDays(ctx context.Context, days []string) error {
	if len(days) == 0 {
		return nil
	}
	if a.database.isShared() {
		return a.database.records.Drop(ctx, days)
	}
	path := a.recordsFolder()
	folder, err := os.OpenRoot(path)
	if err != nil {
		return err
	}
	for _, day := range days {
		if removeErr := folder.Remove(audit.FileOf(day)); !errors.Is(removeErr, fs.ErrNotExist) {
			err = errors.Join(err, removeErr)
		}
	}
	return errors.Join(err, folder.Close(), filelock.SyncFolder(path))
}
