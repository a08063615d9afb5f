package sqlstore

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"path"
	"time"

	"github.com/pressly/goose/v3"
)

//go:embed migrations/*/*.sql
var migrationFiles embed.FS

// upgradeFile migrates a database file to the version that this program supports. If the file is up
// to date, this takes two reads and no lock.
func upgradeFile(ctx context.Context, db *sql.DB, file string) error {
	migrations, err := sqliteMigrationsFor(db)
	if err != nil {
		return err
	}
	if ready, err := isFileReady(ctx, db, latest(migrations)); ready || err != nil {
		return err
	}
	release, err := lockUpgrade(ctx, file)
	if err != nil {
		return err
	}
	return errors.Join(migrateFile(ctx, db, migrations), release())
}

// upgradePostgres migrates a PostgreSQL database to the version that this program supports. If the
// database is up to date, this takes two reads and no lock.
func upgradePostgres(ctx context.Context, db *sql.DB) (err error) {
	migrations, err := postgresMigrationsFor(db)
	if err != nil {
		return err
	}
	if ready, err := isCurrent(ctx, db, tableOfPostgres, latest(migrations)); ready || err != nil {
		return err
	}
	lock, err := db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	// Replicas that start together wait here. The lock ends with the connection at the latest.
	if _, err := lock.ExecContext(ctx, "SELECT pg_advisory_lock($1)", upgradeLock); err != nil {
		return fmt.Errorf("wait for upgrade lock: %w", err)
	}
	defer func() {
		_, unlockErr := lock.ExecContext(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock($1)", upgradeLock)
		err = errors.Join(err, unlockErr)
	}()
	if ready, err := isCurrent(ctx, db, tableOfPostgres, latest(migrations)); ready || err != nil {
		return err
	}
	_, err = migrations.Up(ctx)
	return wrap("upgrade", err)
}

// upgradeLock is the number of the advisory lock: "remit" in ASCII.
const upgradeLock = 0x72656d6974

func sqliteMigrationsFor(db *sql.DB) (*goose.Provider, error) {
	return migrationsFor(goose.DialectSQLite3, db, "migrations/sqlite")
}

func postgresMigrationsFor(db *sql.DB) (*goose.Provider, error) {
	return migrationsFor(goose.DialectPostgres, db, "migrations/postgres")
}

// migrationsFor reads the migrations in a folder. It passes each migration to goose as a function
// that runs the whole file. Otherwise goose would first split the file into statements, with
// buffers of several megabytes, which takes longer than running them. So a file holds only the "up"
// direction.
func migrationsFor(dialect goose.Dialect, db *sql.DB, folder string) (*goose.Provider, error) {
	entries, err := migrationFiles.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	var all []*goose.Migration
	for _, entry := range entries {
		version, err := goose.NumericComponent(entry.Name())
		if err != nil {
			return nil, fmt.Errorf("read migrations: %w", err)
		}
		all = append(all, goose.NewGoMigration(version, &goose.GoFunc{RunTx: func(ctx context.Context, tx *sql.Tx) error {
			text, err := migrationFiles.ReadFile(path.Join(folder, entry.Name()))
			if err != nil {
				return err
			}
			return exec(ctx, tx, string(text))
		}}, nil))
	}
	p, err := goose.NewProvider(dialect, db, nil,
		goose.WithGoMigrations(all...), goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()))
	return p, wrap("read migrations", err)
}

func latest(migrations *goose.Provider) int64 {
	sources := migrations.ListSources()
	return sources[len(sources)-1].Version
}

// isFileReady reports whether the file needs no migration.
func isFileReady(ctx context.Context, db *sql.DB, known int64) (bool, error) {
	current, err := isCurrent(ctx, db, tableOfSQLite, known)
	if err != nil {
		return false, err
	}
	mode := ""
	if err := db.QueryRowContext(ctx, "PRAGMA journal_mode").Scan(&mode); err != nil {
		return false, fmt.Errorf("read journal mode: %w", err)
	}
	return current && mode == "wal", nil
}

// isCurrent reports whether the database has the version known. It returns an error if the version
// is newer.
func isCurrent(ctx context.Context, db *sql.DB, hasTable string, known int64) (bool, error) {
	version, err := version(ctx, db, hasTable)
	if err != nil {
		return false, fmt.Errorf("read version: %w", err)
	}
	if version > known {
		return false, &SchemaTooNewError{Version: version, Known: known}
	}
	return version == known, nil
}

// Queries that tell whether the table of goose exists.
const (
	tableOfSQLite   = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = '" + goose.DefaultTablename + "'"
	tableOfPostgres = "SELECT count(to_regclass('" + goose.DefaultTablename + "'))"
)

// version returns the version that goose has recorded. It does not use goose, which would first
// create its table, even in a database that is not ours.
func version(ctx context.Context, db querier, hasTable string) (int64, error) {
	tables := 0
	err := db.QueryRowContext(ctx, hasTable).Scan(&tables)
	if err != nil || tables == 0 {
		return 0, err
	}
	var n sql.NullInt64
	err = db.QueryRowContext(ctx, "SELECT max(version_id) FROM "+goose.DefaultTablename).Scan(&n)
	return n.Int64, err
}

// lockUpgrade lets one process at a time migrate a database file: goose has no lock for SQLite, so
// two processes that see the same version would both apply the next migration. The lock is on a
// file beside the database, which stays empty. It is a lock of SQLite itself, because that works on
// every system, also between goroutines, and ends with the process that holds it.
func lockUpgrade(ctx context.Context, file string) (release func() error, err error) {
	file += ".lock"
	if err := createFile(file); err != nil {
		return nil, fmt.Errorf("create upgrade lock: %w", err)
	}
	lock, err := pool(file, 1, "_txlock=exclusive", "_busy_timeout=100")
	if err != nil {
		return nil, err
	}
	tx, err := waitFor(ctx, lock)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("wait for upgrade lock: %w", err), lock.Close())
	}
	return func() error { return errors.Join(tx.Rollback(), lock.Close()) }, nil
}

// waitFor begins the only transaction that lock allows, within a minute. It retries in a loop,
// because SQLite does not notice that ctx has ended while it waits.
func waitFor(ctx context.Context, lock *sql.DB) (*sql.Tx, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		// A transaction ends with its context, but this one must last until it is released.
		tx, err := lock.BeginTx(context.WithoutCancel(ctx), nil)
		if !isBusy(err) {
			return tx, err
		}
		if ctx.Err() != nil {
			return nil, errors.Join(ctx.Err(), err)
		}
	}
}

// migrateFile applies the missing migrations. It checks again first, because another process may
// have applied them while this one waited for the lock.
func migrateFile(ctx context.Context, db *sql.DB, migrations *goose.Provider) error {
	if ready, err := isFileReady(ctx, db, latest(migrations)); ready || err != nil {
		return err
	}
	// The mode is stored in the file. It is set here because SQLite does not wait for a lock when
	// two processes switch the mode at the same time.
	if _, err := db.ExecContext(ctx, "PRAGMA journal_mode = WAL"); err != nil {
		return fmt.Errorf("switch to write-ahead log: %w", err)
	}
	_, err := migrations.Up(ctx)
	return wrap("upgrade", err)
}
