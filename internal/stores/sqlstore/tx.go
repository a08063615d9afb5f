package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// runner is where SQL runs. One that is a transaction keeps what runs on it
// together, or not at all, and is used by one goroutine at a time.
type runner interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// work is what a transaction is begun for. It may be run again from the start,
// when the database has undone it, so it has no effect but on tx, and what it sets
// outside it sets anew each time.
type work func(ctx context.Context, tx runner) error

// keeper makes changes last, in the way of one engine.
type keeper interface {
	// keep runs f in one transaction, which stays if f and the commit succeed.
	keep(ctx context.Context, f work) error
	// close waits for what is under way.
	close() error
}

// change runs f in one write transaction, which stays if f and the commit succeed.
// f may be run again from the start: it has no effect but on tx. The context that it
// gets carries tx, so that what it calls reads and changes in the same transaction.
//
// If ctx carries a transaction of this database already, f runs in that one, under a
// savepoint, and stays if that one does.
//
// An error is that of f, or says what the database did: *UnknownError,
// *RefusedError and *UnreachableError are the ones to tell apart.
func (db *DB) change(ctx context.Context, f func(ctx context.Context, tx runner) error) error {
	if tx, ok := db.carried(ctx); ok {
		return step(ctx, tx, f)
	}
	return db.keeper.keep(ctx, func(ctx context.Context, tx runner) error {
		return f(context.WithValue(ctx, carrier{db}, tx), tx)
	})
}

// transact is change with an error that says what was to be done.
func (db *DB) transact(ctx context.Context, act string, f work) error {
	return doing(act, db.change(ctx, f))
}

// transacted is transact for work that gives something; the zero value if it fails.
func transacted[T any](ctx context.Context, db *DB, act string, f func(ctx context.Context, tx runner) (T, error)) (T, error) {
	var given T
	err := db.transact(ctx, act, func(ctx context.Context, tx runner) (err error) {
		given, err = f(ctx, tx)
		return err
	})
	if err != nil {
		return *new(T), err
	}
	return given, nil
}

// execAlone runs one statement in a transaction of its own.
func (db *DB) execAlone(ctx context.Context, act, query string, args ...any) error {
	return db.transact(ctx, act, func(ctx context.Context, tx runner) error { return exec(ctx, tx, query, args...) })
}

// reader is where to read: the transaction that ctx carries, or else the pool.
func (db *DB) reader(ctx context.Context) runner {
	if tx, ok := db.carried(ctx); ok {
		return tx
	}
	return db.reads
}

// carrier is the key of the transaction that a context carries, one a database.
type carrier struct{ db *DB }

func (db *DB) carried(ctx context.Context) (runner, bool) {
	tx, ok := ctx.Value(carrier{db}).(runner)
	return tx, ok
}

// step runs f as a part of tx that is undone alone if f fails.
func step(ctx context.Context, tx runner, f work) (err error) {
	// An inner savepoint hides an outer one of the same name until it is released.
	if err := exec(ctx, tx, "SAVEPOINT step"); err != nil {
		return fmt.Errorf("begin a step: %w", err)
	}
	kept := false
	defer func() { // also when f panics
		if !kept {
			err = errors.Join(err, undo(ctx, tx))
		}
	}()
	if err := f(ctx, tx); err != nil {
		return err
	}
	if err := exec(ctx, tx, "RELEASE SAVEPOINT step"); err != nil {
		return fmt.Errorf("end a step: %w", err)
	}
	kept = true
	return nil
}

// undo takes back the step, though ctx may have ended.
func undo(ctx context.Context, tx runner) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	for _, query := range []string{"ROLLBACK TO SAVEPOINT step", "RELEASE SAVEPOINT step"} {
		if err := exec(ctx, tx, query); err != nil {
			return &spoiledError{err}
		}
	}
	return nil
}

// spoiledError says that a part of a transaction could not be undone, so that
// nothing of it may stay.
type spoiledError struct{ cause error }

func (e *spoiledError) Error() string { return "undo a step: " + e.cause.Error() }
func (e *spoiledError) Unwrap() error { return e.cause }

// patience is how long the database may take for what has no deadline.
const patience = 5 * time.Second
