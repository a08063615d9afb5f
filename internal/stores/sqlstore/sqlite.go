package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// openFile opens the database file at an absolute path.
func openFile(ctx context.Context, path string) (*DB, error) {
	if err := createFile(path); err != nil {
		return nil, err
	}
	// FULL syncs each commit. With WAL, a weaker mode can lose acknowledged commits when the power
	// fails.
	write, err := pool(path, 1, "_txlock=immediate", "_synchronous=FULL", "_foreign_keys=on", "_busy_timeout=5000")
	if err != nil {
		return nil, err
	}
	read, err := pool(path, max(4, runtime.GOMAXPROCS(0)), "_query_only=on", "_foreign_keys=on", "_busy_timeout=5000")
	if err != nil {
		return nil, errors.Join(err, write.Close())
	}
	db := &DB{file: path, write: write, read: read, reads: newStatements(read), writer: newGroupCommit(write), outbox: &Outbox{}}
	if err := upgradeFile(ctx, write, path); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// createFile creates a missing file and its folder, accessible by the owner only. SQLite gives its
// log files the mode of the database.
func createFile(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	// An existing file is not opened here: closing any descriptor of a file drops the locks that
	// SQLite holds on it anywhere in this process.
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return notFolder(path)
	}
	if err != nil {
		return err
	}
	return f.Close()
}

func notFolder(path string) error {
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		return errors.New("the path is a folder, not a file")
	}
	return err
}

// pool opens up to size connections to the file as they are needed, and keeps them open.
func pool(path string, size int, options ...string) (*sql.DB, error) {
	connector, err := sqlite.NewConnector(dataSource(path, options))
	if err != nil {
		return nil, fmt.Errorf("prepare connection: %w", err)
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(size)
	db.SetMaxIdleConns(size)
	return db, nil
}

// readOnly is the option of connections that neither write nor apply the write-ahead log to the
// file.
const readOnly = "mode=ro"

// dataSource returns the driver's name for the file. mode=rw leaves the creation of the file to
// createFile, which sets the permissions.
func dataSource(path string, options []string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // C:/x becomes file:///C:/x
	}
	if !slices.Contains(options, readOnly) {
		options = append(options, "mode=rw")
	}
	u := url.URL{Scheme: "file", Path: path, RawQuery: strings.Join(append(options, vfsOf(path)...), "&")}
	return u.String()
}

// explain adds a plain explanation to the SQLite errors that an operator can fix.
func explain(err error) error {
	switch errorCode(err) {
	case sqlite3.SQLITE_NOTADB:
		return fmt.Errorf("the file is not a SQLite database: %w", err)
	case sqlite3.SQLITE_CORRUPT:
		return fmt.Errorf("the file is damaged; run \"remit doctor\": %w", err)
	case sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_READONLY:
		return fmt.Errorf("the file or its folder is not readable and writable: %w", err)
	case sqlite3.SQLITE_BUSY:
		return fmt.Errorf("another program keeps the file locked: %w", err)
	}
	return err
}

// refusedBySQLite turns an error that an operator must fix into a *RefusedError.
func refusedBySQLite(err error) error {
	switch errorCode(err) {
	case sqlite3.SQLITE_FULL:
		return &RefusedError{"the disk of the database is full; free some space", err}
	case sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return &RefusedError{explain(err).Error(), err}
	}
	return err
}

// abortsTransaction reports whether SQLite may have rolled back the whole transaction along with
// the statement that failed.
func abortsTransaction(err error) bool {
	switch errorCode(err) {
	case sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_CORRUPT:
		return true
	}
	return false
}

func isBusy(err error) bool { return errorCode(err) == sqlite3.SQLITE_BUSY }

// errorCode returns SQLite's primary code for err, or zero if err is not from SQLite.
func errorCode(err error) int {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code() & 0xff // the upper bits hold details
	}
	return 0
}
