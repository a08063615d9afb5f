// Package sqlstore keeps things in a SQL database, behind the Store interfaces
// of those who need them: SQLite or PostgreSQL, with one SQL text for both ($1,
// RETURNING, ON CONFLICT) and a folder of migrations each.
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
	"sync/atomic"
	"unicode/utf8"
)

// DB is an open database of the version that this program knows.
type DB struct {
	write  *sql.DB // SQLite: one connection, the keeper's; PostgreSQL: the pool
	read   *sql.DB // SQLite: a pool that cannot write; PostgreSQL: the pool
	reads  runner  // on read
	keeper keeper  // on write
	shared bool
	// emptied is the server's: somebody made the database anew. Nil for SQLite.
	emptied *atomic.Bool
}

// Open opens the database at url, which is sqlite://PATH or postgres://..., and
// brings it to the version that this program knows.
//
// PATH is taken as it stands, without escapes or parameters; it is created, with
// its folder, if it is missing. A database of PostgreSQL has to exist.
//
// A database of a newer version is refused (*NewerError) and left as it is. No
// error shows the address or a password.
func Open(ctx context.Context, url string) (*DB, error) {
	scheme, rest, found := strings.Cut(url, "://")
	switch {
	case !found:
		return nil, errors.New("open database: the address has no scheme; use sqlite://PATH or postgres://USER@HOST/DATABASE")
	case scheme == "sqlite":
		return openSQLite(ctx, rest)
	case IsPostgres(url):
		return openPostgres(ctx, url)
	}
	return nil, fmt.Errorf("open database: unknown scheme %q; use sqlite://PATH or postgres://USER@HOST/DATABASE", scheme)
}

// IsPostgres tells whether an address is one of PostgreSQL.
func IsPostgres(url string) bool {
	return strings.HasPrefix(url, "postgres://") || strings.HasPrefix(url, "postgresql://")
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

// Shared tells whether other machines may use the same database.
func (db *DB) Shared() bool { return db.shared }

// canWrite is what PostgreSQL must say yes to, of one table for all.
const canWrite = `SELECT has_table_privilege('tasks', 'INSERT') AND current_setting('transaction_read_only') = 'off'`

// Ping tells whether the database answers and could be written, within five seconds
// if ctx has no deadline.
func (db *DB) Ping(ctx context.Context) error {
	ctx, cancel := withPatience(ctx)
	defer cancel()
	if !db.shared {
		return doing("ping database", db.plain(db.read.PingContext(ctx)))
	}
	can, err := findOne(ctx, db.reads, canWrite, scanValue[bool])
	if err != nil {
		return fmt.Errorf("ping database: %w", db.plain(err))
	}
	if !can {
		return &RefusedError{"the database can only be read: is it a standby, or a user without rights?", nil}
	}
	return nil
}

// Emptied tells whether tables are missing that were there when it was opened:
// somebody has made the database anew. To open it again brings them back.
func (db *DB) Emptied() bool { return db.emptied != nil && db.emptied.Load() }

// Close waits for what is under way and closes the database.
func (db *DB) Close() error {
	// The writer goes last: SQLite tidies its log up with the last connection,
	// and the readers may not write.
	return doing("close database", errors.Join(db.keeper.close(), db.read.Close(), db.write.Close()))
}

// plain says what an error of the database means for an operator, if it is one of those.
func (db *DB) plain(err error) error {
	if db.shared {
		return plainPostgres(err)
	}
	return refusedBySQLite(err)
}

// withPatience gives a deadline to what has none.
func withPatience(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, patience)
}

// isText tells whether TEXT can hold s: that of PostgreSQL holds neither U+0000
// nor what is no UTF-8, so nothing is kept under such a name.
func isText(s string) bool {
	return utf8.ValidString(s) && !strings.Contains(s, "\x00")
}

// words is how a column keeps text that may be anything: TEXT in SQLite, BYTEA in
// PostgreSQL. Both are read into a string.
func (db *DB) words(s string) any {
	if db.shared {
		return []byte(s)
	}
	return s
}
