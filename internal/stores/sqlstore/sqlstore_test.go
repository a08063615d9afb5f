package sqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"remit/internal/stores/sqlstore"
)

func TestURLs(t *testing.T) {
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

func TestInvalidURLs(t *testing.T) {
	t.Chdir(t.TempDir())
	for address, word := range map[string]string{
		"mysql://app:geheim@db/remit":        `unknown scheme "mysql"; use sqlite://PATH or postgres://`,
		"app:geheim@db/remit":                "no scheme",
		"":                                   "no scheme",
		"sqlite://":                          "names no file",
		"sqlite://:memory:":                  "names no file",
		"sqlite://.":                         "is a folder",
		"postgres://app:geheim/x@db/remit":   "the database URL is invalid",
		"postgresql://app:ge#heim@db/remit":  "cannot be reached: ",
		"postgres://app:geheim@127.0.0.1:1/": "cannot be reached: connect: connection refused",
		"postgres://app:geheim@no.invalid/x": "cannot be reached: ",
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

func TestFilesArePrivate(t *testing.T) {
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
	engines(t, func(t *testing.T, url func(t *testing.T) string) {
		at := url(t)
		open(t, at).Close()
		behind(t, at, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, true)")
		_, err := sqlstore.Open(t.Context(), at)
		var newer *sqlstore.SchemaTooNewError
		if !errors.As(err, &newer) || newer.Version != 9999 ||
			!strings.Contains(err.Error(), "has version 9999, but this program supports versions up to") {
			t.Errorf("error %v", err)
		}
	})
}

// A crash between the steps of goose, or a file copied without its journal mode.
func TestUnfinishedDatabaseIsFinished(t *testing.T) {
	at := newFile(t)
	open(t, at).Close()
	behind(t, at, "PRAGMA journal_mode = DELETE")
	for _, table := range []string{
		"task_lists", "tasks", "task_ids", "task_trash", "once_keys", "file_accesses", "knowledge_workspaces", "knowledge_sources",
		"knowledge_pieces", "knowledge_vectors", "knowledge_models", "knowledge_leases", "knowledge_snapshots", "client_sessions", "client_sessions_pruned",
		"agent_tokens", "console_sessions", "console_voids", "meta", "passkeys", "outbox", "approval_rules",
	} {
		behind(t, at, "DROP TABLE "+table)
	}
	behind(t, at, "DELETE FROM goose_db_version WHERE version_id > 2")
	if err := approve(t.Context(), open(t, at).Approvals(), "r1", "key"); err != nil {
		t.Error(err)
	}
}

func TestProcessesOpenANewDatabaseAtOnce(t *testing.T) {
	emptyEngines(t, func(t *testing.T, url func(t *testing.T) string) {
		for range 2 {
			at := url(t)
			for _, c := range spawnTogether(t, 8, "open", at) {
				c.lines(t)
			}
			migratedOnce(t, at)
		}
	})
}

func TestGoroutinesOpenANewDatabaseAtOnce(t *testing.T) {
	emptyEngines(t, func(t *testing.T, url func(t *testing.T) string) {
		at := url(t)
		errs := make(chan error)
		for range 8 {
			go func() {
				db, err := sqlstore.Open(t.Context(), at)
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
		migratedOnce(t, at)
	})
}

// migratedOnce checks that goose has recorded each version once.
func migratedOnce(t *testing.T, url string) {
	t.Helper()
	var rows, versions int
	raw(t, url, func(db *sql.DB) error {
		return db.QueryRowContext(t.Context(), "SELECT count(*), count(DISTINCT version_id) FROM goose_db_version").Scan(&rows, &versions)
	})
	if rows != versions || versions < 2 {
		t.Errorf("%d migrations recorded for %d versions", rows, versions)
	}
}

func TestOpenIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	emptyEngines(t, func(t *testing.T, url func(t *testing.T) string) {
		if _, err := sqlstore.Open(ctx, url(t)); err == nil {
			t.Error("a cancelled Open succeeded")
		}
	})
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

// benchOpen measures Open only.
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
