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

// mostConnections is how many a process has, so that several replicas fit into the
// hundred that PostgreSQL allows by default.
const mostConnections = 16

// openPostgres opens the database at an address of PostgreSQL.
func openPostgres(ctx context.Context, url string) (*DB, error) {
	pool, err := postgresPool(url)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	server := &postgresServer{pool: pool}
	db := &DB{write: pool, read: pool, reads: server, keeper: server, shared: true, emptied: &server.emptied}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := upgradePostgres(ctx, pool); err != nil {
		return nil, fmt.Errorf("open database: %w", errors.Join(plainPostgres(err), db.Close()))
	}
	return db, nil
}

func postgresPool(url string) (*sql.DB, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		// What is wrong with it may be a part of the password.
		return nil, &RefusedError{"the address cannot be read; use postgres://USER:PASSWORD@HOST/DATABASE, with %XX for what is special in a URL", errors.New("address not shown")}
	}
	if config.ConnectTimeout == 0 || config.ConnectTimeout > patience {
		config.ConnectTimeout = patience
	}
	pool := stdlib.OpenDB(*config, stdlib.OptionAfterConnect(insist))
	pool.SetMaxOpenConns(mostConnections)
	pool.SetMaxIdleConns(mostConnections)
	pool.SetConnMaxIdleTime(time.Minute)
	return pool, nil
}

// A commit that is not synced can be lost, whatever the server's settings say; one who
// stops in the middle must not hold up the others. All that is listed is read in the
// order of a key: a bitmap, which a planner without statistics prefers, would read the
// whole of a list and sort it, for one page.
const insistences = `
SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') NOT IN ('on', 'remote_apply')
UNION ALL SELECT set_config('idle_in_transaction_session_timeout', '30s', false)
UNION ALL SELECT set_config('enable_bitmapscan', 'off', false)`

func insist(ctx context.Context, conn *pgx.Conn) error {
	ctx, cancel := withPatience(ctx) // a pool that opens a connection for later sets no end
	defer cancel()
	_, err := conn.Exec(ctx, insistences)
	return err
}

// postgresServer is the server as those who use it have found it.
type postgresServer struct {
	pool *sql.DB
	// silent is zero, unless it let somebody wait in vain and has not answered since:
	// then it is when somebody may next wait for it in full, in Unix nanoseconds.
	silent atomic.Int64
	// emptied says that a table is missing that was there.
	emptied atomic.Bool
}

const (
	// brief is how long a server that is silent is waited for: without it each step of
	// a call would wait as long as the one before, and each call as the others.
	brief = time.Second
	// probePause is how often somebody waits in full, since it may only have become slow.
	probePause = 10 * time.Second
)

// bounded gives a deadline to what has none, and a short one while the server is silent.
func (s *postgresServer) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	at, now := s.silent.Load(), time.Now()
	if at == 0 || now.UnixNano() >= at && s.silent.CompareAndSwap(at, now.Add(probePause).UnixNano()) {
		return withPatience(ctx)
	}
	return context.WithTimeout(ctx, brief)
}

// heard notes whether the server has answered, whatever it was.
func (s *postgresServer) heard(err error) {
	if postgresCode(err) == "42P01" {
		s.emptied.Store(true)
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		s.silent.CompareAndSwap(0, time.Now().Add(probePause).UnixNano())
	case s.silent.Load() != 0 && !isLost(err) && !errors.Is(err, context.Canceled):
		s.silent.Store(0)
	}
}

func (s *postgresServer) close() error { return nil }

// keep gives each change a transaction of its own: the server groups commits itself. It tries
// again if the transaction certainly came to nothing and another try may not.
func (s *postgresServer) keep(ctx context.Context, f work) error {
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	return s.again(ctx, func() error { return s.attempt(ctx, f) })
}

func (s *postgresServer) attempt(ctx context.Context, f work) error {
	conn, err := s.pool.Conn(ctx)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer func() { _ = conn.Close() }() // back to the pool, which keeps none that is inside a transaction
	if _, err := conn.ExecContext(ctx, "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	committing := false
	defer func() { // also when f panics
		if !committing {
			rollback(ctx, conn)
		}
	}()
	if err := f(ctx, conn); err != nil {
		return err
	}
	if err := commitable(ctx, conn); err != nil {
		return err
	}
	committing = true
	return commit(ctx, conn)
}

// commitable is an error if there is nothing to commit: COMMIT would say that all is
// well after a failed statement, and undo everything.
func commitable(ctx context.Context, conn *sql.Conn) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return conn.Raw(func(c any) error {
		server := c.(*stdlib.Conn).Conn().PgConn()
		switch {
		case server.IsClosed():
			return driver.ErrBadConn
		case server.TxStatus() == 'E':
			return errors.New("commit: a statement of the transaction has failed")
		}
		return nil
	})
}

// commit waits for the outcome though ctx may end meanwhile, but not for long after
// its deadline. Only the server can tell that it was not kept: the driver says "bad
// connection" also when COMMIT was sent.
func commit(ctx context.Context, conn *sql.Conn) error {
	end := time.Now().Add(brief)
	if deadline, ok := ctx.Deadline(); ok && deadline.After(end) {
		end = deadline
	}
	ctx, cancel := context.WithDeadline(context.WithoutCancel(ctx), end)
	defer cancel()
	_, err := conn.ExecContext(ctx, "COMMIT")
	if err == nil {
		return nil
	}
	err = fmt.Errorf("commit: %w", err)
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok && refused.SeverityUnlocalized == "ERROR" {
		return err
	}
	return &UnknownError{err}
}

func rollback(ctx context.Context, conn *sql.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	_, _ = conn.ExecContext(ctx, "ROLLBACK") // if it fails, the connection is not used again
}

// again does f up to four times while the failure is one that passes.
func (s *postgresServer) again(ctx context.Context, f func() error) error {
	pause := 10 * time.Millisecond
	for try := 0; ; try++ {
		err := f()
		s.heard(err)
		if err == nil || try == 3 || ctx.Err() != nil || !passes(err) {
			return plainPostgres(err)
		}
		if isLost(err) {
			// One connection that broke says that the server went away, and all with it.
			s.pool.SetMaxIdleConns(-1)
			s.pool.SetMaxIdleConns(mostConnections)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return plainPostgres(err)
		}
		pause *= 5
	}
}

// passes tells whether what failed was certainly undone and may succeed the next time.
func passes(err error) bool {
	code := postgresCode(err)
	return !is[*UnknownError](err) && (code == "40001" || code == "40P01" || isLost(err))
}

// isLost tells whether err is about the connection rather than what was asked.
func isLost(err error) bool {
	switch code := postgresCode(err); code {
	case "":
	case "57P01", "57P02", "57P03": // the server ends or starts
		return true
	default:
		return false
	}
	return is[*pgconn.ConnectError](err) || is[*net.OpError](err) ||
		errors.Is(err, driver.ErrBadConn) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed)
}

// postgresCode is the code that the server gave, empty if err is not the server's.
func postgresCode(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code
	}
	return ""
}

// plainPostgres says in plain words what an operator can do something about. What it
// makes shows nothing of the address: a password with special characters, not escaped,
// may be taken for a host.
func plainPostgres(err error) error {
	if err == nil || is[*UnknownError](err) || is[*NewerError](err) {
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

// refusedConnection tells why there is no connection though the server answers.
func refusedConnection(err error) (reason string, ok bool) {
	dial, ok := errors.AsType[*pgconn.ConnectError](err)
	switch code := postgresCode(err); {
	case !ok:
		return "", false
	case strings.HasPrefix(code, "22"), strings.HasPrefix(code, "42"): // a wrong value, an unknown name
		return "PostgreSQL does not take an option of the address", true
	case is[*tls.CertificateVerificationError](err):
		return "the certificate of PostgreSQL cannot be trusted; look at sslmode and sslrootcert of the address", true
	case strings.Contains(err.Error(), "server refused TLS connection") && needsTLS(dial.Config): // the driver has no name for it
		return "PostgreSQL offers no TLS, and the address insists on it; look at its sslmode", true
	}
	return "", false
}

// needsTLS tells whether an address leaves no other way.
func needsTLS(c *pgconn.Config) bool {
	return c.TLSConfig != nil && !slices.ContainsFunc(c.Fallbacks, func(f *pgconn.FallbackConfig) bool { return f.TLSConfig == nil })
}

// refusals are the codes of PostgreSQL that an operator can do something about.
func refusals() map[string]string {
	const login = "PostgreSQL does not let this user in; look at the user and the password of the address"
	return map[string]string{
		"28000": login, "28P01": login,
		"3D000": "PostgreSQL has no such database; create it, or name another",
		"42501": "the user of the database may not do this; it has to own the database, or be granted to create and change tables in it",
		"25006": "the database can only be read: is it a standby?",
		"53100": "the disk of the database is full",
		"53300": "PostgreSQL has too many connections",
	}
}

func reasonOf(err error) string {
	network, isNetwork := errors.AsType[*net.OpError](err)
	timeout, isTimeout := errors.AsType[net.Error](err)
	switch {
	case is[*net.DNSError](err):
		return "the name of its host cannot be resolved"
	case errors.Is(err, context.DeadlineExceeded), isTimeout && timeout.Timeout():
		return "it does not answer in time"
	case isNetwork:
		return network.Err.Error() // without the address
	case postgresCode(err) != "":
		return "it is starting or ending"
	}
	return "the connection was lost"
}

// ExecContext runs a statement on any connection of the pool.
func (s *postgresServer) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	result, err := s.pool.ExecContext(ctx, query, args...)
	s.heard(err)
	return result, plainPostgres(err)
}

// QueryContext reads on any connection of the pool. What was lost with a connection is read
// again.
func (s *postgresServer) QueryContext(ctx context.Context, query string, args ...any) (rows *sql.Rows, err error) {
	until, cancel := s.bounded(ctx)
	if until != ctx { // nobody tells when the rows are read, so it lasts until the deadline
		context.AfterFunc(until, cancel)
	}
	err = s.again(until, func() (err error) {
		rows, err = s.pool.QueryContext(until, query, args...) //nolint:sqlclosecheck,rowserrcheck // they are the caller's
		return err
	})
	return rows, err
}
