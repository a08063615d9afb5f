package sqlstore_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"remit/internal/stores/sqlstore"
)

// TestReplacedFolder checks that all files of a database are in the folder that was opened, even if
// a link to another folder takes its place before the database is opened, and again while it is
// open.
func TestReplacedFolder(t *testing.T) {
	at := t.TempDir()
	data, moved, out := filepath.Join(at, "data"), filepath.Join(at, "moved"), filepath.Join(at, "out")
	for _, folder := range []string{data, out} {
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	folder, err := os.Open(data)
	if err != nil {
		t.Fatal(err)
	}
	replace := func(from, to string) {
		t.Helper()
		if err := errors.Join(os.Rename(from, to), os.Symlink(out, from)); err != nil {
			t.Fatal(err)
		}
	}
	replace(data, moved)
	db, err := sqlstore.OpenIn(t.Context(), "sqlite://"+filepath.Join(data, "remit.db"), folder)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.SetDataID(t.Context(), "x"); err != nil {
		t.Fatal(err)
	}
	again := filepath.Join(at, "again")
	replace(moved, again)
	if meta, err := db.Meta(t.Context(), ""); err != nil || meta.DataID != "x" {
		t.Errorf("the database has the id %q, error %v", meta.DataID, err)
	}
	if info, err := os.Stat(filepath.Join(again, "remit.db")); err != nil || !os.SameFile(info, db.Stat()) {
		t.Errorf("the database is another file: %v", err)
	}
	if _, err := os.Stat(filepath.Join(again, "remit.db-wal")); err != nil {
		t.Error(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(out); err != nil || len(left) > 0 {
		t.Errorf("the folder that the link names has %v, error %v", left, err)
	}
}

// TestLinkedFile checks that a link in the place of the database, or of its log, is not followed.
func TestLinkedFile(t *testing.T) {
	for _, name := range []string{"remit.db", "remit.db-wal", "remit.db-shm", "remit.db.lock"} {
		at, out := t.TempDir(), filepath.Join(t.TempDir(), "out")
		if err := os.WriteFile(out, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(out, filepath.Join(at, name)); err != nil {
			t.Fatal(err)
		}
		folder, err := os.Open(at)
		if err != nil {
			t.Fatal(err)
		}
		db, err := sqlstore.OpenIn(t.Context(), "sqlite://"+filepath.Join(at, "remit.db"), folder)
		if err == nil {
			t.Errorf("%s is a link, and the database is opened", name)
			_ = db.Close()
		}
		if text, err := os.ReadFile(out); err != nil || len(text) > 0 {
			t.Errorf("through the link %s were written %d bytes, error %v", name, len(text), err)
		}
	}
}
