package sqlstore

import (
	"context"
	"crypto/tls"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// maxConnections is the maximum number of connections per process. Several replicas fit into the
// hundred connections that PostgreSQL allows by default.
const maxConnections = 16

// openPostgres opens the PostgreSQL database at a URL.
func openPostgres(ctx context.Context, url string) (*DB, error) {
	pool, err := postgresPool(url)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	server := &postgresServer{pool: pool}
	db := &DB{write: pool, read: pool, reads: server, writer: server, shared: true, emptied: &server.emptied, outbox: &Outbox{}, turns: newTurns()}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := upgradePostgres(ctx, pool); err != nil {
		return nil, fmt.Errorf("open database: %w", errors.Join(plainPostgres(err), db.Close()))
	}
	if _, err := db.readClock(ctx); err != nil {
		return nil, fmt.Errorf("open database: %w", errors.Join(plainPostgres(err), db.Close()))
	}
	return db, nil
}

func postgresPool(url string) (*sql.DB, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		// The error is hidden, because it may quote a part of the password.
		return nil, &RefusedError{"the database URL is invalid; use postgres://USER:PASSWORD@HOST/DATABASE, and " +
			"write special characters as %XX", errors.New("URL not shown")}
	}
	if config.ConnectTimeout == 0 || config.ConnectTimeout > defaultTimeout {
		config.ConnectTimeout = defaultTimeout
	}
	pool := stdlib.OpenDB(*config, stdlib.OptionAfterConnect(configureConnection))
	pool.SetMaxOpenConns(maxConnections)
	pool.SetMaxIdleConns(maxConnections)
	pool.SetConnMaxIdleTime(time.Minute)
	return pool, nil
}

// These settings apply to every connection. A commit that is not synced could be lost, so
// synchronous_commit is on, whatever the server's settings say. The timeout keeps a process that
// stops inside a transaction from blocking the others. Every list is read in the order of a key; a
// bitmap scan, which a planner without statistics prefers, would read and sort a whole list for one
// page.
const connectionSettings = `
SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') NOT IN ('on', 'remote_apply')
UNION ALL SELECT set_config('idle_in_transaction_session_timeout', '30s', false)
UNION ALL SELECT set_config('enable_bitmapscan', 'off', false)`

func configureConnection(ctx context.Context, conn *pgx.Conn) error {
	// A connection that the pool opens in the background has no deadline.
	ctx, cancel := withTimeout(ctx)
	defer cancel()
	_, err := conn.Exec(ctx, connectionSettings)
	return err
}

// postgresServer is a PostgreSQL server, with what earlier calls found out about its state.
type postgresServer struct {
	pool *sql.DB
	// silent is zero unless the server let a call time out and has not answered since. Then it is
	// the time, in Unix nanoseconds, after which the next call may wait for the full timeout.
	silent atomic.Int64
	// emptied reports that a table is missing that existed before.
	emptied atomic.Bool
}

const (
	// silentTimeout is the timeout while the server is silent. Otherwise each step of a call, and
	// each call, would wait for the full timeout again.
	silentTimeout = time.Second
	// probeInterval is the interval after which one call waits for the full timeout again, because
	// the server may only have become slow.
	probeInterval = 10 * time.Second
)

// bounded gives a context without deadline a timeout, and any context a short one while the server
// is silent.
func (s *postgresServer) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	at, now := s.silent.Load(), time.Now()
	if at == 0 || now.UnixNano() >= at && s.silent.CompareAndSwap(at, now.Add(probeInterval).UnixNano()) {
		return withTimeout(ctx)
	}
	return context.WithTimeout(ctx, silentTimeout)
}

// recordAnswer records whether the server has answered, with whatever result.
func (s *postgresServer) recordAnswer(err error) {
	if postgresCode(err) == "42P01" {
		s.emptied.Store(true)
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		s.silent.CompareAndSwap(0, time.Now().Add(probeInterval).UnixNano())
	case s.silent.Load() != 0 && !isLost(err) && !errors.Is(err, context.Canceled):
		s.silent.Store(0)
	}
}

func (s *postgresServer) close() error { return nil }

// do runs each change in a transaction of its own, because the server groups commits itself. It
// retries if the transaction was certainly rolled back and may succeed the next time.
func (s *postgresServer) do(ctx context.Context, f work) error {
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	return s.retry(ctx, func() error { return s.attempt(ctx, f) })
}

// retry runs f up to four times, as long as the failure is temporary.
func (s *postgresServer) retry(ctx context.Context, f func() error) error {
	pause := 10 * time.Millisecond
	for try := 0; ; try++ {
		err := f()
		s.recordAnswer(err)
		if err == nil || try == 3 || ctx.Err() != nil || !isTemporary(err) {
			return plainPostgres(err)
		}
		if isLost(err) {
			// One broken connection means that the server went away, so close all idle connections.
			s.pool.SetMaxIdleConns(-1)
			s.pool.SetMaxIdleConns(maxConnections)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return plainPostgres(err)
		}
		pause *= 5
	}
}

// isTemporary reports whether the work that failed was certainly rolled back and may succeed the
// next time.
func isTemporary(err error) bool {
	code := postgresCode(err)
	return !is[*CommitUnknownError](err) && (code == "40001" || code == "40P01" || isLost(err))
}

// isLost reports whether err concerns the connection rather than the query.
func isLost(err error) bool {
	switch code := postgresCode(err); code {
	case "":
	case "57P01", "57P02", "57P03": // the server is stopping or starting
		return true
	default:
		return false
	}
	return is[*pgconn.ConnectError](err) || is[*net.OpError](err) ||
		errors.Is(err, driver.ErrBadConn) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed)
}

// postgresCode returns the SQLSTATE code from the server, or "" if err is not from the server.
func postgresCode(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code
	}
	return ""
}

// plainPostgres turns an error that an operator can fix into a plain message. The message never
// shows the URL: if a password holds special characters that are not escaped, a part of it may be
// parsed as the host.
func plainPostgres(err error) error {
	if err == nil || is[*CommitUnknownError](err) || is[*SchemaTooNewError](err) {
		return err
	}
	if reason, ok := refusals()[postgresCode(err)]; ok {
		return &RefusedError{reason, err}
	}
	if reason, ok := refusedConnection(err); ok {
		return &RefusedError{reason, err}
	}
	if isLost(err) {
		return &UnreachableError{reasonOf(err), err}
	}
	return err
}

// refusedConnection returns the reason why there is no connection although the server answers.
func refusedConnection(err error) (reason string, ok bool) {
	dial, ok := errors.AsType[*pgconn.ConnectError](err)
	switch code := postgresCode(err); {
	case !ok:
		return "", false
	// Invalid value, unknown name.
	case strings.HasPrefix(code, "22"), strings.HasPrefix(code, "42"):
		return "PostgreSQL rejected an option in the database URL", true
	case is[*tls.CertificateVerificationError](err):
		return "the TLS certificate of PostgreSQL is not trusted; check sslmode and sslrootcert in the database URL", true
	// The driver has no error type for it.
	case strings.Contains(err.Error(), "server refused TLS connection") && needsTLS(dial.Config):
		return "PostgreSQL does not offer TLS, but the database URL requires it; check its sslmode", true
	}
	return "", false
}

// needsTLS reports whether the URL requires TLS.
func needsTLS(c *pgconn.Config) bool {
	return c.TLSConfig != nil && !slices.ContainsFunc(c.Fallbacks, func(f *pgconn.FallbackConfig) bool { return f.TLSConfig == nil })
}

// refusals returns the messages for the PostgreSQL error codes that an operator can fix.
func refusals() map[string]string {
	const login = "PostgreSQL rejected the login; check the user and the password in the database URL"
	return map[string]string{
		"28000": login, "28P01": login,
		"3D000": "PostgreSQL has no such database; create it, or use another",
		"42501": "the database user lacks permission; it must own the database, or be allowed to create and change tables in it",
		"25006": "the database is read-only: check whether it is a standby",
		"53100": "the disk of the database is full; free some space",
		"53300": "PostgreSQL has too many connections; raise max_connections or stop other clients",
	}
}

func reasonOf(err error) string {
	network, isNetwork := errors.AsType[*net.OpError](err)
	timeout, isTimeout := errors.AsType[net.Error](err)
	switch {
	case is[*net.DNSError](err):
		return "its host name cannot be resolved"
	case errors.Is(err, context.DeadlineExceeded), isTimeout && timeout.Timeout():
		return "it did not answer in time"
	case isNetwork:
		return network.Err.Error() // without the address
	case postgresCode(err) != "":
		return "it is starting or stopping"
	}
	return "the connection was lost"
}

// ExecContext runs a statement on any connection of the pool.
func (s *postgresServer) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	result, err := s.pool.ExecContext(ctx, query, args...)
	s.recordAnswer(err)
	return result, plainPostgres(err)
}

// QueryContext runs a query on any connection of the pool. If the connection is lost, it runs the
// query again.
func (s *postgresServer) QueryContext(ctx context.Context, query string, args ...any) (rows *sql.Rows, err error) {
	until, cancel := s.bounded(ctx)
	// There is no signal that the rows have been read, so the context lasts until its deadline.
	if until != ctx {
		context.AfterFunc(until, cancel)
	}
	err = s.retry(until, func() (err error) {
		rows, err = s.pool.QueryContext(until, query, args...) //nolint:sqlclosecheck,rowserrcheck // the caller closes and checks them
		return err
	})
	return rows, err
}
