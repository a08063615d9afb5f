package sqlstore_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"modernc.org/sqlite"

	"remit/internal/stores/sqlstore"
	"remit/internal/stores/sqlstore/pgtest"
)

// engines runs a test on both databases. url returns the URL of a new, empty database that lives as
// long as the test it is passed.
func engines(t *testing.T, run func(t *testing.T, url func(t *testing.T) string)) {
	t.Helper()
	t.Run("SQLite", func(t *testing.T) {
		run(t, newFile)
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		run(t, func(t *testing.T) string { t.Helper(); return pgtest.Database(t) })
	})
}

func newFile(t *testing.T) string {
	t.Helper()
	return "sqlite://" + filepath.Join(t.TempDir(), "remit.db")
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
