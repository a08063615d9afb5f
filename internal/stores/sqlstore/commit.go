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

// maxGroup is the maximum number of operations in one commit.
const maxGroup = 256

// groupCommit is the only writer of a SQLite file. Operations that arrive while it writes share the
// next commit, because syncing a commit takes most of the time.
type groupCommit struct {
	pool    *sql.DB // with one connection
	queue   chan *operation
	closing context.CancelFunc
	ask     <-chan struct{} // closed to ask run to return
	ended   chan struct{}   // closed when run has returned
	watch   atomic.Pointer[func() error]

	// Used by the goroutine of run only.
	conn *sql.Conn // nil until first used
	on   *statements
}

func newGroupCommit(pool *sql.DB) *groupCommit {
	ask, closing := context.WithCancel(context.Background())
	g := &groupCommit{
		pool: pool, queue: make(chan *operation, maxGroup),
		closing: closing, ask: ask.Done(), ended: make(chan struct{}),
	}
	go g.run()
	return g
}

// operation is one change that a caller waits for.
type operation struct {
	ctx   context.Context //nolint:containedctx // the caller's context; the caller waits
	f     work
	since time.Time
	taken atomic.Bool // set by the writer when it starts, or by the caller when it withdraws
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

// do runs f. It withdraws f if ctx ends while f still waits in the queue. Once f runs, do waits for
// the outcome, because a shared commit is not aborted for one caller.
func (g *groupCommit) do(ctx context.Context, f work) error {
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

// close runs the operations that are still queued, then stops the writer.
func (g *groupCommit) close() error {
	g.closing()
	<-g.ended
	return nil
}

func (g *groupCommit) run() {
	defer close(g.ended)
	defer g.disconnect()
	for {
		select {
		case op := <-g.queue:
			if op.take() {
				g.runGroup(op, g.next)
			}
		case <-g.ask:
			for op := g.next(0); op != nil; op = g.next(0) {
				g.runGroup(op, g.next)
			}
			return
		}
	}
}

// next takes an operation that is already queued. It returns nil if n has reached the maximum or
// the queue is empty.
func (g *groupCommit) next(n int) *operation {
	for n < maxGroup {
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

func noNext(int) *operation { return nil }

// runGroup runs first and the operations that next returns in one transaction, and answers each of
// them.
func (g *groupCommit) runGroup(first *operation, next func(n int) *operation) {
	if err := g.begin(first); err != nil {
		first.answer(err)
		return
	}
	var kept []*operation
	for op := first; op != nil; op = next(len(kept)) {
		alone := len(kept) == 0 && len(g.queue) == 0
		aborted, err := g.perform(op, alone)
		if err == nil && op.panicked == nil {
			kept = append(kept, op)
			continue
		}
		if alone || aborted {
			g.rollback()
		}
		op.answer(refusedBySQLite(err))
		if aborted { // run the operations before it again; they did not fail
			for _, op := range kept {
				g.runGroup(op, noNext)
			}
		}
		if alone || aborted {
			return
		}
	}
	err := g.commit()
	if check := g.watch.Load(); err == nil && check != nil {
		if lost := (*check)(); lost != nil {
			err = &CommitUnknownError{lost}
		}
	}
	for _, op := range kept {
		op.answer(err)
	}
}

// perform runs one operation in the transaction, under a savepoint unless it is alone. aborted
// means that the whole transaction must be rolled back.
func (g *groupCommit) perform(op *operation, alone bool) (aborted bool, err error) {
	if err := op.ctx.Err(); err != nil {
		return false, err
	}
	tx := &sqliteTx{on: g.on}
	defer func() {
		tx.ended.Store(true)
		if op.panicked = recover(); op.panicked != nil {
			err = errors.New("operation panicked")
		}
		aborted = tx.aborted != nil || is[*abortedError](err)
	}()
	if alone {
		err = op.f(op.ctx, tx)
	} else {
		err = inSavepoint(op.ctx, tx, op.f)
	}
	if err == nil {
		err = tx.aborted
	}
	return false, err
}

// begin starts a transaction. It waits for the lock of the file for as long as first may wait.
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
			g.disconnect()
			return fmt.Errorf("begin: %w", refusedBySQLite(err))
		case first.ctx.Err() != nil:
			return first.ctx.Err()
		case time.Since(first.since) > defaultTimeout:
			return fmt.Errorf("begin: %w", explain(err))
		}
	}
}

// connect opens the connection if there is none. Its busy timeout is short, so that the writer
// notices soon when a caller has gone.
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
		g.disconnect()
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
		return &CommitUnknownError{err} // the write-ahead log may hold what could not be synced
	}
	return refusedBySQLite(err)
}

// rollback undoes the transaction. SQLite may have done so itself, so rollback checks that the
// connection is usable again, and drops it otherwise.
func (g *groupCommit) rollback() {
	_, _ = g.on.ExecContext(context.Background(), "ROLLBACK") // there may be nothing to undo
	if _, err := g.on.ExecContext(context.Background(), "BEGIN"); err == nil {
		_, err = g.on.ExecContext(context.Background(), "ROLLBACK")
		if err == nil {
			return
		}
	}
	g.disconnect()
}

// disconnect drops the connection. The next begin opens another.
func (g *groupCommit) disconnect() {
	if g.conn == nil {
		return
	}
	g.on.close()
	// Errors do not matter here: SQLite rolls back what was not committed.
	_ = g.conn.Raw(func(any) error { return driver.ErrBadConn })
	_ = g.conn.Close()
	g.conn, g.on = nil, nil
}

// sqliteTx is the part of the writer's transaction that belongs to one operation.
type sqliteTx struct {
	on      runner
	ended   atomic.Bool
	aborted error // the error that may have rolled back the transaction; nothing may run after it
}

// usable returns the context to run a statement with. The context cannot be canceled: if a
// statement were interrupted, SQLite would roll back the whole transaction, including the work of
// other operations.
func (t *sqliteTx) usable(ctx context.Context) (context.Context, error) {
	switch {
	case t.ended.Load():
		return nil, sql.ErrTxDone
	case t.aborted != nil:
		return nil, t.aborted
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	return context.WithoutCancel(ctx), nil
}

func (t *sqliteTx) recordError(err error) {
	if t.aborted == nil && abortsTransaction(err) {
		t.aborted = err
	}
}

func (t *sqliteTx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	ctx, err := t.usable(ctx)
	if err != nil {
		return nil, err
	}
	result, err := t.on.ExecContext(ctx, query, args...)
	t.recordError(err)
	return result, err
}

func (t *sqliteTx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	ctx, err := t.usable(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := t.on.QueryContext(ctx, query, args...)
	t.recordError(err)
	return rows, err
}
