package sqlstore_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"modernc.org/sqlite"

	"remit/internal/stores/sqlstore"
)

func TestAddresses(t *testing.T) {
	t.Chdir(t.TempDir())
	abs := filepath.Join(t.TempDir(), "a", "b", "remit.db")
	for address, file := range map[string]string{
		"sqlite://" + abs:                  abs,
		"sqlite://remit.db":                "remit.db",
		"sqlite://new/folder/remit.db":     "new/folder/remit.db",
		"sqlite://50% off #1 & ümlaut+.db": "50% off #1 & ümlaut+.db",
	} {
		open(t, address)
		if _, err := os.Stat(file); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestAddressesRefused(t *testing.T) {
	t.Chdir(t.TempDir())
	for address, word := range map[string]string{
		"postgres://app:geheim@db/remit":   "later version",
		"postgresql://app:geheim@db/remit": "later version",
		"mysql://app:geheim@db/remit":      `unknown scheme "mysql"; use sqlite://PATH (postgres://`,
		"app:geheim@db/remit":              "no scheme",
		"":                                 "no scheme",
		"sqlite://":                        "names no file",
		"sqlite://:memory:":                "names no file",
		"sqlite://.":                       "is a folder",
	} {
		_, err := sqlstore.Open(t.Context(), address)
		if err == nil || !strings.Contains(err.Error(), word) || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%q: %v, want %q and no password", address, err, word)
		}
	}
	if left, _ := os.ReadDir("."); len(left) != 0 {
		t.Errorf("a refused address left %v behind", left)
	}
}

func TestFilesAreTheOwnersAlone(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such modes")
	}
	folder := filepath.Join(t.TempDir(), "data")
	db := open(t, "sqlite://"+filepath.Join(folder, "remit.db"))
	if err := approve(t.Context(), db.Approvals(), "r1", "key"); err != nil {
		t.Fatal(err)
	}
	mode(t, folder, 0o700)
	files, err := os.ReadDir(folder)
	if err != nil || len(files) < 3 {
		t.Fatalf("files %v, error %v", files, err)
	}
	for _, f := range files {
		mode(t, filepath.Join(folder, f.Name()), 0o600)
	}
}

func mode(t *testing.T, path string, want os.FileMode) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != want {
		t.Errorf("%s has mode %o, want %o (error %v)", path, info.Mode().Perm(), want, err)
	}
}

func TestNotADatabase(t *testing.T) {
	for name, content := range map[string]string{"short": "hello", "long": strings.Repeat("not a database\n", 1000)} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := sqlstore.Open(t.Context(), "sqlite://"+path)
		if err == nil || !strings.Contains(err.Error(), path+": the file is not a SQLite database") {
			t.Errorf("%s: %v", name, err)
		}
		if left, err := os.ReadFile(path); string(left) != content || err != nil {
			t.Errorf("%s: the file was changed (error %v)", name, err)
		}
	}
}

func TestNewerDatabaseIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "remit.db")
	open(t, "sqlite://"+path).Close()
	behind(t, path, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, 1)")
	_, err := sqlstore.Open(t.Context(), "sqlite://"+path)
	if err == nil || !strings.Contains(err.Error(), "has version 9999 and this program knows versions up to") {
		t.Errorf("error %v", err)
	}
}

// A crash between goose's steps, or a file copied without its log mode.
func TestUnfinishedDatabaseIsFinished(t *testing.T) {
	path := filepath.Join(t.TempDir(), "remit.db")
	open(t, "sqlite://"+path).Close()
	behind(t, path, "PRAGMA journal_mode = DELETE")
	for _, table := range []string{"approvals", "background_tasks", "spent_tokens"} {
		behind(t, path, "DROP TABLE "+table)
	}
	behind(t, path, "DELETE FROM goose_db_version WHERE version_id > 0")
	if err := approve(t.Context(), open(t, "sqlite://"+path).Approvals(), "r1", "key"); err != nil {
		t.Error(err)
	}
}

func TestProcessesOpenANewDatabaseAtOnce(t *testing.T) {
	for range 3 {
		path := filepath.Join(t.TempDir(), "data", "remit.db")
		for _, c := range spawnTogether(t, 8, "open", "sqlite://"+path) {
			c.lines(t)
		}
		migratedOnce(t, path)
	}
}

func TestGoroutinesOpenANewDatabaseAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data", "remit.db")
	errs := make(chan error)
	for range 8 {
		go func() {
			db, err := sqlstore.Open(t.Context(), "sqlite://"+path)
			if err == nil {
				err = db.Close()
			}
			errs <- err
		}()
	}
	for range 8 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	migratedOnce(t, path)
}

// migratedOnce checks that goose has recorded each version once.
func migratedOnce(t *testing.T, path string) {
	t.Helper()
	var rows, versions int
	raw(t, path, func(db *sql.DB) error {
		return db.QueryRow("SELECT count(*), count(DISTINCT version_id) FROM goose_db_version").Scan(&rows, &versions)
	})
	if rows != versions || versions < 2 {
		t.Errorf("%d migrations recorded for %d versions", rows, versions)
	}
}

func TestOpenIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := sqlstore.Open(ctx, "sqlite://"+filepath.Join(t.TempDir(), "remit.db")); err == nil {
		t.Error("a cancelled Open succeeded")
	}
}

// behind changes the database at path behind the store's back.
func behind(t *testing.T, path, query string) {
	t.Helper()
	raw(t, path, func(db *sql.DB) error {
		_, err := db.Exec(query)
		return err
	})
}

func raw(t *testing.T, path string, f func(*sql.DB) error) {
	t.Helper()
	connector, err := sqlite.NewConnector(path)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	if err := f(db); err != nil {
		t.Fatal(err)
	}
}

func BenchmarkOpen(b *testing.B) {
	dir := b.TempDir()
	b.Run("existing", func(b *testing.B) {
		for b.Loop() {
			benchOpen(b, filepath.Join(dir, "remit.db"))
		}
	})
	n := 0
	b.Run("new", func(b *testing.B) {
		for b.Loop() {
			n++
			benchOpen(b, filepath.Join(dir, fmt.Sprint("new", n), "remit.db"))
		}
	})
}

// benchOpen measures Open alone.
func benchOpen(b *testing.B, path string) {
	db, err := sqlstore.Open(b.Context(), "sqlite://"+path)
	if err != nil {
		b.Fatal(err)
	}
	b.StopTimer()
	if err := db.Close(); err != nil {
		b.Fatal(err)
	}
	b.StartTimer()
}
