package sqlstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"remit/internal/contract/jsontree"
	"remit/internal/engine/audit"
)

// FileRecords stores the audit records of a process that uses a SQLite file. The chain is in files,
// so a row of the outbox is moved in two steps: its record is stored in the chain, and then the row
// is deleted. Only the process that owns a row moves it. If that process has ended, another takes
// the row over, and looks first whether the chain has the record already.
type FileRecords struct {
	audit.Storage              // the chain
	Chain         audit.Reader // reads the chain
	Outbox        *Outbox
	Open          Source
	// Exists reports whether there is a database. If there is none, it is not created.
	Exists func() bool
	// IsOurs reports whether the rows of an owner belong to this chain, and whether the process has
	// ended.
	IsOurs func(owner string) (ours, ended bool)
	// Flush writes what the chain has queued, and Sync makes the records of a day durable.
	Flush func()
	Sync  func(day string) error

	sweeping sync.Mutex
}

// Replace implements audit.Storage.
func (r *FileRecords) Replace(day string, record []byte, call string) error {
	if !r.Outbox.queue(call) {
		return nil // the row was moved as it is, because the call took long
	}
	err := r.Storage.Replace(day, record, call)
	if err != nil {
		r.Outbox.forget([]string{call})
	}
	return err
}

const deleteListed = `DELETE FROM outbox WHERE call IN (SELECT value FROM json_each($1))`

// Replaced deletes the rows whose records are in the chain. It leaves rows whose records could not
// be stored to the next sweep.
func (r *FileRecords) Replaced(stored, failed []string) {
	ctx, cancel := withTimeout(context.Background())
	defer cancel()
	if len(stored) > 0 {
		_ = r.delete(ctx, stored) // the next sweep finds the records in the chain, and tries again
	}
	r.Outbox.forget(slices.Concat(stored, failed))
}

func (r *FileRecords) delete(ctx context.Context, calls []string) error {
	list, err := json.Marshal(calls)
	if err != nil {
		return err
	}
	db, err := r.Open(ctx)
	if err != nil {
		return err
	}
	return db.execAlone(ctx, "delete rows of the outbox", deleteListed, string(list))
}

// fileRow is a row of the outbox.
type fileRow struct {
	id          int64
	call, owner string
	body        []byte
}

const listRows = `SELECT id, call, owner, body FROM outbox WHERE id > $1 ORDER BY id LIMIT $2`

func scanRow(row scanner) (f fileRow, err error) {
	err = row.Scan(&f.id, &f.call, &f.owner, &f.body)
	return f, err
}

// Sweep moves the rows to the chain, as they are, that their process has left behind.
func (r *FileRecords) Sweep(ctx context.Context) error {
	_, err := r.sweep(ctx, outboxLease)
	return err
}

// sweep moves the rows of processes that have ended, and those of this process that are as old as
// lease. It returns the calls of which other processes that run have rows.
func (r *FileRecords) sweep(ctx context.Context, lease time.Duration) (others map[string]bool, err error) {
	if !r.Exists() {
		return nil, nil
	}
	r.sweeping.Lock()
	defer r.sweeping.Unlock()
	db, err := r.Open(ctx)
	if err != nil {
		return nil, err
	}
	others = map[string]bool{}
	for last, full := int64(0), true; full && err == nil; {
		var rows []fileRow
		if rows, err = collect(ctx, db.reads, listRows, scanRow, last, maxRows); err != nil {
			break
		}
		if full = len(rows) == maxRows; len(rows) > 0 {
			last = rows[len(rows)-1].id
		}
		if rows, err = r.takeOver(ctx, db, rows, lease, others); err == nil {
			err = r.move(ctx, rows)
		}
	}
	if err == nil {
		r.Outbox.prune(lease)
	}
	return others, wrap("move the outbox to the audit records", err)
}

const setOwner = `UPDATE outbox SET owner = $2 WHERE owner = $1`

// takeOver returns the rows that this process may move: its own, and those of processes that have
// ended, whose owner it becomes, so that no other process moves them as well. It adds the calls of
// processes that run to others.
func (r *FileRecords) takeOver(
	ctx context.Context, db *DB, rows []fileRow, lease time.Duration, others map[string]bool,
) (ours []fileRow, err error) {
	state := map[string]ownerState{r.Outbox.Owner: isUs}
	for _, row := range rows {
		if _, known := state[row.owner]; !known {
			if state[row.owner], err = r.examine(ctx, db, row.owner); err != nil {
				return nil, err
			}
		}
		switch s := state[row.owner]; {
		case s == isUs && r.Outbox.take(row.call, lease), s == takenOver:
			ours = append(ours, row)
		case s == runs:
			others[row.call] = true
		}
	}
	return ours, nil
}

// ownerState says what a process may do with the rows of an owner.
type ownerState int

const (
	foreign   ownerState = iota // they belong to another chain, or to another process by now
	runs                        // the owner moves them itself
	takenOver                   // they belong to this process now
	isUs                        // they have always belonged to this process
)

func (r *FileRecords) examine(ctx context.Context, db *DB, owner string) (ownerState, error) {
	ours, ended := r.IsOurs(owner)
	switch {
	case !ours:
		return foreign, nil
	case !ended:
		return runs, nil
	}
	if won, err := r.become(ctx, db, owner); err != nil || !won {
		return foreign, err
	}
	return takenOver, nil
}

// become makes this process the owner of the rows of another one. It returns false if a third
// process was faster.
func (r *FileRecords) become(ctx context.Context, db *DB, owner string) (bool, error) {
	if err := r.Outbox.begin(); err != nil {
		return false, err
	}
	return transacted(ctx, db, "take over rows of the outbox", func(ctx context.Context, tx runner) (bool, error) {
		n, err := changed(tx.ExecContext(ctx, setOwner, owner, r.Outbox.Owner))
		return n > 0, err
	})
}

// move adds rows to the chain, without those that it has already, and deletes them.
func (r *FileRecords) move(ctx context.Context, rows []fileRow) error {
	if len(rows) == 0 {
		return nil
	}
	missing, err := r.missing(ctx, rows)
	if err != nil {
		return fmt.Errorf("look for the records: %w", err)
	}
	var waits []func(context.Context) error
	var calls []string
	for _, row := range rows {
		calls = append(calls, row.call)
		if !missing[row.call] {
			continue
		}
		wait, err := r.Append(audit.DayOf(row.body), row.body, true)
		if err != nil {
			return err
		}
		waits = append(waits, wait)
	}
	for _, wait := range waits {
		err = errors.Join(err, wait(context.WithoutCancel(ctx)))
	}
	if err != nil {
		return err
	}
	if len(waits) > 0 && r.Outbox.Moved != nil {
		r.Outbox.Moved()
	}
	return r.delete(ctx, calls)
}

// missing returns the calls of rows that the chain has no record of. A record is never in the file
// of an earlier day than its own, so that is how far it looks back.
func (r *FileRecords) missing(ctx context.Context, rows []fileRow) (map[string]bool, error) {
	missing, oldest := map[string]bool{}, audit.DayOf(rows[0].body)
	for _, row := range rows {
		missing[row.call] = true
		oldest = min(oldest, audit.DayOf(row.body))
	}
	days, err := r.Chain.Days(ctx)
	if err != nil {
		return nil, err
	}
	for _, day := range slices.Backward(days) {
		if day.Name < oldest {
			break
		}
		before := len(missing)
		if err := r.look(ctx, day.Name, missing); err != nil {
			return nil, err
		}
		if len(missing) == before {
			continue
		}
		// The process that has written them may have ended before it could sync them.
		if err := r.Sync(day.Name); err != nil {
			return nil, err
		}
	}
	return missing, nil
}

// look removes the calls from missing that a day has a record of. A record of a failure does not
// count: the outcome of its commit was unknown, and the row says that it has succeeded.
func (r *FileRecords) look(ctx context.Context, day string, missing map[string]bool) error {
	for place := int64(math.MaxInt64); len(missing) > 0; {
		lines, err := r.Chain.Before(ctx, day, place, 1000)
		if err != nil || len(lines) == 0 {
			return err
		}
		for _, line := range lines {
			call := audit.CallOf(line.Text)
			if !missing[call] {
				continue
			}
			record, err := jsontree.Parse(line.Text)
			if outcome := record.Field("outcome"); err == nil && outcome.Text == "ok" {
				delete(missing, call)
			}
		}
		place = lines[len(lines)-1].Offset
	}
	return nil
}

// Drain makes sure that all records of acknowledged calls are in the chain. It waits for other
// processes to move theirs.
func (r *FileRecords) Drain(ctx context.Context) error {
	r.Flush()
	first, err := r.sweep(ctx, outboxLease)
	if err != nil || len(first) == 0 {
		return err
	}
	return drain(ctx, func() (left bool, err error) {
		now, err := r.sweep(ctx, outboxLease)
		maps.DeleteFunc(first, func(call string, _ bool) bool { return !now[call] })
		return len(first) > 0, err
	}, func() error {
		return fmt.Errorf("another process has not moved %d audit records from the database to the files", len(first))
	})
}

// Close moves all rows of this process to the chain.
func (r *FileRecords) Close() error {
	r.Outbox.Close()
	r.Flush()
	if r.Outbox.isEmpty() {
		return nil
	}
	ctx, cancel := withTimeout(context.Background())
	defer cancel()
	_, err := r.sweep(ctx, 0)
	return err
}
