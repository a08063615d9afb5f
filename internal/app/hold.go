package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"remit/internal/engine/audit"
	"remit/internal/filelock"
	"remit/internal/stores/sqlstore"
)

// holdRecords waits until no process adds a record, and keeps it so until release is called. This
// process must not add one until then. newest is the last day of records in files.
func (a *App) holdRecords(ctx context.Context, db *sqlstore.DB) (newest string, release func() error, err error) {
	if a.database.isShared() {
		hold, err := db.HoldChain(ctx)
		if err != nil {
			return "", nil, err
		}
		return "", hold.End, nil
	}
	return holdFiles(ctx, a.storage.audit, a.recordsFolder())
}

// recordsFolder returns the path of the folder of the records.
func (a *App) recordsFolder() string { return filepath.Join(a.settings.Data, "audit") }

// holdFiles is holdRecords for records in files. While they are held, all that is in them is whole:
// the write of a batch has ended or was taken back.
func holdFiles(ctx context.Context, records audit.Reader, folder string) (newest string, release func() error, err error) {
	days, err := records.Days(ctx)
	if err != nil {
		return "", nil, err
	}
	var held []*os.File
	release = func() (err error) {
		for _, file := range held {
			err = errors.Join(err, filelock.Unlock(file), file.Close())
		}
		return err
	}
	for _, day := range days[max(0, len(days)-2):] { // at midnight, some write to the day before
		file, err := os.Open(filepath.Join(folder, audit.FileOf(day.Name)))
		if err == nil {
			err = lockWithin(ctx, file)
		}
		if err != nil {
			return "", nil, errors.Join(fmt.Errorf("wait for the audit records: %w", err), release())
		}
		held = append(held, file)
	}
	return newestOf(days), release, nil
}

func newestOf(days []audit.Day) string {
	if len(days) == 0 {
		return ""
	}
	return days[len(days)-1].Name
}

// lockWithin locks a file, unless ctx ends before. After an error the file is closed.
func lockWithin(ctx context.Context, file *os.File) error {
	locked := make(chan error, 1)
	go func() { locked <- filelock.Lock(file) }()
	select {
	case err := <-locked:
		if err != nil {
			err = errors.Join(err, file.Close())
		}
		return err
	case <-ctx.Done():
		go func() { // the wait cannot be interrupted
			<-locked
			_ = errors.Join(filelock.Unlock(file), file.Close())
		}()
		return ctx.Err()
	}
}
