package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"remit/internal/engine/audit"
	"remit/internal/frontends/cli"
	"remit/internal/stores/sqlstore"
)

// ownerPattern matches what identifies a process in records.
var ownerPattern = regexp.MustCompile(`^[A-Z0-9]{1,64}$`)

// announce lists the processes whose calls are open in the imported records as processes that have
// ended. So the next start finds out what these calls have changed, and records it.
func (t *importTarget) announce(ctx context.Context) error {
	data := t.app.settings.Data
	var records audit.Reader = audit.Folder{FS: os.DirFS(t.place(filepath.Join(data, "audit")))}
	if t.app.database.isShared() {
		records = sqlstore.Source(func(context.Context) (*sqlstore.DB, error) { return t.db, nil }).RecordReader()
	}
	var ledger audit.Ledger
	if err := ledger.ReadAll(ctx, records); err != nil {
		return fmt.Errorf("read the imported records: %w", err)
	}
	// A record is never in the file of an earlier day than its own.
	first := map[string]string{}
	for _, call := range ledger.Open() {
		day := call.Time.UTC().Format(time.DateOnly)
		if old, known := first[call.Owner]; ownerPattern.MatchString(call.Owner) && (!known || day < old) {
			first[call.Owner] = day
		}
	}
	for owner, day := range first {
		settled := []audit.Place{{Day: day}}
		if t.app.database.isShared() {
			if err := t.into.Announce(ctx, owner, settled); err != nil {
				return err
			}
			continue
		}
		text, err := json.Marshal(announcerLine{settled})
		if err == nil {
			err = writeFile(t.place(filepath.Join(data, announcedFolder, owner)), 0o600, bytes.NewReader(append(text, '\n')))
		}
		if err != nil && !errors.Is(err, fs.ErrExist) { // an earlier attempt may have written it
			return fmt.Errorf("note whose changes are open: %w", err)
		}
	}
	return nil
}

// settleRestored records what the calls have changed that ran at the moment of the backup.
func settleRestored(ctx context.Context, s cli.Settings, log *slog.Logger) error {
	a, err := Open(ctx, s, log)
	if err != nil {
		return err
	}
	return errors.Join(a.storage.sweep(ctx), a.announced.settle(ctx), a.Close())
}
