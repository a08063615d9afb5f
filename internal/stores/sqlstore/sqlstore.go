// Package sqlstore stores data in a SQL database, SQLite or PostgreSQL. It implements the Store
// interfaces of the engine and the toolsets. Both databases share one SQL text ($1, RETURNING, ON
// CONFLICT); each has its own folder of migrations.
//
// When a method returns without error, its change is on disk. Several processes may open the same
// database at once. The package makes no decisions about what is stored: that is up to the packages
// that declare the interfaces.
package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"unicode/utf8"
)

// DB is an open database that has the version this program supports.
type DB struct {
	write  *sql.DB // SQLite: one connection, used by the writer; PostgreSQL: the pool
	read   *sql.DB // SQLite: a read-only pool; PostgreSQL: the pool
	reads  runner  // runs on read
	writer writer  // runs on write
	shared bool
	file   string // SQLite: the path by which the file is reached
	folder *os.File
	clock  clock // of the PostgreSQL server
	// emptied is set by the server when it finds that the database was recreated. It is nil for
	// SQLite.
	emptied *atomic.Bool
	outbox  *Outbox
	turns   *turns // nil for SQLite, where the writer is alone
}

// Open opens the database at url, which is sqlite://PATH or postgres://..., and migrates it to the
// version that this program supports.
//
// PATH is taken literally, without escapes or parameters; the file and its folder are created if
// they are missing. A PostgreSQL database must exist.
//
// Open returns a *NewerError if the database has a newer version, and leaves it unchanged. No error
// shows the URL of a PostgreSQL database or a password.
func Open(ctx context.Context, url string) (*DB, error) {
	scheme, rest, found := strings.Cut(url, "://")
	switch {
	case !found:
		return nil, errors.New("open database: the URL has no scheme; use sqlite://PATH or postgres://USER@HOST/DATABASE")
	case scheme == "sqlite":
		return openSQLite(ctx, rest)
	case IsPostgres(url):
		return openPostgres(ctx, url)
	}
	return nil, fmt.Errorf("open database: unknown scheme %q; use sqlite://PATH or postgres://USER@HOST/DATABASE", scheme)
}

// IsPostgres reports whether url is a PostgreSQL URL.
func IsPostgres(url string) bool {
	return strings.HasPrefix(url, "postgres://") || strings.HasPrefix(url, "postgresql://")
}

// File returns the file that a SQLite URL names. It returns false for any other URL.
func File(url string) (string, bool) {
	name, ok := strings.CutPrefix(url, "sqlite://")
	if !ok {
		return "", false
	}
	path, err := filePath(name)
	return path, err == nil
}

// openSQLite opens the file named by the part of the URL after sqlite://.
func openSQLite(ctx context.Context, name string) (*DB, error) {
	path, err := filePath(name)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	return openNamed(ctx, path, path)
}

// OpenIn is Open for a SQLite file in an open folder. It closes the folder with the database. Where
// the system allows, it reaches all files through the open folder, so that they are in this folder
// even if another one or a link takes its place.
func OpenIn(ctx context.Context, url string, folder *os.File) (*DB, error) {
	path, ok := File(url)
	if !ok {
		return nil, errors.Join(errors.New("open database: the URL names no file"), folder.Close())
	}
	db, err := openNamed(ctx, path, through(folder, path))
	if err != nil {
		return nil, errors.Join(err, folder.Close())
	}
	db.folder = folder
	return db, nil
}

// openNamed opens the file at a path that errors name otherwise.
func openNamed(ctx context.Context, name, path string) (*DB, error) {
	db, err := openFile(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("open database %s: %w", name, explain(err))
	}
	return db, nil
}

// Watch calls check after every commit to a SQLite file. If it returns an error, the commit fails
// as one whose outcome is unknown: after a volume is unmounted, writes to an open file succeed.
func (db *DB) Watch(check func() error) {
	if file, ok := db.writer.(*groupCommit); ok {
		file.watch.Store(&check)
	}
}

// Stat returns the file of a SQLite database, or nil if there is none.
func (db *DB) Stat() os.FileInfo {
	info, err := os.Stat(db.file)
	if err != nil {
		return nil
	}
	return info
}

// filePath makes the path absolute, because connections are opened as they are needed and the
// program may change its working directory meanwhile.
func filePath(name string) (string, error) {
	if name == "" || name == ":memory:" {
		return "", errors.New("the URL names no file; use sqlite://PATH")
	}
	// sqlite:///C:/x is how a URL names C:\x.
	if cut, ok := strings.CutPrefix(name, "/"); ok && filepath.VolumeName(cut) != "" {
		name = cut
	}
	return filepath.Abs(filepath.FromSlash(name))
}

// Shared reports whether other machines may use the same database.
func (db *DB) Shared() bool { return db.shared }

// askServer asks PostgreSQL whether it accepts writes, and for its time. It checks the privilege
// for one table only.
const askServer = `
SELECT has_table_privilege('tasks', 'INSERT') AND current_setting('transaction_read_only') = 'off', clock_timestamp()`

// Ping returns an error if the database does not answer or cannot be written. It waits at most five
// seconds if ctx has no deadline.
func (db *DB) Ping(ctx context.Context) error {
	ctx, cancel := withTimeout(ctx)
	defer cancel()
	if !db.shared {
		return wrap("ping database", db.plain(db.read.PingContext(ctx)))
	}
	can, err := db.readClock(ctx)
	if err != nil {
		return fmt.Errorf("ping database: %w", db.plain(err))
	}
	if !can {
		return &RefusedError{"the database is read-only: check whether it is a standby, or whether its user may write", nil}
	}
	return nil
}

// Emptied reports whether tables are missing that existed when the database was opened, because
// someone has recreated the database. Opening it again creates the tables.
func (db *DB) Emptied() bool { return db.emptied != nil && db.emptied.Load() }

// Close waits for running operations and closes the database.
func (db *DB) Close() error {
	// The writer is closed last: SQLite removes its write-ahead log with the last connection, and
	// the readers must not write.
	err := errors.Join(db.writer.close(), db.read.Close(), db.write.Close())
	if db.folder != nil {
		err = errors.Join(err, db.folder.Close())
	}
	return wrap("close database", err)
}

// plain turns a database error that an operator can fix into a plain message.
func (db *DB) plain(err error) error {
	if db.shared {
		return plainPostgres(err)
	}
	return refusedBySQLite(err)
}

// withTimeout gives a context without deadline the default timeout.
func withTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, defaultTimeout)
}

// isText reports whether a TEXT column can hold s. In PostgreSQL it can hold neither U+0000 nor
// invalid UTF-8, so no row has such a key.
func isText(s string) bool {
	return utf8.ValidString(s) && !strings.Contains(s, "\x00")
}

// bytesOrText returns arbitrary text as a column value: TEXT in SQLite, BYTEA in PostgreSQL. Both
// are scanned into a string.
func (db *DB) bytesOrText(s string) any {
	if db.shared {
		return []byte(s)
	}
	return s
}
