package sqlstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"remit/internal/engine/identity"
	"remit/internal/stores/sqlstore"
)

// filledFile returns a database file with an id and many tokens, which is closed if closed.
func filledFile(t *testing.T, dataID string, closed bool) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "remit.db")
	db, err := sqlstore.Open(t.Context(), "sqlite://"+name)
	check(t, err)
	_, err = db.SetDataID(t.Context(), dataID)
	check(t, err)
	for i := range 200 {
		text := fmt.Sprintf("token-%d", i)
		check(t, db.AgentTokens().Add(t.Context(), identity.Token{
			ID: text, Name: text, Hash: strings.Repeat(text, 20), Seal: text, By: strings.Repeat("x", 200), Created: time.Now(),
			Scopes: identity.Scopes{{Set: "tasks"}: true},
		}))
	}
	if closed {
		check(t, db.Close())
	} else {
		t.Cleanup(func() { check(t, db.Close()) })
	}
	return name
}

// openFile returns a database file that is in use, with an id and nothing else.
func openFile(t *testing.T, dataID string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "remit.db")
	db, err := sqlstore.Open(t.Context(), "sqlite://"+name)
	check(t, err)
	t.Cleanup(func() { check(t, db.Close()) })
	_, err = db.SetDataID(t.Context(), dataID)
	check(t, err)
	return name
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// edit changes the bytes of a file.
func edit(t *testing.T, name string, change func(data []byte) []byte) {
	t.Helper()
	data, err := os.ReadFile(name)
	check(t, err)
	check(t, os.WriteFile(name, change(data), 0o600))
}

// zeroPage overwrites the last page that holds a text.
func zeroPage(t *testing.T, name, text string) {
	t.Helper()
	edit(t, name, func(data []byte) []byte {
		at := bytes.LastIndex(data, []byte(text))
		if at < 0 {
			t.Fatalf("no page has %s", text)
		}
		clear(data[at/4096*4096:][:4096])
		return data
	})
}

// copyOpen copies an open database as a crash leaves it, without the files of some suffixes.
func copyOpen(t *testing.T, from string, without ...string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "remit.db")
	for _, suffix := range []string{"", "-wal", "-shm"} {
		data, err := os.ReadFile(from + suffix)
		check(t, err)
		check(t, os.WriteFile(to+suffix, data, 0o600))
	}
	for _, suffix := range without {
		check(t, os.Remove(to+suffix))
	}
	return to
}

func TestInspectFindsDamage(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		make func(t *testing.T) string
		want string // the reason; "" if it is not damaged
	}{
		"nothing":             {func(t *testing.T) string { t.Helper(); return filledFile(t, "a", true) }, ""},
		"nothing, in use":     {func(t *testing.T) string { t.Helper(); return filledFile(t, "a", false) }, ""},
		"nothing, crashed":    {func(t *testing.T) string { t.Helper(); return copyOpen(t, filledFile(t, "a", false)) }, ""},
		"both log files gone": {func(t *testing.T) string { t.Helper(); return filledFile(t, "a", true) }, ""},
		"cut": {func(t *testing.T) string {
			t.Helper()
			file := filledFile(t, "a", true)
			edit(t, file, func(data []byte) []byte { return data[:len(data)/2] })
			return file
		}, "a part of it is missing"},
		"a page of tokens is zero": {func(t *testing.T) string {
			t.Helper()
			file := filledFile(t, "a", true)
			zeroPage(t, file, "token-150token-150")
			return file
		}, "a part of it is missing or was overwritten"},
		"another header": {func(t *testing.T) string {
			t.Helper()
			file := filledFile(t, "a", true)
			edit(t, file, func(data []byte) []byte { copy(data, "GIF89a, not SQLite"); return data })
			return file
		}, "not a SQLite database"},
		"the mark of another program": {func(t *testing.T) string {
			t.Helper()
			file := filledFile(t, "a", true)
			edit(t, file, func(data []byte) []byte { copy(data[68:], "abcd"); return data })
			return file
		}, "header is that of another database"},
		"the log is missing": {func(t *testing.T) string { t.Helper(); return copyOpen(t, filledFile(t, "a", false), "-wal") }, "(-wal) was removed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := tc.make(t)
			before, err := os.ReadFile(file)
			check(t, err)
			found, err := sqlstore.Inspect(t.Context(), "sqlite://"+file, nil)
			var damaged *sqlstore.DamagedError
			switch {
			case tc.want == "":
				if err != nil || found != (sqlstore.Found{DataID: "a"}) {
					t.Errorf("%+v, %v", found, err)
				}
			case !errors.As(err, &damaged) || !strings.Contains(damaged.Reason, tc.want):
				t.Errorf("got %v, want %s", err, tc.want)
			}
			if after, err := os.ReadFile(file); err != nil || !bytes.Equal(before, after) {
				t.Errorf("Inspect changed the file: %v", err)
			}
		})
	}
}

// TestInspectFindsAnotherLog puts the write-ahead log of another database beside the file: its id
// is found, and the file is not changed.
func TestInspectFindsAnotherLog(t *testing.T) {
	file, other := filledFile(t, "a", true), copyOpen(t, openFile(t, "b"))
	check(t, os.Rename(other+"-wal", file+"-wal"))
	before, err := os.ReadFile(file)
	check(t, err)
	found, err := sqlstore.Inspect(t.Context(), "sqlite://"+file, nil)
	if err == nil && found.DataID == "a" {
		t.Error("the log of another database was not found")
	}
	after, err := os.ReadFile(file)
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("the log was applied to the file: %v", err)
	}
}

func TestInspectFindsAnEmptyFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "remit.db")
	check(t, os.WriteFile(file, nil, 0o600))
	found, err := sqlstore.Inspect(t.Context(), "sqlite://"+file, nil)
	if err != nil || !found.Empty {
		t.Errorf("%+v, %v", found, err)
	}
}

// TestCloseLeavesNoLog checks that no statement keeps the file open after Close.
func TestCloseLeavesNoLog(t *testing.T) {
	file := filledFile(t, "a", true)
	for _, suffix := range []string{"-wal", "-shm"} {
		if _, err := os.Stat(file + suffix); err == nil {
			t.Errorf("%s is still there", suffix)
		}
	}
}

// TestWatch lets the file of a database move away between a commit and its answer.
func TestWatch(t *testing.T) {
	db, err := sqlstore.Open(t.Context(), "sqlite://"+filepath.Join(t.TempDir(), "remit.db"))
	check(t, err)
	defer func() { check(t, db.Close()) }()
	gone := errors.New("unmounted")
	db.Watch(func() error { return gone })
	_, err = db.SetDataID(t.Context(), "a")
	if _, ok := errors.AsType[*sqlstore.CommitUnknownError](err); !ok || !errors.Is(err, gone) {
		t.Errorf("the commit was acknowledged: %v", err)
	}
	gone = nil
	_, err = db.SetDataID(t.Context(), "a")
	check(t, err)
}

// TestCheckFile damages a table that is not checked when the file is opened.
func TestCheckFile(t *testing.T) {
	file := filledFile(t, "a", true)
	open := func() *sqlstore.DB {
		t.Helper()
		db, err := sqlstore.Open(t.Context(), "sqlite://"+file)
		check(t, err)
		return db
	}
	db := open()
	for _, thorough := range []bool{false, true} {
		if checked, tables, err := db.CheckFile(t.Context(), thorough); err != nil || checked != tables || tables < 10 {
			t.Errorf("thorough %t: %d of %d, %v", thorough, checked, tables, err)
		}
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if checked, _, err := db.CheckFile(over, false); err != nil && !errors.Is(err, context.Canceled) || checked != 0 {
		t.Errorf("without time: %d, %v", checked, err)
	}
	check(t, db.Close())
	zeroPage(t, file, "token-150token-150")
	db = open()
	defer func() { _ = db.Close() }() // it is damaged
	for _, thorough := range []bool{false, true} {
		_, _, err := db.CheckFile(t.Context(), thorough)
		if _, ok := errors.AsType[*sqlstore.DamagedError](err); !ok {
			t.Errorf("thorough %t: %v", thorough, err)
		}
	}
}
