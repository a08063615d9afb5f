package sqlstore

import (
	"context"
	"database/sql"
	"sync"
)

// maxStatements is greater than the number of constant statements in this package. Statements built
// at run time may exceed it.
const maxStatements = 200

// preparer is a pool or a single connection.
type preparer interface {
	runner
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
}

// statements prepares each statement on its first use and keeps it, because SQLite takes longer to
// parse a statement than to run it.
//
// On a single connection, the rows of a statement must be read to the end before the same statement
// runs again.
type statements struct {
	on     preparer
	mu     sync.RWMutex
	byText map[string]*sql.Stmt
}

func newStatements(on preparer) *statements {
	return &statements{on: on, byText: map[string]*sql.Stmt{}}
}

func (s *statements) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if stmt := s.prepared(ctx, query); stmt != nil {
		return stmt.ExecContext(ctx, args...)
	}
	return s.on.ExecContext(ctx, query, args...)
}

func (s *statements) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if stmt := s.prepared(ctx, query); stmt != nil {
		return stmt.QueryContext(ctx, args...)
	}
	return s.on.QueryContext(ctx, query, args...)
}

// prepared returns the prepared statement of a query. It returns nil if that cannot be prepared;
// the caller then runs the query itself and gets the error.
func (s *statements) prepared(ctx context.Context, query string) *sql.Stmt {
	s.mu.RLock()
	stmt, n := s.byText[query], len(s.byText)
	s.mu.RUnlock()
	if stmt != nil || n >= maxStatements {
		return stmt
	}
	// May wait for a connection, so it runs without the lock.
	made, err := s.on.PrepareContext(ctx, query)
	if err != nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if other := s.byText[query]; other != nil {
		_ = made.Close() // another goroutine was first; only this copy is closed
		return other
	}
	s.byText[query] = made
	return made
}

// close closes the statements. Those of a single connection must be closed before the connection:
// database/sql does not do it, and SQLite keeps the file open until then.
func (s *statements) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, stmt := range s.byText {
		_ = stmt.Close() // nothing more is read from it
	}
	clear(s.byText)
}
