package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"remit/internal/engine/audit"
	"remit/internal/stores/keyfolder"
	"remit/internal/stores/memlog"
)

// TestTipWhileRunning cuts records off while the server runs. The keeper must note it, also if more
// was recorded meanwhile, but not while the folder is away.
func TestTipWhileRunning(t *testing.T) {
	const day = "2026-01-09"
	for _, away := range []bool{false, true} {
		dir := t.TempDir()
		records := &memlog.Daily{Files: memlog.Dir(dir), Folder: os.DirFS(dir)}
		add := func(n int) {
			t.Helper()
			wait, err := records.Append(day, fmt.Appendf(nil, `{"time":"%sT12:00:00.000000Z","i":%d}`, day, n), true)
			if err == nil {
				err = wait(t.Context())
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		keys := keyfolder.Find(filepath.Join(t.TempDir(), "keys"), func(string) (string, bool) { return "", false })
		if _, err := keys.Key(); err != nil {
			t.Fatal(err)
		}
		place := error(nil)
		k := &tipKeeper{
			records: audit.Folder{FS: os.DirFS(dir)}, keys: keys.Workspace(dir), now: time.Now, log: slog.New(slog.DiscardHandler),
			folder: placeOfRecords(dir), place: func() error { return place },
		}
		k.holdIn(dir)
		for n := range 3 {
			add(n)
		}
		if err := k.keep(); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, audit.FileOf(day))
		if away {
			place = errors.New("unmounted")
			if err := os.Rename(file, file+".away"); err != nil {
				t.Fatal(err)
			}
			if err := k.keep(); !errors.Is(err, place) {
				t.Errorf("while it is away: %v", err)
			}
			place = os.Rename(file+".away", file)
		} else {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			first, _, _ := strings.Cut(string(text), "\n")
			if err := os.WriteFile(file, []byte(first+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for n := range 5 {
			add(n)
		}
		if err := k.keep(); err != nil {
			t.Fatal(err)
		}
		if tip, err := k.keys.Tip(); err != nil || (tip.Cut == "") != away {
			t.Errorf("away %t: %+v, %v", away, tip, err)
		}
		other := &tipKeeper{records: k.records, keys: k.keys, folder: placeOfRecords(t.TempDir()), place: k.place}
		if tip, err := other.known(); err != nil || tip != (keyfolder.Tip{Time: tip.Time}) || tip.Time == 0 {
			t.Errorf("the tip counts for another --data: %+v, %v", tip, err)
		}
		if err := records.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestTipKeepsNewestTime checks that the tip holds the newest time that was seen, after the clock
// was set back.
func TestTipKeepsNewestTime(t *testing.T) {
	dir := t.TempDir()
	line := audit.Seal(audit.InitialHash, []byte(`{"time":"2026-01-09T12:00:00.000000Z"}`))
	if err := os.WriteFile(filepath.Join(dir, "2026-01-09.jsonl"), append(line, '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
	keys := keyfolder.Find(filepath.Join(t.TempDir(), "keys"), func(string) (string, bool) { return "", false })
	if _, err := keys.Key(); err != nil {
		t.Fatal(err)
	}
	noon := time.Date(2026, 1, 9, 12, 0, 0, 0, time.UTC)
	k := &tipKeeper{
		records: audit.Folder{FS: os.DirFS(dir)}, keys: keys.Workspace(dir), log: slog.New(slog.DiscardHandler), place: func() error { return nil },
	}
	k.holdIn(dir)
	for _, tc := range []struct{ now, want time.Time }{{noon, noon}, {noon.Add(-time.Hour), noon}, {noon.Add(time.Hour), noon.Add(time.Hour)}} {
		k.now = func() time.Time { return tc.now }
		if err := k.keep(); err != nil {
			t.Fatal(err)
		}
		if tip, err := k.keys.Tip(); err != nil || tip.Time != tc.want.Unix() {
			t.Errorf("at %s: %+v, %v", tc.now, tip, err)
		}
	}
}

// holdIn makes the keeper hold the records in a folder.
func (k *tipKeeper) holdIn(dir string) {
	k.hold = func(ctx context.Context) (string, func() error, error) { return holdFiles(ctx, k.records, dir) }
}

// TestTipWithoutUnstoredRecords checks that a record that is taken back, because the disk is full,
// never becomes the tip.
func TestTipWithoutUnstoredRecords(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "2026-01-09.jsonl")
	stored := audit.Seal(audit.InitialHash, []byte(`{"time":"2026-01-09T12:00:00.000000Z"}`))
	unstored := audit.Seal(audit.HashOf(stored), []byte(`{"time":"2026-01-09T12:00:01.000000Z"}`))
	if err := os.WriteFile(file, fmt.Appendf(nil, "%s\n%s\n", stored, unstored), 0o600); err != nil {
		t.Fatal(err)
	}
	keys := keyfolder.Find(filepath.Join(t.TempDir(), "keys"), func(string) (string, bool) { return "", false })
	if _, err := keys.Key(); err != nil {
		t.Fatal(err)
	}
	k := &tipKeeper{
		records: audit.Folder{FS: os.DirFS(dir)}, keys: keys.Workspace(dir), log: slog.New(slog.DiscardHandler), now: time.Now,
		place: func() error { return nil },
		// The write of the second record ends.
		hold: func(context.Context) (string, func() error, error) {
			return "2026-01-09", func() error { return nil }, os.Truncate(file, int64(len(stored)+1))
		},
	}
	if err := k.keep(); err != nil {
		t.Fatal(err)
	}
	if tip, err := k.keys.Tip(); err != nil || tip.Hash != audit.HashOf(stored) {
		t.Errorf("the tip is %+v, %v", tip, err)
	}
}
