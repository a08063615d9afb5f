package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"testing"
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
