package sqlstore

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"remit/internal/engine/audit"
)

// In PostgreSQL a row is deleted in the transaction that adds its record to the chain. So any
// process may move any row, and each row is moved once.

const deleteRows = `DELETE FROM outbox WHERE call = ANY($1::text[]) RETURNING call`

// replaceRows deletes the rows whose place the entries of a batch take. It leaves out entries whose
// row is gone, because another process has moved it to the chain.
func replaceRows(ctx context.Context, tx runner, batch []*entry) ([]*entry, error) {
	var calls []string
	for _, e := range batch {
		if e.call != "" {
			calls = append(calls, e.call)
		}
	}
	if len(calls) == 0 {
		return batch, nil
	}
	deleted, err := collect(ctx, tx, deleteRows, scanValue[string], calls)
	if err != nil {
		return nil, fmt.Errorf("delete rows of the outbox: %w", err)
	}
	there := map[string]bool{}
	for _, call := range deleted {
		there[call] = true
	}
	kept := make([]*entry, 0, len(batch))
	for _, e := range batch {
		if e.call == "" || there[e.call] {
			kept = append(kept, e)
		}
	}
	return kept, nil
}

// Rows are never selected by "id > the last one", because transactions do not commit in the order
// of their ids.
const takeRows = `
DELETE FROM outbox WHERE id IN (
	SELECT id FROM outbox
	WHERE id <= $1 AND added_at <= (extract(epoch FROM clock_timestamp()) * 1000000)::bigint - $2::bigint
	ORDER BY id LIMIT $3 FOR UPDATE SKIP LOCKED)
RETURNING id, body`

// maxRows is the maximum number of rows that one transaction moves.
const maxRows = 500

// Sweep moves the rows to the chain, as they are, that their process has left behind.
func (r *Records) Sweep(ctx context.Context) error { return r.sweep(ctx, math.MaxInt64, outboxLease) }

// sweep moves all rows up to an id that have an age.
func (r *Records) sweep(ctx context.Context, upTo int64, age time.Duration) error {
	db, err := r.source(ctx)
	if err != nil {
		return err
	}
	for moved := maxRows; moved == maxRows && err == nil; {
		err = r.chain(ctx, db, func(ctx context.Context, tx runner) (batch []*entry, err error) {
			batch, err = collect(ctx, tx, takeRows, scanOutbox, upTo, age.Microseconds(), maxRows)
			slices.SortFunc(batch, func(a, b *entry) int { return cmp.Compare(a.line, b.line) })
			moved = len(batch)
			return batch, err
		})
	}
	return wrap("move the outbox to the audit records", err)
}

// scanOutbox scans a row. The line of the entry is the id of the row.
func scanOutbox(row scanner) (*entry, error) {
	e := &entry{}
	err := row.Scan(&e.line, &e.body)
	if err == nil {
		e.day = audit.DayOf(e.body)
	}
	return e, err
}

const (
	// drainTimeout is how long a reader waits for other processes to move their rows.
	drainTimeout = 2 * time.Second
	drainPause   = 5 * time.Millisecond
)

const newestRow = `SELECT coalesce(max(id), 0) FROM outbox`

const countRows = `SELECT count(*) FROM outbox WHERE id <= $1 AND owner <> $2`

// Drain makes sure that all records of acknowledged calls are in the chain. It waits for other
// processes to move theirs with the complete record, and moves the rest as it is.
func (r *Records) Drain(ctx context.Context) error {
	if err := r.queue.flush(ctx); err != nil {
		return err
	}
	db, err := r.source(ctx)
	if err != nil {
		return err
	}
	upTo, err := findOne(ctx, db.reader(ctx), newestRow, scanValue[int64])
	if err != nil || upTo == 0 {
		return wrap("read the outbox", err)
	}
	return drain(ctx, func() (left bool, err error) {
		n, err := findOne(ctx, db.reader(ctx), countRows, scanValue[int64], upTo, db.outbox.Owner)
		return n > 0, err
	}, func() error { return r.sweep(ctx, upTo, drainTimeout) })
}

// drain waits until nothing is left. If that takes longer than drainTimeout, it calls rest.
func drain(ctx context.Context, check func() (left bool, err error), rest func() error) error {
	for end := time.Now().Add(drainTimeout); ; {
		left, err := check()
		if !left || err != nil {
			return err
		}
		if time.Now().After(end) {
			return rest()
		}
		select {
		case <-time.After(drainPause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
