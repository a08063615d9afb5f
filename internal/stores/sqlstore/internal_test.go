package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"remit/internal/engine/approval"
	"remit/internal/engine/background"
)

func TestSettings(t *testing.T) {
	db, err := Open(t.Context(), "sqlite://"+filepath.Join(t.TempDir(), "remit.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
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

func TestUpgradeLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "remit.db")
	ctx, cancel := context.WithCancel(t.Context())
	release, err := lockUpgrade(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	cancel() // neither gives the lock up nor waits for it
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

// makeVersion1 makes a database as the first version of Remit did.
func makeVersion1(t *testing.T, path string) {
	t.Helper()
	if err := createFile(path); err != nil {
		t.Fatal(err)
	}
	db, err := pool(path, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	migrations, err := migrationsFor(db)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := migrations.UpTo(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	_, err = db.ExecContext(t.Context(), `INSERT INTO approvals (id, key, workspace, principal, tool, version, digest, arguments, summary, state, created_at, expires_at)
		VALUES ('a1', 'k', '/w', 'ann', 'demo/note', '1.0.0', 'sha256:1', '{}', 'Note', 'pending', 1, 2)`)
	if err != nil {
		t.Fatal(err)
	}
}

func TestUpgradeFromVersion1(t *testing.T) {
	path := filepath.Join(t.TempDir(), "remit.db")
	makeVersion1(t, path)
	db, err := Open(t.Context(), "sqlite://"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if r, err := db.Approvals().Get(t.Context(), "a1"); err != nil || r.State != approval.Pending || r.Principal != "ann" {
		t.Errorf("what was there is %+v, error %v", r, err)
	}
	now := time.Now()
	err = db.Background().Add(t.Context(), background.Task{ID: "t1", Arguments: []byte("{}"), Status: background.Working, CreatedAt: now, UpdatedAt: now, TTL: time.Hour})
	if err != nil {
		t.Errorf("a task cannot be kept: %v", err)
	}
	if fresh, err := db.Spend(t.Context(), "token", now, now.Add(time.Hour)); err != nil || !fresh {
		t.Errorf("a token cannot be spent: fresh %v, error %v", fresh, err)
	}
}

func TestExpiredTokensAreForgotten(t *testing.T) {
	db, err := Open(t.Context(), "sqlite://"+filepath.Join(t.TempDir(), "remit.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	now := time.Now()
	for i, token := range []string{"a", "b", "c"} {
		at := now.Add(time.Duration(i) * time.Minute)
		if _, err := db.Spend(t.Context(), token, at, at.Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	left := 0
	if err := db.read.QueryRowContext(t.Context(), "SELECT count(*) FROM spent_tokens").Scan(&left); err != nil || left != 1 {
		t.Errorf("%d tokens are kept, want the last alone (error %v)", left, err)
	}
}
