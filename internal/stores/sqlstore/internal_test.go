package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/pressly/goose/v3"

	"remit/internal/contract"
	"remit/internal/engine/approval"
	"remit/internal/engine/idempotency"
	"remit/internal/engine/jobs"
	"remit/internal/stores/sqlstore/pgtest"
)

func TestSettings(t *testing.T) {
	db := opened(t, "sqlite://"+filepath.Join(t.TempDir(), "remit.db"))
	for _, c := range []struct {
		name    string
		pool    *sql.DB
		setting string
		want    string
	}{
		{"writer", db.write, "journal_mode", "wal"},
		{"writer", db.write, "synchronous", "2"}, // FULL
		{"writer", db.write, "foreign_keys", "1"},
		{"writer", db.write, "busy_timeout", "5000"},
		{"writer", db.write, "query_only", "0"},
		{"reader", db.read, "journal_mode", "wal"},
		{"reader", db.read, "foreign_keys", "1"},
		{"reader", db.read, "busy_timeout", "5000"},
		{"reader", db.read, "query_only", "1"},
	} {
		got := ""
		if err := c.pool.QueryRowContext(t.Context(), "PRAGMA "+c.setting).Scan(&got); err != nil || got != c.want {
			t.Errorf("%s has %s %q, want %q (error %v)", c.name, c.setting, got, c.want, err)
		}
	}
	if n := db.write.Stats().MaxOpenConnections; n != 1 {
		t.Errorf("%d writers, want 1", n)
	}
	if _, err := db.read.ExecContext(t.Context(), "DELETE FROM approvals"); err == nil {
		t.Error("a reader can write")
	}
}

func TestPostgresSettings(t *testing.T) {
	url := pgtest.Database(t)
	for name, statement := range map[string]string{
		"off":          "ALTER ROLE app SET synchronous_commit = off",
		"local":        "ALTER ROLE app SET synchronous_commit = local",
		"remote_apply": "ALTER ROLE app SET synchronous_commit = remote_apply",
	} {
		db := opened(t, url)
		if _, err := db.write.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
		want := "on"
		if name == "remote_apply" { // stricter than our setting
			want = name
		}
		got := ""
		if err := opened(t, url).read.QueryRowContext(t.Context(), "SHOW synchronous_commit").Scan(&got); err != nil || got != want {
			t.Errorf("where synchronous_commit is %s it is %q for us, want %q (error %v)", name, got, want, err)
		}
	}
	opened(t, url).write.ExecContext(t.Context(), "ALTER ROLE app RESET synchronous_commit")
}

func TestUpgradeLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "remit.db")
	ctx, cancel := context.WithCancel(t.Context())
	release, err := lockUpgrade(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	cancel() // must neither release the lock nor wait for it
	if _, err := lockUpgrade(ctx, path); !errors.Is(err, context.Canceled) {
		t.Errorf("a second upgrade at the same time: %v", err)
	}
	if err := release(); err != nil {
		t.Error(err)
	}
	release, err = lockUpgrade(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if err := release(); err != nil {
		t.Error(err)
	}
}

// readRow reads the single row of a query.
func readRow(ctx context.Context, on runner, query string, dest ...any) error {
	_, err := findOne(ctx, on, query, into(dest...))
	return err
}

// bothEngines runs a test on a new, empty database of each kind.
func bothEngines(t *testing.T, run func(t *testing.T, url string)) {
	t.Run("SQLite", func(t *testing.T) { run(t, "sqlite://"+filepath.Join(t.TempDir(), "remit.db")) })
	t.Run("PostgreSQL", func(t *testing.T) { run(t, pgtest.Database(t)) })
}

// olderDatabase connects to a database that no version of Remit has used.
func olderDatabase(t *testing.T, url string) (*sql.DB, *goose.Provider) {
	t.Helper()
	var db *sql.DB
	var migrations *goose.Provider
	var err error
	if path, ok := File(url); ok {
		if err := createFile(path); err != nil {
			t.Fatal(err)
		}
		if db, err = pool(path, 1); err == nil {
			migrations, err = sqliteMigrationsFor(db)
		}
	} else if db, err = postgresPool(url); err == nil {
		migrations, err = postgresMigrationsFor(db)
	}
	if err != nil {
		t.Fatal(err)
	}
	return db, migrations
}

// makeVersion1 creates a database as the first version of Remit did.
func makeVersion1(t *testing.T, url string) {
	t.Helper()
	db, migrations := olderDatabase(t, url)
	defer db.Close()
	if _, err := migrations.UpTo(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	_, err := db.ExecContext(t.Context(), `INSERT INTO approvals (id, key, workspace, principal, tool, version, digest, arguments, summary, state, created_at, expires_at)
		VALUES ('a1', 'k', '/w', 'ann', 'demo/note', '1.0.0', 'sha256:1', '{}', 'Note', 'pending', 1, 2)`)
	if err != nil {
		t.Fatal(err)
	}
}

func TestUpgradeFromVersion1(t *testing.T) {
	bothEngines(t, func(t *testing.T, url string) {
		makeVersion1(t, url)
		db := opened(t, url)
		if r, err := db.Approvals().Get(t.Context(), "a1"); err != nil || r.State != approval.Pending || r.Principal != "ann" || r.Summary != "Note" {
			t.Errorf("what was there is %+v, error %v", r, err)
		}
		now := time.Now()
		err := db.Jobs().Add(t.Context(), jobs.Task{ID: "t1", Arguments: []byte("{}"), Status: jobs.Working, CreatedAt: now, UpdatedAt: now, TTL: time.Hour})
		if err != nil {
			t.Errorf("a task cannot be kept: %v", err)
		}
		if fresh, err := db.UseOnce(t.Context(), "token", now, now.Add(time.Hour)); err != nil || !fresh {
			t.Errorf("a token cannot be spent: fresh %v, error %v", fresh, err)
		}
	})
}

func TestExpiredTokensAreDeleted(t *testing.T) {
	bothEngines(t, func(t *testing.T, url string) {
		db := opened(t, url)
		now := time.Now()
		for i, token := range []string{"a", "b", "c"} {
			at := now.Add(time.Duration(i) * time.Minute)
			if _, err := db.UseOnce(t.Context(), token, at, at.Add(time.Minute)); err != nil {
				t.Fatal(err)
			}
		}
		left := 0
		if err := db.read.QueryRowContext(t.Context(), "SELECT count(*) FROM spent_tokens").Scan(&left); err != nil || left != 1 {
			t.Errorf("%d tokens are kept, want the last alone (error %v)", left, err)
		}
	})
}

func opened(t testing.TB, url string) *DB {
	t.Helper()
	db, err := Open(t.Context(), url)
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

// TestUnknownEntry checks the error of an entry whose commit was interrupted: it keeps the
// idempotency key of the call, because a repeated call could write the entry twice.
func TestUnknownEntry(t *testing.T) {
	lost := Source(func(context.Context) (*DB, error) { return &DB{writer: lostInCommit{}}, nil })
	memory := lost.Memory(MemoryOptions{Now: time.Now})
	_, err := memory.Append(t.Context(), "decisions.jsonl", []byte("{}"), nil)(t.Context())
	var got *contract.Error
	if !errors.As(err, &got) || got.Kind != contract.Unavailable || !errors.Is(got, idempotency.ErrUnknown) {
		t.Errorf("Append: %v", err)
	}
	if err := memory.Close(); err != nil {
		t.Error(err)
	}
}

// lostInCommit is a database that is lost during each commit.
type lostInCommit struct{}

func (lostInCommit) do(context.Context, work) error { return &CommitUnknownError{errors.New("gone")} }
func (lostInCommit) close() error                   { return nil }
