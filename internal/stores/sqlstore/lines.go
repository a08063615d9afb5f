package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"remit/internal/batchwriter"
)

// Source gives a database, which it opens when that is first asked for. What is kept
// for all who share a database of PostgreSQL comes from one: a program starts, and goes
// on, while the database cannot be reached.
type Source func(ctx context.Context) (*DB, error)

// A log is a row that counts, and a row for each entry. Whoever has locked the row
// that counts may append; entries that were appended never change. The table knows
// the number of an entry's first line: one of text may have several.

const lockLog = `SELECT lines, bytes, tip FROM logs WHERE log = $1 FOR UPDATE`

const startLog = `
INSERT INTO logs (log, lines, bytes, changed_at) VALUES ($1, 0, 0, $2)
ON CONFLICT (log) DO NOTHING`

const addEntries = `
INSERT INTO log_lines (log, line, body)
SELECT * FROM unnest($1::text[], $2::bigint[], $3::bytea[])`

// A change is seen by its time, so no two have the same.
const countEntries = `
UPDATE logs SET lines = $2, bytes = $3, changed_at = greatest(changed_at + 1, $4), tip = $5
WHERE log = $1`

// logCount is what a log holds.
type logCount struct {
	lines int64
	bytes int64  // with a newline for each line
	tip   []byte // what the next entry builds on, if it builds on any
}

// lockCount gives the calling transaction a log for itself, and tells whether that is new.
func lockCount(ctx context.Context, tx runner, log string, now time.Time) (count logCount, isNew bool, err error) {
	read := func() error {
		return tx.QueryRowContext(ctx, lockLog, log).Scan(&count.lines, &count.bytes, &count.tip)
	}
	if err = read(); !errors.Is(err, sql.ErrNoRows) {
		return count, false, err
	}
	if isNew, err = changesOne(tx.ExecContext(ctx, startLog, log, micros(now))); err != nil {
		return count, false, fmt.Errorf("start a log: %w", err)
	}
	return count, isNew, read()
}

// addLines adds rows, which are the log, the number and the body of an entry each.
func addLines(ctx context.Context, tx runner, rows [][]any) error {
	if err := exec(ctx, tx, addEntries, columnsOf(rows)...); err != nil {
		return fmt.Errorf("add entries: %w", err)
	}
	return nil
}

// keepCount writes what a log holds now.
func keepCount(ctx context.Context, tx runner, log string, count logCount, now time.Time) error {
	if err := exec(ctx, tx, countEntries, log, count.lines, count.bytes, micros(now), count.tip); err != nil {
		return fmt.Errorf("count entries: %w", err)
	}
	return nil
}

// ErrClosed is what an entry fails with when its log was closed before.
var ErrClosed = batchwriter.ErrClosed

// mostWaiting is how many entries may wait for which nobody waits, while the database is slow.
const mostWaiting = 1 << 16

// newQueue gathers what many append, and has it stored in that order, a batch a transaction. store keeps a batch, all of it
// or nothing, and gives each entry its place: the number of its first line, and its size with its newline.
func newQueue(store func(ctx context.Context, batch []*batchwriter.Line) error, lost func(error)) *batchwriter.Lines {
	q := &batchwriter.Lines{Limit: mostWaiting, Lost: lost}
	q.Write = func(take func() []*batchwriter.Line) error {
		batch := take()
		if len(batch) == 0 {
			return nil
		}
		// Whoever waits for it waits on: only its end tells whether it was kept.
		ctx, cancel := withPatience(context.Background())
		defer cancel()
		err := store(ctx, batch)
		rest := err != nil && q.Closed()
		for rest { // nobody waits for the end to try the rest, batch by batch
			rest = len(take()) > 0
		}
		return err
	}
	return q
}

// logInfo describes a log as if it were a file.
type logInfo struct {
	name    string
	size    int64
	changed time.Time
}

var _ fs.FileInfo = logInfo{}

func (i logInfo) Name() string       { return i.name }
func (i logInfo) Size() int64        { return i.size }
func (i logInfo) Mode() fs.FileMode  { return 0o400 }
func (i logInfo) ModTime() time.Time { return i.changed }
func (i logInfo) IsDir() bool        { return false }
func (i logInfo) Sys() any           { return nil }
