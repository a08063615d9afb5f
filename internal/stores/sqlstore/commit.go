package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	sqlite3 "modernc.org/sqlite/lib"
)

// mostTogether is how many operations share one commit.
const mostTogether = 256

// groupCommit is the one writer of a SQLite file: what waits while it writes shares
// the next commit, since it is the sync of a commit that takes long.
type groupCommit struct {
	pool    *sql.DB // of one connection
	queue   chan *operation
	closing context.CancelFunc
	ask     <-chan struct{} // closed when it is to end
	ended   chan struct{}   // closed when it has

	// Its goroutine's alone.
	conn *sql.Conn // nil until it is needed
	on   *statements
}

func newGroupCommit(pool *sql.DB) *groupCommit {
	ask, closing := context.WithCancel(context.Background())
	g := &groupCommit{
		pool: pool, queue: make(chan *operation, mostTogether),
		closing: closing, ask: ask.Done(), ended: make(chan struct{}),
	}
	go g.run()
	return g
}

// operation is one change that somebody waits for.
type operation struct {
	ctx   context.Context //nolint:containedctx // it is the caller's, who waits
	f     work
	since time.Time
	taken atomic.Bool // by the writer, or back by the caller
	done  chan struct{}

	// Set before done is closed.
	err      error
	panicked any
}

func (op *operation) take() bool { return op.taken.CompareAndSwap(false, true) }

func (op *operation) answer(err error) {
	op.err = err
	close(op.done)
}

// keep withdraws f if ctx ends while it waits. Once it runs, the outcome is waited
// for: a commit that many share is not broken off for one.
func (g *groupCommit) keep(ctx context.Context, f work) error {
	op := &operation{ctx: ctx, f: f, since: time.Now(), done: make(chan struct{})}
	select {
	case g.queue <- op:
	case <-ctx.Done():
		return ctx.Err()
	case <-g.ended:
		return sql.ErrConnDone
	}
	select {
	case <-op.done:
	case <-ctx.Done():
		if op.take() {
			return ctx.Err()
		}
	case <-g.ended:
		if op.take() {
			return sql.ErrConnDone
		}
	}
	<-op.done
	if op.panicked != nil {
		panic(op.panicked)
	}
	return op.err
}

// close carries out what waits.
func (g *groupCommit) close() error {
	g.closing()
	<-g.ended
	return nil
}

func (g *groupCommit) run() {
	defer close(g.ended)
	defer g.hangUp()
	for {
		select {
		case op := <-g.queue:
			if op.take() {
				g.together(op, g.next)
			}
		case <-g.ask:
			for op := g.next(0); op != nil; op = g.next(0) {
				g.together(op, g.next)
			}
			return
		}
	}
}

// next takes an operation that waits already; nil if n are enough or none waits.
func (g *groupCommit) next(n int) *operation {
	for n < mostTogether {
		select {
		case op := <-g.queue:
			if op.take() {
				return op
			}
		default:
			return nil
		}
	}
	return nil
}

func none(int) *operation { return nil }

// together runs first and what next gives in one transaction, and answers each.
func (g *groupCommit) together(first *operation, next func(n int) *operation) {
	if err := g.begin(first); err != nil {
		first.answer(err)
		return
	}
	var kept []*operation
	for op := first; op != nil; op = next(len(kept)) {
		alone := len(kept) == 0 && len(g.queue) == 0
		spoiled, err := g.perform(op, alone)
		if err == nil && op.panicked == nil {
			kept = append(kept, op)
			continue
		}
		if alone || spoiled {
			g.rollback()
		}
		op.answer(refusedBySQLite(err))
		if spoiled { // and with it those before, who did nothing wrong
			for _, op := range kept {
				g.together(op, none)
			}
		}
		if alone || spoiled {
			return
		}
	}
	err := g.commit()
	for _, op := range kept {
		op.answer(err)
	}
}

// perform runs one operation in the transaction, under a savepoint if it is not
// alone. spoiled tells that all of the transaction has to be undone.
func (g *groupCommit) perform(op *operation, alone bool) (spoiled bool, err error) {
	if err := op.ctx.Err(); err != nil {
		return false, err
	}
	tx := &sqliteTx{on: g.on}
	defer func() {
		tx.ended.Store(true)
		if op.panicked = recover(); op.panicked != nil {
			err = errors.New("it panicked")
		}
		spoiled = tx.spoiled != nil || is[*spoiledError](err)
	}()
	if alone {
		err = op.f(op.ctx, tx)
	} else {
		err = step(op.ctx, tx, op.f)
	}
	if err == nil {
		err = tx.spoiled
	}
	return false, err
}

// begin waits for the lock of the file as long as first may wait.
func (g *groupCommit) begin(first *operation) error {
	if err := g.connect(); err != nil {
		return fmt.Errorf("connect: %w", refusedBySQLite(err))
	}
	for {
		_, err := g.on.ExecContext(context.Background(), "BEGIN IMMEDIATE")
		switch {
		case err == nil:
			return nil
		case !isBusy(err):
			g.hangUp()
			return fmt.Errorf("begin: %w", refusedBySQLite(err))
		case first.ctx.Err() != nil:
			return first.ctx.Err()
		case time.Since(first.since) > patience:
			return fmt.Errorf("begin: %w", explain(err))
		}
	}
}

// connect makes the connection, if there is none. It waits for a lock no longer than
// it takes to notice that a caller has gone.
func (g *groupCommit) connect() error {
	if g.conn != nil {
		return nil
	}
	conn, err := g.pool.Conn(context.Background())
	if err != nil {
		return err
	}
	g.conn, g.on = conn, newStatements(conn)
	_, err = g.conn.ExecContext(context.Background(), "PRAGMA busy_timeout = 50")
	if err != nil {
		g.hangUp()
	}
	return err
}

func (g *groupCommit) commit() error {
	_, err := g.on.ExecContext(context.Background(), "COMMIT")
	if err == nil {
		return nil
	}
	g.rollback()
	err = fmt.Errorf("commit: %w", err)
	if errorCode(err) == sqlite3.SQLITE_IOERR {
		return &UnknownError{err} // the log may hold what could not be synced
	}
	return refusedBySQLite(err)
}

// rollback undoes the transaction. SQLite may have done so itself, so the
// connection is as it was before, or it is given up.
func (g *groupCommit) rollback() {
	_, _ = g.on.ExecContext(context.Background(), "ROLLBACK") // there may be nothing left to undo
	if _, err := g.on.ExecContext(context.Background(), "BEGIN"); err == nil {
		_, err = g.on.ExecContext(context.Background(), "ROLLBACK")
		if err == nil {
			return
		}
	}
	g.hangUp()
}

// hangUp gives up the connection; the next begin makes another.
func (g *groupCommit) hangUp() {
	if g.conn == nil {
		return
	}
	// What fails here concerns nobody: SQLite undoes what was not committed.
	_ = g.conn.Raw(func(any) error { return driver.ErrBadConn })
	_ = g.conn.Close()
	g.conn, g.on = nil, nil
}

// sqliteTx is one operation's part of the writer's transaction.
type sqliteTx struct {
	on      runner
	ended   atomic.Bool
	spoiled error // what may have undone the transaction; nothing may run after it
}

// usable gives the context to run with: SQLite would undo the whole transaction,
// with what others did in it, if a statement were interrupted.
func (t *sqliteTx) usable(ctx context.Context) (context.Context, error) {
	switch {
	case t.ended.Load():
		return nil, sql.ErrTxDone
	case t.spoiled != nil:
		return nil, t.spoiled
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	return context.WithoutCancel(ctx), nil
}

func (t *sqliteTx) note(err error) {
	if t.spoiled == nil && spoils(err) {
		t.spoiled = err
	}
}

func (t *sqliteTx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	ctx, err := t.usable(ctx)
	if err != nil {
		return nil, err
	}
	result, err := t.on.ExecContext(ctx, query, args...)
	t.note(err)
	return result, err
}

func (t *sqliteTx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	ctx, err := t.usable(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := t.on.QueryContext(ctx, query, args...)
	t.note(err)
	return rows, err
}
