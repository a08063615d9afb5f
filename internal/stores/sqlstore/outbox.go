package sqlstore

import (
	"context"
	"fmt"
	"sync"
	"time"

	"remit/internal/engine/audit"
)

// Outbox is the part of a process in the outbox of a database. A transaction that makes a change
// for a call adds the audit record of the call to the outbox, so that neither exists without the
// other. Soon after that the record is moved to the chain.
type Outbox struct {
	// Owner identifies the process in the rows that it adds.
	Owner string
	// Begin is called before the process adds its first row; nil: nothing is to do.
	Begin func() error
	// Sweep moves rows to the chain that their process has left behind. It is called when the
	// database was opened, and later whenever rows of this process may have become old.
	Sweep func(context.Context)
	// Moved, if not nil, is called when rows were moved to the files of the chain as they are.
	Moved func()

	mu    sync.Mutex
	begun bool
	// rows holds the rows of this process that are not known to be moved, by call. Only a SQLite
	// file needs it: PostgreSQL moves a row in one transaction, so the row itself is enough.
	rows   map[string]*outboxRow
	newest time.Time // when a row was last added
	timer  *time.Timer
	closed bool
	sweeps sync.WaitGroup
}

// outboxRow is the state of a row that this process has added, or tried to add.
type outboxRow struct {
	added time.Time
	// queued means that the complete record is queued for the chain.
	queued bool
}

// outboxLease is the age at which a row is moved to the chain as it is: its process has ended, or
// its call has failed after the commit, or the outcome of the commit was unknown.
const outboxLease = 20 * time.Second

const addOutbox = `
INSERT INTO outbox (call, owner, body) VALUES ($1, $2, $3)
ON CONFLICT (call) DO NOTHING`

const addManyOutbox = `
INSERT INTO outbox (call, owner, body) SELECT * FROM unnest($1::text[], $2::text[], $3::bytea[])
ON CONFLICT (call) DO NOTHING`

// record adds the record of the call that ctx carries, if it carries one, to the outbox. It is the
// last statement of a transaction that has changed something. A change that nobody has asked for
// has no record.
func (db *DB) record(ctx context.Context, tx runner) error {
	if effect := audit.EffectFrom(ctx); effect != nil {
		return db.recordAll(ctx, tx, effect)
	}
	return nil
}

// recordAll adds the records of calls whose changes are in one transaction.
func (db *DB) recordAll(ctx context.Context, tx runner, effects ...*audit.Effect) error {
	if len(effects) == 0 {
		return nil
	}
	if err := db.outbox.begin(); err != nil {
		return fmt.Errorf("begin to record: %w", err)
	}
	rows := make([][]any, len(effects))
	for i, effect := range effects {
		rows[i] = []any{effect.Call, db.outbox.Owner, effect.OutboxRecord()}
		db.outbox.add(effect.Call, !db.shared)
	}
	if tx, ok := tx.(*postgresTx); ok {
		tx.atCommit(addManyOutbox, columnsOf(rows)...)
		return nil
	}
	return wrap("record", db.putRows(ctx, tx, addOutbox, addManyOutbox, rows))
}

// UseOutbox sets the process that adds rows. It must be called before anything else.
func (db *DB) UseOutbox(o *Outbox) {
	db.outbox = o
	o.schedule(0)
}

func (o *Outbox) begin() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.begun || o.Begin == nil {
		return nil
	}
	err := o.Begin()
	o.begun = err == nil
	return err
}

// add notes that a transaction was started that adds a row.
func (o *Outbox) add(call string, track bool) {
	now := time.Now()
	o.mu.Lock()
	o.newest = now
	if track && o.rows[call] == nil { // a transaction may run again
		if o.rows == nil {
			o.rows = map[string]*outboxRow{}
		}
		o.rows[call] = &outboxRow{added: now}
	}
	o.mu.Unlock()
	o.schedule(outboxLease)
}

// queue notes that the complete record of a call is queued for the chain. It returns false if the
// row was moved already, so that the record must be dropped.
func (o *Outbox) queue(call string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	row := o.rows[call]
	if row == nil || row.queued {
		return false
	}
	row.queued = true
	return true
}

// forget removes calls whose rows are moved, or are left to the next sweep.
func (o *Outbox) forget(calls []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, call := range calls {
		delete(o.rows, call)
	}
}

// take reports whether a sweep may move the row of a call, and makes sure that nothing else does. A
// row is left alone while its call runs, unless it is as old as lease.
func (o *Outbox) take(call string, lease time.Duration) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	row := o.rows[call]
	if row != nil && (row.queued || time.Since(row.added) < lease) {
		return false
	}
	delete(o.rows, call)
	return true
}

// prune forgets calls that are as old as lease and whose complete record is not queued: after a
// sweep they have no row.
func (o *Outbox) prune(lease time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for call, row := range o.rows {
		if !row.queued && time.Since(row.added) >= lease {
			delete(o.rows, call)
		}
	}
}

// isEmpty reports whether all rows of this process are known to be moved.
func (o *Outbox) isEmpty() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.rows) == 0
}

// schedule makes sure that a sweep runs after a time at the latest.
func (o *Outbox) schedule(after time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.Sweep == nil || o.closed || o.timer != nil {
		return
	}
	o.sweeps.Add(1)
	o.timer = time.AfterFunc(after, func() {
		defer o.sweeps.Done()
		o.mu.Lock()
		o.timer = nil
		o.mu.Unlock()
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		o.Sweep(ctx)
		o.mu.Lock()
		again := len(o.rows) > 0 || time.Since(o.newest) < outboxLease
		o.mu.Unlock()
		if again {
			o.schedule(outboxLease)
		}
	})
}

// Close waits for a sweep that runs, and starts no more.
func (o *Outbox) Close() {
	o.mu.Lock()
	o.closed = true
	if o.timer != nil && o.timer.Stop() {
		o.sweeps.Done()
	}
	o.mu.Unlock()
	o.sweeps.Wait()
}
