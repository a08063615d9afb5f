package app

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"remit/internal/engine/approval"
	"remit/internal/engine/audit"
	"remit/internal/frontends/cli"
	"remit/internal/stores/sqlstore/pgtest"
)

// onBothDatabases runs a test with settings for a new workspace.
func onBothDatabases(t *testing.T, test func(t *testing.T, settings func(t *testing.T) cli.Settings)) {
	t.Helper()
	for name, database := range map[string]func(*testing.T, string) string{
		"SQLite":     func(_ *testing.T, data string) string { return "sqlite://" + filepath.Join(data, "remit.db") },
		"PostgreSQL": func(t *testing.T, _ string) string { t.Helper(); return pgtest.Database(t) },
	} {
		t.Run(name, func(t *testing.T) {
			test(t, func(t *testing.T) cli.Settings {
				t.Helper()
				root := t.TempDir()
				data := filepath.Join(root, ".remit")
				return cli.Settings{
					Root: root, Data: data, Config: filepath.Join(root, "remit.yaml"), Keys: root + "-keys", Database: database(t, data),
					Books: []string{folderScheme + filepath.Join(root, "library")}, Toolsets: []string{"books"}, Approve: approval.Auto,
					Env: func(string) (string, bool) { return "", false },
				}
			})
		})
	}
}

// begin stores a record in a workspace that announces a change.
func begin(t *testing.T, a *App) {
	t.Helper()
	effect := audit.NewEffect(&audit.Record{Time: a.options.Now(), Tool: "books/write_content", Outcome: "ok"}, a.records)
	if _, err := effect.Begin(t.Context(), audit.Change{Store: "fs", Op: "write", Path: "books/a/lessons/b.md", Size: 1, New: "x"}); err != nil {
		t.Fatal(err)
	}
}

// TestRestoreSettlesOpenCalls checks that a call that runs at the moment of a backup is not open in
// the restored workspace, although its process is alive.
func TestRestoreSettlesOpenCalls(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, settings func(*testing.T) cli.Settings) {
		from, to := settings(t), settings(t)
		a := openHere(t, func(s *cli.Settings) { *s = from })
		begin(t, a)
		archive, log := filepath.Join(t.TempDir(), "a.tar.zst"), slog.New(slog.DiscardHandler)
		report := func(cli.Progress) {}
		if _, err := (backups{}).Create(t.Context(), from, log, cli.BackupRequest{Archive: archive, Report: report}); err != nil {
			t.Fatal(err)
		}
		if _, err := (backups{}).Restore(t.Context(), to, log, cli.RestoreRequest{
			Archive: archive, Report: report, Confirm: func(cli.BackupReport) error { return nil },
		}); err != nil {
			t.Fatal(err)
		}
		restored := openHere(t, func(s *cli.Settings) { *s = to })
		var was, is audit.Ledger
		if err := errors.Join(was.ReadAll(t.Context(), a.storage.audit), is.ReadAll(t.Context(), restored.storage.audit)); err != nil {
			t.Fatal(err)
		}
		if len(was.Open()) != 1 || len(is.Changes) != 1 || len(is.Open()) != 0 || is.Changes[0].State != audit.NotMade {
			t.Errorf("%d open calls before; after the restore %d of %d changes", len(was.Open()), len(is.Open()), len(is.Changes))
		}
		if ended, _, err := restored.announced.list.Dead(t.Context()); err != nil || len(ended) != 0 {
			t.Errorf("there is something left to settle: %v, %v", ended, err)
		}
	})
}

// TestOneHoldsTheRecords checks that records are held by one process at a time, and that others
// stop waiting when they shall.
func TestOneHoldsTheRecords(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, settings func(*testing.T) cli.Settings) {
		a := openHere(t, func(s *cli.Settings) { *s = settings(t) })
		db, err := a.database.open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		begin(t, a)
		_, release, err := a.holdRecords(t.Context(), db)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if m, err := a.takeMoment(ctx, db); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("while another holds the records: %v, %v", m, err)
		}
		if err := release(); err != nil {
			t.Fatal(err)
		}
		m, err := a.takeMoment(t.Context(), db)
		if err != nil {
			t.Fatal(err)
		}
		m.close()
	})
}
