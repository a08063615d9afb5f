package app

import (
	"context"
	"errors"

	"remit/internal/frontends/cli"
	"remit/internal/frontends/console"
	"remit/internal/stores/sqlstore"
)

// holdings returns how much the workspace holds. It walks no folders, because a page that is open
// asks every few seconds.
func (a *App) holdings(ctx context.Context) (h console.Holdings, err error) {
	var counts sqlstore.Counts
	if a.database.exists() {
		db, openErr := a.database.open(ctx)
		if err = openErr; err == nil {
			counts, err = db.Counts(ctx)
		}
	}
	days, auditErr := a.storage.audit.Days(ctx)
	var memory cli.MemoryReport
	err = errors.Join(err, auditErr, a.reportMemory(&memory, counts))
	h = console.Holdings{
		Tasks: counts.Tasks, Database: counts.Bytes, Records: sizeOf(days), MemoryFiles: memory.Files, MemoryBytes: memory.Bytes,
	}
	h.Free, h.All = diskSpace(a.settings.Data)
	return h, err
}
