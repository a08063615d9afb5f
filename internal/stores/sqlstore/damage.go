package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	sqlite3 "modernc.org/sqlite/lib"
)

// applicationID marks a SQLite file as one of Remit: "remi" in ASCII. The migration
// marksApplication has set it.
const (
	applicationID    = 0x72656d69
	marksApplication = 16
	addsMeta         = 12 // the migration that creates the table meta
)

// DamagedError says that a SQLite file cannot be used as it is. A person must restore a backup.
type DamagedError struct {
	Reason string
	Cause  error
}

func (e *DamagedError) Error() string { return e.Reason }
func (e *DamagedError) Unwrap() error { return e.Cause }

// Found is what Inspect found in a SQLite file.
type Found struct {
	Empty  bool   // it has no tables of Remit
	DataID string // see Meta; "" if it has none
}

// checkedTables are those whose damage could let callers in. They are checked whenever the file is
// opened, and first if there is no time for all.
var checkedTables = []string{"meta", "agent_tokens", "approvals", "passkeys", "console_sessions"}

// Inspect checks an existing SQLite file before it is opened for writing: opening could make damage
// worse, because SQLite applies any write-ahead log that it finds. It returns a *DamagedError for a
// file that is not a database of Remit, is cut off, lacks its write-ahead log, or is damaged where
// tokens and approvals are stored. If folder is not nil, the file is reached through it.
func Inspect(ctx context.Context, url string, folder *os.File) (found Found, err error) {
	name, ok := File(url)
	if !ok {
		return found, errors.New("inspect database: the URL names no file")
	}
	if folder != nil {
		name = through(folder, name)
	}
	info, err := os.Stat(name)
	if err != nil {
		return found, fmt.Errorf("inspect database: %w", err)
	}
	if info.Size() == 0 {
		return Found{Empty: true}, nil
	}
	if lacksLog(name) {
		return found, &DamagedError{Reason: "its write-ahead log (-wal) was removed, so the latest changes are missing"}
	}
	ctx, cancel := withTimeout(ctx)
	defer cancel()
	// Without a log nobody uses the file, so it needs no locks and no log, which takes longer. If
	// somebody begins to use it now, the result may be wrong.
	if _, err := os.Lstat(name + "-wal"); errors.Is(err, fs.ErrNotExist) {
		if found, err = inspectFile(ctx, name, "immutable=1"); err == nil {
			return found, nil
		}
	}
	found, err = inspectFile(ctx, name, "_busy_timeout=5000")
	return found, wrap("inspect database", err)
}

func inspectFile(ctx context.Context, name, option string) (Found, error) {
	db, err := pool(name, 1, readOnly, option)
	if err != nil {
		return Found{}, err
	}
	found, err := inspect(ctx, db)
	return found, asDamage(errors.Join(err, db.Close()))
}

// inspect reads everything in one transaction: another process may be creating the tables.
func inspect(ctx context.Context, db *sql.DB) (Found, error) {
	tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return Found{}, err
	}
	found, err := inspectIn(ctx, tx)
	return found, errors.Join(err, tx.Rollback())
}

func inspectIn(ctx context.Context, db querier) (found Found, err error) {
	mark := 0
	if err := db.QueryRowContext(ctx, "PRAGMA application_id").Scan(&mark); err != nil {
		return found, err
	}
	known, err := version(ctx, db, tableOfSQLite)
	switch {
	case err != nil:
		return found, err
	case known == 0 && mark != 0 && mark != applicationID:
		return found, &DamagedError{Reason: "it is the database of another program"}
	case known >= marksApplication && mark != applicationID:
		return found, &DamagedError{Reason: "its header is that of another database"}
	case known == 0:
		return Found{Empty: true}, nil
	}
	tables, err := tablesOf(ctx, db)
	if err != nil {
		return found, err
	}
	for _, table := range checkedTables {
		if slices.Contains(tables, table) {
			if err := checkTable(ctx, db, table); err != nil {
				return found, err
			}
		}
	}
	switch {
	case known < addsMeta:
	case !slices.Contains(tables, "meta"):
		return found, &DamagedError{Reason: "its table meta is missing"}
	default:
		err = db.QueryRowContext(ctx, "SELECT coalesce(max(value), '') FROM meta WHERE name = $1", metaDataID).Scan(&found.DataID)
	}
	return found, err
}

// lacksLog reports whether the write-ahead log of a file was removed. SQLite creates it before the
// -shm file and removes it after that one, so that the log is never the only one that is missing.
func lacksLog(name string) bool {
	exists := func(suffix string) bool {
		_, err := os.Lstat(name + suffix)
		return !errors.Is(err, fs.ErrNotExist)
	}
	return !exists("-wal") && exists("-shm") && !exists("-wal") // others open and close the file
}

// tablesOf returns the tables of a file, with those first whose damage is worst.
func tablesOf(ctx context.Context, db querier) ([]string, error) {
	rows, err := db.QueryContext(ctx, "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []string
	for rows.Next() {
		name := ""
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		all = append(all, name)
	}
	rank := func(name string) int {
		// What can be built again comes last.
		if strings.HasPrefix(name, "knowledge_") || strings.HasPrefix(name, "call") {
			return len(checkedTables) + 1
		}
		if at := slices.Index(checkedTables, name); at >= 0 {
			return at
		}
		return len(checkedTables)
	}
	slices.SortStableFunc(all, func(x, y string) int { return rank(x) - rank(y) })
	return all, rows.Err()
}

func checkTable(ctx context.Context, db querier, table string) error {
	return problems(ctx, db, fmt.Sprintf("PRAGMA quick_check('%s')", table))
}

// problems runs a check of SQLite and returns what it found as a *DamagedError.
func problems(ctx context.Context, db querier, check string) error {
	rows, err := db.QueryContext(ctx, check)
	if err != nil {
		return err
	}
	defer rows.Close()
	var all []string
	for rows.Next() {
		problem := ""
		if err := rows.Scan(&problem); err != nil {
			return err
		}
		if problem != "ok" && len(all) < 3 {
			all = append(all, problem)
		}
	}
	if err := rows.Err(); err != nil || len(all) == 0 {
		return err
	}
	return &DamagedError{Reason: "SQLite found: " + strings.Join(all, "; ")}
}

// asDamage turns the errors with which SQLite refuses a file into a *DamagedError.
func asDamage(err error) error {
	switch errorCode(err) {
	case sqlite3.SQLITE_NOTADB:
		return &DamagedError{"it is not a SQLite database", err}
	case sqlite3.SQLITE_CORRUPT:
		return &DamagedError{"a part of it is missing or was overwritten", err}
	}
	return err
}

// CheckFile checks all tables of a SQLite file, as far as it gets before ctx ends, and returns how
// many it has checked. Thorough also compares indexes with their tables. It returns a *DamagedError
// for a file that is damaged. For PostgreSQL it does nothing.
func (db *DB) CheckFile(ctx context.Context, thorough bool) (checked, tables int, err error) {
	if db.shared {
		return 0, 0, nil
	}
	all, err := tablesOf(ctx, db.read)
	if err == nil && thorough {
		err = problems(ctx, db.read, "PRAGMA integrity_check")
		return len(all), len(all), asDamage(err)
	}
	for _, table := range all {
		if err = checkTable(ctx, db.read, table); err != nil {
			break
		}
		checked++
	}
	if ctx.Err() != nil { // there was no time for the rest
		err = nil
	}
	return checked, len(all), asDamage(err)
}
