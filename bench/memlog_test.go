//go:build linux

package bench

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"remit/internal/stores/memlog"

	"golang.org/x/sys/unix"
)

const (
	appenders = 16
	entry     = `{"timestamp":"2026-01-02T03:04:05Z","type":"decision","module":"auth","text":"Sessions are kept in the database, not in a cookie."}`
)

// appendEntry returns when one more entry is durable.
type appendEntry func() error

// grouped appends as Remit does: callers share a write and a sync.
func grouped(tb testing.TB, dir string) appendEntry {
	l := memlog.New(memlog.Options{Files: memlog.Dir(dir), Name: "grouped.jsonl"})
	tb.Cleanup(func() {
		if err := l.Close(); err != nil {
			tb.Error(err)
		}
	})
	return func() error {
		_, err := l.Append([]byte(entry), true).Wait(context.Background())
		return err
	}
}

// oneSyncPerEntry is the simple way to be as durable: a mutex, a write, a sync.
func oneSyncPerEntry(tb testing.TB, dir string) appendEntry {
	f, err := os.OpenFile(filepath.Join(dir, "plain.jsonl"), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { f.Close() })
	var mu sync.Mutex
	line := []byte(entry + "\n")
	return func() error {
		mu.Lock()
		defer mu.Unlock()
		if _, err := f.Write(line); err != nil {
			return err
		}
		return unix.Fdatasync(int(f.Fd()))
	}
}

// realDisk returns a folder on a real disk, because a sync in memory costs nothing.
func realDisk(tb testing.TB) string {
	dir := tb.TempDir()
	if !inMemory(tb, dir) {
		return dir
	}
	dir, err := os.MkdirTemp(".", "memlog-*.tmp")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { os.RemoveAll(dir) })
	if inMemory(tb, dir) {
		tb.Skip("neither the temporary folder nor this one is on a disk")
	}
	return dir
}

func inMemory(tb testing.TB, dir string) bool {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		tb.Fatal(err)
	}
	return fs.Type == unix.TMPFS_MAGIC || fs.Type == unix.RAMFS_MAGIC
}

// fromAll calls do from all appenders while more returns true, and returns the number of calls.
func fromAll(tb testing.TB, do appendEntry, more func() bool) int64 {
	var wg sync.WaitGroup
	var done atomic.Int64
	for range appenders {
		wg.Go(func() {
			for more() {
				if err := do(); err != nil {
					tb.Error(err)
					return
				}
				done.Add(1)
			}
		})
	}
	wg.Wait()
	return done.Load()
}

func BenchmarkMemlog(b *testing.B) {
	for _, way := range []struct {
		name string
		make func(testing.TB, string) appendEntry
	}{{"grouped", grouped}, {"one-sync-per-entry", oneSyncPerEntry}} {
		b.Run(way.name, func(b *testing.B) {
			do := way.make(b, realDisk(b))
			left := atomic.Int64{}
			left.Store(int64(b.N))
			b.ReportAllocs()
			b.ResetTimer()
			fromAll(b, do, func() bool { return left.Add(-1) >= 0 })
		})
	}
}

// BenchmarkMemlogRead measures the whole cost of the audit record of a read, which need not be
// durable: written in the background, under load and alone.
func BenchmarkMemlogRead(b *testing.B) {
	for _, way := range []struct {
		name string
		wait bool
	}{{"behind", false}, {"alone", true}} {
		b.Run(way.name, func(b *testing.B) {
			l := memlog.New(memlog.Options{Files: memlog.Dir(realDisk(b)), Name: "audit.jsonl"})
			b.ReportAllocs()
			for range b.N {
				t := l.Append([]byte(entry), false)
				if way.wait {
					if _, err := t.Wait(context.Background()); err != nil {
						b.Fatal(err)
					}
				}
			}
			if err := l.Close(); err != nil { // includes the entries that are still queued
				b.Fatal(err)
			}
		})
	}
}

// TestMemlogIsFasterThanASyncPerEntry checks that grouping is worth it. The limit is well below
// what a quiet machine reaches.
func TestMemlogIsFasterThanASyncPerEntry(t *testing.T) {
	skipUnlessMeasuring(t)
	const guard = 3.0
	dir := realDisk(t)
	ratio := compare(t, grouped(t, dir), oneSyncPerEntry(t, dir))
	t.Logf("%d appenders, grouped against a sync each: %.1fx", appenders, ratio)
	if ratio < guard {
		t.Errorf("grouping is not %.1fx as fast as a sync per entry", guard)
	}
}

// compare returns how many times as many entries a appends as b in the median turn.
func compare(tb testing.TB, a, b appendEntry) float64 {
	ratios := inTurns(tb, a, b)
	slices.Sort(ratios)
	return ratios[len(ratios)/2]
}

// inTurns runs a and b alternately, so that a slow disk slows both, and returns for each turn how
// many times as many entries a appended as b.
func inTurns(tb testing.TB, a, b appendEntry) (ratios []float64) {
	const turns, turn = 21, 50 * time.Millisecond
	for range turns {
		ratios = append(ratios, float64(fromAll(tb, a, until(turn)))/float64(fromAll(tb, b, until(turn))))
	}
	return ratios
}

func until(d time.Duration) (more func() bool) {
	end := time.Now().Add(d)
	return func() bool { return time.Now().Before(end) }
}
