// Package sqlstore keeps things in a SQL database, behind the Store interfaces
// of those who need them: SQLite today, PostgreSQL in a later version, with one
// SQL text for both ($1, RETURNING, ON CONFLICT) and a folder of migrations each.
//
// What a method has acknowledged is on the disk. Several processes may open the
// same database at once.
package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

// DB is an open database of the version that this program knows.
type DB struct {
	write *sql.DB // one connection: writers queue here instead of fighting for SQLite's lock
	read  *sql.DB // a pool that cannot write
}

// Open opens the database at url, which is sqlite://PATH, and brings it to the
// version that this program knows. PATH is taken as it stands, without escapes
// or parameters; it is created, with its folder, if it is missing.
//
// A database of a newer version is refused and left as it is.
func Open(ctx context.Context, url string) (*DB, error) {
	// No error shows url itself: it may hold a password.
	scheme, rest, found := strings.Cut(url, "://")
	switch {
	case !found:
		return nil, errors.New("open database: the address has no scheme; use sqlite://PATH")
	case scheme == "sqlite":
		return openSQLite(ctx, rest)
	case scheme == "postgres" || scheme == "postgresql":
		return nil, errors.New("open database: PostgreSQL comes with a later version; use sqlite://PATH")
	}
	return nil, fmt.Errorf("open database: unknown scheme %q; use sqlite://PATH (postgres:// comes with a later version)", scheme)
}

// File is the file that an address names; false if it names none.
func File(url string) (string, bool) {
	name, ok := strings.CutPrefix(url, "sqlite://")
	if !ok {
		return "", false
	}
	path, err := filePath(name)
	return path, err == nil
}

// openSQLite opens the file that the part of the address after sqlite:// names.
func openSQLite(ctx context.Context, name string) (*DB, error) {
	path, err := filePath(name)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	db, err := openFile(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("open database %s: %w", path, explain(err))
	}
	return db, nil
}

// filePath makes the path absolute, because connections are opened as they are
// needed and the program may change its folder meanwhile.
func filePath(name string) (string, error) {
	if name == "" || name == ":memory:" {
		return "", errors.New("the address names no file; use sqlite://PATH")
	}
	// sqlite:///C:/x is how a URL names C:\x.
	if cut, ok := strings.CutPrefix(name, "/"); ok && filepath.VolumeName(cut) != "" {
		name = cut
	}
	return filepath.Abs(filepath.FromSlash(name))
}

// Close waits for what is under way and closes the database.
func (db *DB) Close() error {
	// The writer goes last: SQLite tidies its log up with the last connection,
	// and the readers may not write.
	if err := errors.Join(db.read.Close(), db.write.Close()); err != nil {
		return fmt.Errorf("close database: %w", err)
	}
	return nil
}

// change runs f in one write transaction, which stays if f and the commit succeed.
func (db *DB) change(ctx context.Context, f func(tx *sql.Tx) error) error {
	tx, err := db.write.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	if err := f(tx); err != nil {
		return errors.Join(err, rollback(tx))
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

func rollback(tx *sql.Tx) error {
	if err := tx.Rollback(); err != nil && !errors.Is(err, sql.ErrTxDone) {
		return fmt.Errorf("roll back: %w", err)
	}
	return nil
}

// micros is how a time is kept; the zero time is NULL.
func micros(t time.Time) sql.NullInt64 {
	return sql.NullInt64{Int64: t.UnixMicro(), Valid: !t.IsZero()}
}

// fromMicros is the reverse of micros.
func fromMicros(n sql.NullInt64) time.Time {
	if !n.Valid {
		return time.Time{}
	}
	return time.UnixMicro(n.Int64).UTC()
}
