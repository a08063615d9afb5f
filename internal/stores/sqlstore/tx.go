package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"remit/internal/engine/audit"
)

// runner runs SQL statements. If it is a transaction, its statements take effect together or not at
// all, and only one goroutine may use it at a time.
type runner interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// querier is a pool of connections or a transaction that reads.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// work is the function that a transaction runs. It may run again from the start if the database has
// rolled it back. So it must have no effect except on tx, and must set the variables outside of it
// anew in each run.
type work func(ctx context.Context, tx runner) error

// writer commits changes, in the way of one database.
type writer interface {
	// do runs f in one transaction, which is committed if f succeeds.
	do(ctx context.Context, f work) error
	// close waits for running transactions.
	close() error
}

// change runs f in one write transaction, which is committed if f succeeds. f may run again from
// the start: it must have no effect except on tx. The context passed to f carries tx, so that
// functions called from f read and write in the same transaction.
//
// If ctx already carries a transaction of this database, f runs in that one, under a savepoint, and
// takes effect if that one is committed.
//
// The error is that of f, or describes what the database did: callers can tell apart *UnknownError,
// *RefusedError and *UnreachableError.
func (db *DB) change(ctx context.Context, f func(ctx context.Context, tx runner) error) error {
	if tx, ok := db.txFrom(ctx); ok {
		return inSavepoint(ctx, tx, f)
	}
	err := db.writer.do(ctx, func(ctx context.Context, tx runner) error {
		return f(context.WithValue(ctx, txKey{db}, tx), tx)
	})
	if err == nil {
		audit.EffectFrom(ctx).Committed()
	}
	return err
}

// transact is change with errors that are wrapped with act.
func (db *DB) transact(ctx context.Context, act string, f work) error {
	return wrap(act, db.change(ctx, f))
}

// transacted is transact for a function that returns a value. It returns the zero value on failure.
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

// reader returns the transaction that ctx carries, or the pool if it carries none.
func (db *DB) reader(ctx context.Context) runner {
	if tx, ok := db.txFrom(ctx); ok {
		return tx
	}
	return db.reads
}

// txKey is the context key of the transaction of one database.
type txKey struct{ db *DB }

func (db *DB) txFrom(ctx context.Context) (runner, bool) {
	tx, ok := ctx.Value(txKey{db}).(runner)
	return tx, ok
}

// inSavepoint runs f under a savepoint, so that only the work of f is undone if f fails.
func inSavepoint(ctx context.Context, tx runner, f work) (err error) {
	// An inner savepoint hides an outer one of the same name until it is released.
	if err := exec(ctx, tx, "SAVEPOINT step"); err != nil {
		return fmt.Errorf("begin savepoint: %w", err)
	}
	kept := false
	defer func() { // also when f panics
		if !kept {
			err = errors.Join(err, rollbackSavepoint(ctx, tx))
		}
	}()
	if err := f(ctx, savepoint{tx}); err != nil {
		return err
	}
	if err := exec(ctx, tx, "RELEASE SAVEPOINT step"); err != nil {
		return fmt.Errorf("release savepoint: %w", err)
	}
	kept = true
	return nil
}

// savepoint is a transaction since a savepoint. All its statements run at once: what is sent with
// the commit could not be undone.
type savepoint struct{ runner }

// rollbackSavepoint rolls back to the savepoint, even if ctx has ended.
func rollbackSavepoint(ctx context.Context, tx runner) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), defaultTimeout)
	defer cancel()
	for _, query := range []string{"ROLLBACK TO SAVEPOINT step", "RELEASE SAVEPOINT step"} {
		if err := exec(ctx, tx, query); err != nil {
			return &abortedError{err}
		}
	}
	return nil
}

// abortedError reports that a savepoint could not be rolled back, so the whole transaction must be.
type abortedError struct{ cause error }

func (e *abortedError) Error() string { return "roll back to savepoint: " + e.cause.Error() }
func (e *abortedError) Unwrap() error { return e.cause }

// defaultTimeout is the timeout of database operations whose context has no deadline.
const defaultTimeout = 5 * time.Second
