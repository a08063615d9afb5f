package memlog_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"remit/internal/engine/audit"
	"remit/internal/stores/memlog"
)

func record(i int) []byte { return lateRecord("2026-01-09", i) }

// lateRecord returns a record of the last minute of a day, when processes may switch to the next
// day one after another.
func lateRecord(day string, i int) []byte {
	return fmt.Appendf(nil, `{"time":"%sT23:59:59.000000Z","i":%d}`, day, i)
}

// keep stores a record that need not be durable.
func keep(t *testing.T, d *memlog.Daily, i int) {
	t.Helper()
	if _, err := d.Append("2026-01-09", record(i), false); err != nil {
		t.Fatal(err)
	}
}

// TestDailyChain writes records of three days from two logs at once, as two processes would, and
// verifies the chain.
func TestDailyChain(t *testing.T) {
	dir := t.TempDir()
	logs := []*memlog.Daily{
		{Files: memlog.Dir(dir), Folder: os.DirFS(dir)},
		{Files: memlog.Dir(dir), Folder: os.DirFS(dir)},
	}
	for day := range 3 {
		var writers sync.WaitGroup
		for k, log := range logs {
			writers.Go(func() {
				for i := range 100 {
					date := fmt.Sprintf("2026-01-%02d", 9+day)
					wait, err := log.Append(date, lateRecord(date, 1000*k+i), i%10 == 0)
					if err == nil && i%10 == 0 {
						err = wait(t.Context())
					}
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		writers.Wait()
	}
	for _, log := range logs {
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	}
	if n, err := audit.Verify(t.Context(), audit.Folder{FS: os.DirFS(dir)}); err != nil || n != 600 {
		t.Errorf("Verify = %d, %v; want 600, nil", n, err)
	}
}

func TestDailyContinuesAfterRestart(t *testing.T) {
	dir := t.TempDir()
	for i := range 3 {
		log := &memlog.Daily{Files: memlog.Dir(dir), Folder: os.DirFS(dir)}
		keep(t, log, i)
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := audit.Verify(t.Context(), audit.Folder{FS: os.DirFS(dir)}); err != nil || n != 3 {
		t.Errorf("Verify = %d, %v; want 3, nil", n, err)
	}
}

// TestDailyWithAClockSetBack writes records of a day, then with the clock two days and a year off,
// each time with a new log, as after a restart.
func TestDailyWithAClockSetBack(t *testing.T) {
	dir := t.TempDir()
	days := []string{"2026-01-09", "2026-01-07", "2027-01-09", "2026-01-10", "2026-01-09"}
	for i, day := range days {
		log := &memlog.Daily{Files: memlog.Dir(dir), Folder: os.DirFS(dir)}
		if err := log.Ready(day); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			wait, err := log.Append(day, lateRecord(day, i), true)
			if err == nil {
				err = wait(t.Context())
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := audit.Verify(t.Context(), audit.Folder{FS: os.DirFS(dir)}); err != nil || n != 2*len(days) {
		t.Errorf("Verify = %d, %v; want %d, nil", n, err, 2*len(days))
	}
}

// TestReadsAreWrittenSoon checks that a record that no caller waits for is written after the batch
// delay.
func TestReadsAreWrittenSoon(t *testing.T) {
	dir := t.TempDir()
	log := &memlog.Daily{Files: memlog.Dir(dir), Folder: os.DirFS(dir)}
	keep(t, log, 1)
	deadline := time.Now().Add(2 * time.Minute)
	for {
		if n, err := audit.Verify(t.Context(), audit.Folder{FS: os.DirFS(dir)}); err == nil && n == 1 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the record never reached the file")
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err := log.Close(); err != nil {
		t.Error(err)
	}
}

func TestDailyCannotBeWritten(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	log := &memlog.Daily{Files: memlog.Dir(dir), Folder: os.DirFS(filepath.Dir(dir))}
	if err := log.Ready("2026-01-09"); err == nil {
		t.Error("Ready, though the folder is a file")
	}
	wait, err := log.Append("2026-01-09", record(1), true)
	if err != nil {
		t.Fatal(err)
	}
	if err := wait(t.Context()); err == nil {
		t.Error("a durable record was acknowledged though its folder is a file")
	}
	keep(t, log, 2)
	if err := log.Close(); err == nil {
		t.Error("Close says nothing of the lost record")
	}
}

// unwritable opens files that cannot be written as long as full is set.
type unwritable struct {
	memlog.Dir
	full atomic.Bool
}

func (u *unwritable) OpenAppend(name string) (*os.File, error) {
	if !u.full.Load() {
		return u.Dir.OpenAppend(name)
	}
	return os.OpenFile(filepath.Join(string(u.Dir), name), os.O_RDONLY|os.O_CREATE, 0o600)
}

// TestDailyIsNotReadyWhileRecordsAreLost checks that one lost record makes Ready fail, and that
// Ready succeeds when there is space again.
func TestDailyIsNotReadyWhileRecordsAreLost(t *testing.T) {
	const day = "2026-01-09"
	dir := t.TempDir()
	files := &unwritable{Dir: memlog.Dir(dir)}
	d := &memlog.Daily{Files: files, Folder: os.DirFS(dir)}
	if err := d.Ready(day); err != nil {
		t.Fatal(err)
	}
	files.full.Store(true)
	wait, err := d.Append(day, record(1), true)
	if err != nil {
		t.Fatal(err)
	}
	if err := wait(t.Context()); err == nil {
		t.Fatal("a record was stored in a file that cannot be written")
	}
	for range 2 {
		if err := d.Ready(day); err == nil {
			t.Error("it is ready, though the last record was lost")
		}
	}
	files.full.Store(false)
	if err := d.Ready(day); err != nil {
		t.Errorf("there is space again: %v", err)
	}
	if wait, err = d.Append(day, record(2), true); err == nil {
		err = wait(t.Context())
	}
	if err != nil {
		t.Errorf("a record is not stored, though there is space: %v", err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(left) != 1 {
		t.Errorf("the folder holds %v, %v", left, err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

// TestFlushWhileRecordsAreReplaced lets many wait for records while others are added.
func TestFlushWhileRecordsAreReplaced(t *testing.T) {
	dir := t.TempDir()
	var stored atomic.Int64
	d := &memlog.Daily{Files: memlog.Dir(dir), Folder: os.DirFS(dir), OnReplaced: func(done, _ []string) { stored.Add(int64(len(done))) }}
	const calls, callers = 200, 4
	var all sync.WaitGroup
	for caller := range callers {
		all.Go(func() {
			for i := range calls {
				if err := d.Replace("2026-01-09", []byte(`{"n":1}`), fmt.Sprint(caller, " ", i)); err != nil {
					t.Error(err)
				}
				d.Flush()
			}
		})
	}
	all.Wait()
	if n := stored.Load(); n != calls*callers {
		t.Errorf("%d were stored when Flush returned", n)
	}
	check(t, d.Close())
}
