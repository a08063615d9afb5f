package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

func (s *postgresServer) attempt(ctx context.Context, f work) error {
	conn, err := s.pool.Conn(ctx)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	// Returns it to the pool, which drops connections that are inside a transaction.
	defer func() { _ = conn.Close() }()
	tx := &postgresTx{conn: conn}
	committing := false
	defer func() { // also when f panics
		if tx.begun && !committing {
			rollback(ctx, conn)
		}
	}()
	if err := f(ctx, tx); err != nil {
		return err
	}
	if err := tx.commitable(ctx); err != nil {
		return err
	}
	committing = true
	return tx.commit(ctx)
}

// postgresTx is a transaction of one connection. It sends BEGIN together with the first statement,
// and the last statements together with COMMIT: each round trip that it saves is a time in which
// other transactions wait for the rows that it has locked.
type postgresTx struct {
	conn  *sql.Conn
	begun bool
	last  pgx.Batch // see atCommit
}

const begin = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"

func (tx *postgresTx) ExecContext(ctx context.Context, query string, args ...any) (result sql.Result, err error) {
	if tx.begun {
		return tx.conn.ExecContext(ctx, query, args...)
	}
	err = tx.begin(ctx, query, args, func(results pgx.BatchResults) error {
		tag, err := results.Exec()
		result = driver.RowsAffected(tag.RowsAffected())
		return err
	})
	return result, err
}

func (tx *postgresTx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if !tx.begun {
		if _, err := tx.conn.ExecContext(ctx, begin); err != nil {
			return nil, fmt.Errorf("begin: %w", err)
		}
		tx.begun = true
	}
	return tx.conn.QueryContext(ctx, query, args...)
}

// begin sends BEGIN and the first statement, whose result it passes to read.
func (tx *postgresTx) begin(ctx context.Context, query string, args []any, read func(pgx.BatchResults) error) error {
	tx.begun = true
	return tx.conn.Raw(func(c any) (err error) {
		var batch pgx.Batch
		batch.Queue(begin)
		batch.Queue(query, args...)
		results := c.(*stdlib.Conn).Conn().SendBatch(ctx, &batch)
		defer func() { err = cmp.Or(err, results.Close()) }()
		if _, err := results.Exec(); err != nil {
			return fmt.Errorf("begin: %w", err)
		}
		return read(results)
	})
}

// beginWith runs the first statement of a transaction, and scans the row that it returns. In
// PostgreSQL the driver scans that row itself, which it can do for numbers.
func beginWith(ctx context.Context, tx runner, query string, dest []any, args ...any) error {
	if tx, ok := tx.(*postgresTx); ok && !tx.begun {
		return tx.begin(ctx, query, args, func(results pgx.BatchResults) error { return results.QueryRow().Scan(dest...) })
	}
	_, err := findOne(ctx, tx, query, into(dest...), args...)
	return err
}

// atCommit runs a statement with the commit. If it fails, nothing is committed.
func (tx *postgresTx) atCommit(query string, args ...any) { tx.last.Queue(query, args...) }

// commitable returns an error if the transaction has failed. In that case COMMIT would report
// success, and roll everything back.
func (tx *postgresTx) commitable(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return tx.conn.Raw(func(c any) error {
		server := c.(*stdlib.Conn).Conn().PgConn()
		switch {
		case server.IsClosed():
			return driver.ErrBadConn
		case server.TxStatus() == 'E':
			return errors.New("commit: a statement of the transaction failed")
		}
		return nil
	})
}

// commit waits for the outcome even if ctx is canceled meanwhile, but not long after the deadline
// of ctx. Only an error from the server proves that the change was not stored: the driver reports
// "bad connection" also after COMMIT was sent.
func (tx *postgresTx) commit(ctx context.Context) error {
	end := time.Now().Add(silentTimeout)
	if deadline, ok := ctx.Deadline(); ok && deadline.After(end) {
		end = deadline
	}
	ctx, cancel := context.WithDeadline(context.WithoutCancel(ctx), end)
	defer cancel()
	err := tx.sendCommit(ctx)
	if err == nil {
		return nil
	}
	err = fmt.Errorf("commit: %w", err)
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok && refused.SeverityUnlocalized == "ERROR" {
		return err
	}
	return &CommitUnknownError{err}
}

// sendCommit sends the last statements and COMMIT. The server runs none after one that fails.
func (tx *postgresTx) sendCommit(ctx context.Context) error {
	if tx.last.Len() == 0 {
		_, err := tx.conn.ExecContext(ctx, "COMMIT")
		return err
	}
	tx.atCommit("COMMIT")
	return tx.conn.Raw(func(c any) error { return c.(*stdlib.Conn).Conn().SendBatch(ctx, &tx.last).Close() })
}

func rollback(ctx context.Context, conn *sql.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), defaultTimeout)
	defer cancel()
	_, _ = conn.ExecContext(ctx, "ROLLBACK") // if it fails, the pool drops the connection
}
