package app

import (
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
