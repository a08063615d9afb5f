package sqlstore_test

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"modernc.org/sqlite"

	"remit/internal/stores/sqlstore"
	"remit/internal/stores/sqlstore/pgtest"
)

// engines runs a test on both databases. url returns the URL of a new database without rows that
// lives as long as the test it is passed.
func engines(t *testing.T, run func(t *testing.T, url func(t *testing.T) string)) {
	t.Helper()
	t.Run("SQLite", func(t *testing.T) { run(t, newFile) })
	t.Run("PostgreSQL", func(t *testing.T) { run(t, newDatabase) })
}

// emptyEngines is like engines, but the databases have no tables.
func emptyEngines(t *testing.T, run func(t *testing.T, url func(t *testing.T) string)) {
	t.Helper()
	t.Run("SQLite", func(t *testing.T) { run(t, emptyFile) })
	t.Run("PostgreSQL", func(t *testing.T) {
		run(t, func(t *testing.T) string { t.Helper(); return pgtest.Database(t) })
	})
}

func emptyFile(t *testing.T) string {
	t.Helper()
	return "sqlite://" + filepath.Join(t.TempDir(), "remit.db")
}

// newFile returns a database file without rows. To copy one takes less time than to create the
// tables.
func newFile(t *testing.T) string {
	t.Helper()
	url := emptyFile(t)
	content, err := migrated()
	if err == nil {
		err = os.WriteFile(strings.TrimPrefix(url, "sqlite://"), content, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return url
}

// migrated returns the content of a database file without rows.
var migrated = sync.OnceValues(func() ([]byte, error) {
	folder, err := os.MkdirTemp("", "sqlstore")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	name := filepath.Join(folder, "remit.db")
	if err := migrate("sqlite://" + name); err != nil {
		return nil, err
	}
	return os.ReadFile(name)
})

// newDatabase is newFile for PostgreSQL.
func newDatabase(t *testing.T) string {
	t.Helper()
	return pgtest.Prepared(t, func(t testing.TB, url string) {
		t.Helper()
		if err := migrate(url); err != nil {
			t.Fatal(err)
		}
	})
}

func migrate(url string) error {
	db, err := sqlstore.Open(context.Background(), url)
	if err != nil {
		return err
	}
	return db.Close()
}

func open(t testing.TB, url string) *sqlstore.DB {
	t.Helper()
	db, err := sqlstore.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// behind changes a database directly, without the store.
func behind(t *testing.T, url, query string) {
	t.Helper()
	raw(t, url, func(db *sql.DB) error {
		_, err := db.ExecContext(context.Background(), query)
		return err
	})
}

func raw(t *testing.T, url string, f func(*sql.DB) error) {
	t.Helper()
	db := rawDB(t, url)
	defer db.Close()
	if err := f(db); err != nil {
		t.Fatal(err)
	}
}

func rawDB(t *testing.T, url string) *sql.DB {
	t.Helper()
	if path, ok := strings.CutPrefix(url, "sqlite://"); ok {
		connector, err := sqlite.NewConnector(path)
		if err != nil {
			t.Fatal(err)
		}
		return sql.OpenDB(connector)
	}
	config, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	return stdlib.OpenDB(*config)
}
