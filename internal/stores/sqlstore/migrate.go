package sqlstore

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/pressly/goose/v3"
)

//go:embed migrations/sqlite/*.sql
var sqliteMigrations embed.FS

// upgrade brings the database at path to the version that this program knows.
// When it is there already, that costs two reads and no lock.
func upgrade(ctx context.Context, db *sql.DB, path string) error {
	migrations, err := migrationsFor(db)
	if err != nil {
		return err
	}
	if ready, err := isReady(ctx, db, latest(migrations)); ready || err != nil {
		return err
	}
	release, err := lockUpgrade(ctx, path)
	if err != nil {
		return err
	}
	return errors.Join(migrate(ctx, db, migrations), release())
}

func migrationsFor(db *sql.DB) (*goose.Provider, error) {
	folder, err := fs.Sub(sqliteMigrations, "migrations/sqlite")
	if err != nil {
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, db, folder,
		goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()))
	if err != nil {
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	return p, nil
}

func latest(migrations *goose.Provider) int64 {
	sources := migrations.ListSources()
	return sources[len(sources)-1].Version
}

// isReady says whether the database needs nothing done. It is an error if the
// database is of a newer version than known.
func isReady(ctx context.Context, db *sql.DB, known int64) (bool, error) {
	version, err := version(ctx, db)
	if err != nil {
		return false, fmt.Errorf("read version: %w", err)
	}
	if version > known {
		return false, fmt.Errorf("it has version %d and this program knows versions up to %d: a newer Remit wrote it; use that one, or another database", version, known)
	}
	mode := ""
	if err := db.QueryRowContext(ctx, "PRAGMA journal_mode").Scan(&mode); err != nil {
		return false, fmt.Errorf("read journal mode: %w", err)
	}
	return version == known && mode == "wal", nil
}

// version is the version that goose has recorded. It does not ask goose, which
// would write its table first, and that to a database of any kind.
func version(ctx context.Context, db *sql.DB) (int64, error) {
	tables := 0
	err := db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = $1", goose.DefaultTablename).Scan(&tables)
	if err != nil || tables == 0 {
		return 0, err
	}
	var n sql.NullInt64
	err = db.QueryRowContext(ctx, "SELECT max(version_id) FROM "+goose.DefaultTablename).Scan(&n)
	return n.Int64, err
}

// lockUpgrade lets one process at a time upgrade the database at path: goose
// has no lock for SQLite, and two that see the same version would both apply
// the next migration. The lock is on a file beside the database, which stays
// empty. It is SQLite's own, because that works on every system, also between
// goroutines, and ends with the process that holds it.
func lockUpgrade(ctx context.Context, path string) (release func() error, err error) {
	path += ".lock"
	if err := createFile(path); err != nil {
		return nil, fmt.Errorf("create upgrade lock: %w", err)
	}
	lock, err := pool(path, 1, "_txlock=exclusive", "_busy_timeout=100")
	if err != nil {
		return nil, err
	}
	tx, err := waitFor(ctx, lock)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("wait for upgrade lock: %w", err), lock.Close())
	}
	return func() error { return errors.Join(rollback(tx), lock.Close()) }, nil
}

// waitFor begins the one transaction that lock allows, within a minute. It
// tries again and again because SQLite, while it waits, does not notice that
// ctx has ended.
func waitFor(ctx context.Context, lock *sql.DB) (*sql.Tx, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		// A transaction ends with its context; this one lasts until released.
		tx, err := lock.BeginTx(context.WithoutCancel(ctx), nil)
		if !isBusy(err) {
			return tx, err
		}
		if ctx.Err() != nil {
			return nil, errors.Join(ctx.Err(), err)
		}
	}
}

// migrate applies what is missing, if it still is: another process may have
// done it while this one waited for the lock.
func migrate(ctx context.Context, db *sql.DB, migrations *goose.Provider) error {
	if ready, err := isReady(ctx, db, latest(migrations)); ready || err != nil {
		return err
	}
	// The file remembers this. It is done here because SQLite does not wait,
	// as it does elsewhere, when two processes switch the mode at once.
	if _, err := db.ExecContext(ctx, "PRAGMA journal_mode = WAL"); err != nil {
		return fmt.Errorf("switch to write-ahead log: %w", err)
	}
	if _, err := migrations.Up(ctx); err != nil {
		return fmt.Errorf("upgrade: %w", err)
	}
	return nil
}
