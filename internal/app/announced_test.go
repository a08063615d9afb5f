package app

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"remit/internal/contract/jsontree"
	"remit/internal/engine"
	"remit/internal/engine/approval"
	"remit/internal/engine/audit"
	"remit/internal/frontends/cli"
)

// openAt opens the workspace in a folder, without asking for approval.
func openAt(t *testing.T, root string) *App {
	t.Helper()
	return openHere(t, func(s *cli.Settings) {
		s.Root, s.Data, s.Approve, s.Toolsets = root, filepath.Join(root, ".remit"), approval.Auto, []string{"learning-os"}
		s.Database = "sqlite://" + filepath.Join(s.Data, "remit.db")
	})
}

// beginEntry begins to write an entry, and returns the id of the call.
func beginEntry(t *testing.T, a *App) string {
	t.Helper()
	effect := audit.NewEffect(&audit.Record{Time: a.options.Now(), Tool: "learning-os/write_memory_entry", Outcome: "ok"}, a.records)
	if _, err := effect.Begin(t.Context(), audit.Change{Store: audit.MemoryStore, Path: "decisions.jsonl", Size: 1, Lines: 1, New: "x"}); err != nil {
		t.Fatal(err)
	}
	return effect.Call
}

// interrupted returns a workspace in which a process has begun to write an entry. Its file is
// locked until the process ends.
func interrupted(t *testing.T, root string) *App {
	t.Helper()
	a := openAt(t, root)
	beginEntry(t, a)
	a.announced.stop()
	return a
}

// TestLostOutcomes checks that a process settles its calls whose outcome was queued and lost, and
// none of those that still run.
func TestLostOutcomes(t *testing.T) {
	root := t.TempDir()
	a := openAt(t, root)
	a.announced.once.Do(func() {}) // nothing is settled in the background
	lost, running := beginEntry(t, a), beginEntry(t, a)
	a.announced.end(&audit.Record{Call: lost}, nil)
	settle := func(want string) {
		t.Helper()
		if err := a.announced.settle(t.Context()); err != nil {
			t.Error(err)
		}
		if got := strings.Join(outcomesIn(t, root), " "); got != want {
			t.Errorf("outcomes %s, want %s", got, want)
		}
	}
	settle("begun begun")
	a.announced.lose()
	settle("begun begun") // equal entries cannot be told apart while one may still be written
	a.announced.end(&audit.Record{Call: running}, nil)
	settle("begun begun undone undone")
}

func outcomesIn(t *testing.T, root string) (list []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, ".remit", "audit", "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			record, err := jsontree.ParseTrusted([]byte(line))
			if err != nil {
				t.Fatal(err)
			}
			outcome := record.Field("outcome")
			list = append(list, outcome.Text)
		}
	}
	return list
}

// TestOneProcessSettles checks that changes of a process that lives are left alone, and that of
// many processes that start after its end one settles them.
func TestOneProcessSettles(t *testing.T) {
	root := t.TempDir()
	dead := interrupted(t, root)
	var apps []*App
	for range 8 {
		apps = append(apps, openAt(t, root))
	}
	settle := func() {
		var all sync.WaitGroup
		for _, a := range apps {
			all.Go(func() {
				if err := a.announced.settle(context.Background()); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	}
	settle()
	if got := strings.Join(outcomesIn(t, root), " "); got != "begun" {
		t.Errorf("while the process lives: %s", got)
	}
	if err := dead.process.end(); err != nil { // as if it were killed
		t.Fatal(err)
	}
	settle()
	settle()
	if got := strings.Join(outcomesIn(t, root), " "); got != "begun undone" {
		t.Errorf("after its end: %s", got)
	}
	if _, err := os.Stat(filepath.Join(root, ".remit", "announced", dead.process.id)); !os.IsNotExist(err) {
		t.Errorf("the file of the process is still there: %v", err)
	}
}

// TestCleanEndLeavesNothing checks that a process that ends leaves nothing to settle.
func TestCleanEndLeavesNothing(t *testing.T) {
	root := t.TempDir()
	data := filepath.Join(root, ".remit")
	a, err := Open(t.Context(), cli.Settings{
		Root: root, Data: data, Config: filepath.Join(root, "remit.yaml"), Keys: root + "-keys", Approve: approval.Auto,
		Database: "sqlite://" + filepath.Join(data, "remit.db"), Toolsets: []string{"learning-os"},
		Env: func(string) (string, bool) { return "", false },
	}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	args, err := jsontree.Parse([]byte(`{"file":"progress_log.jsonl","entry":{"timestamp":"2026-01-09T10:30:00Z","type":"task"}}`))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := a.Engine().Call(t.Context(), engine.Call{Tool: "write_memory_entry", Args: args, Principal: "ann", Frontend: "cli"}); err != nil || got.Err != nil {
		t.Fatal(err, got.Err)
	}
	entries, err := os.ReadDir(filepath.Join(root, ".remit", "announced"))
	if err != nil || len(entries) != 1 {
		t.Fatalf("while it runs: %v, %v", entries, err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"announced", "proc"} {
		if left, err := os.ReadDir(filepath.Join(root, ".remit", folder)); err != nil || len(left) > 0 {
			t.Errorf("%s: %v, %v", folder, left, err)
		}
	}
	if got := strings.Join(outcomesIn(t, root), " "); got != "begun ok" {
		t.Errorf("outcomes %s", got)
	}
}
