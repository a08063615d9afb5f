package sqlstore

import (
	"context"
	"database/sql"
	"sync"
)

// mostStatements is more than there are texts in this package, but for those that
// are put together.
const mostStatements = 200

// preparer is a pool or one connection of it.
type preparer interface {
	runner
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
}

// statements runs each text prepared: for SQLite to read a text takes longer than
// to do what it says.
//
// On one connection the rows of a text are read to their end before the same text
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

// prepared is the statement of a text; nil if it cannot be had, so that the text
// itself is tried, which tells why.
func (s *statements) prepared(ctx context.Context, query string) *sql.Stmt {
	s.mu.RLock()
	stmt, n := s.byText[query], len(s.byText)
	s.mu.RUnlock()
	if stmt != nil || n >= mostStatements {
		return stmt
	}
	made, err := s.on.PrepareContext(ctx, query) // may wait for a connection, so nobody waits for this
	if err != nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if other := s.byText[query]; other != nil {
		_ = made.Close() // somebody was quicker; only this copy is given up
		return other
	}
	s.byText[query] = made
	return made
}
