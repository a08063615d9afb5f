package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine"
	"remit/internal/engine/audit"
	"remit/internal/frontends/cli"
)

// callTool calls a tool with arguments in JSON, and returns the error of the call.
func callTool(t *testing.T, a *App, tool, args string) *contract.Error {
	t.Helper()
	parsed, err := jsontree.Parse([]byte(args))
	if err != nil {
		t.Fatal(err)
	}
	got, err := a.Engine().Call(t.Context(), engine.Call{Tool: tool, Args: parsed, Principal: "ann", Frontend: "cli"})
	if err != nil {
		t.Fatal(err)
	}
	return got.Err
}

func remember(t *testing.T, a *App) *contract.Error {
	t.Helper()
	return callTool(t, a, "write_memory_entry", `{"file":"progress_log.jsonl","entry":{"timestamp":"2026-01-09T10:30:00Z","type":"task"}}`)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// mustRemember fails if an entry cannot be stored, or a check of health fails.
func mustRemember(t *testing.T, what string, a *App) {
	t.Helper()
	if err := remember(t, a); err != nil {
		t.Errorf("%s: %v", what, err)
	}
	if err := a.health(t.Context(), false)["memory"]; err != nil {
		t.Errorf("%s: health: %v", what, err)
	}
}

// TestMemoryFolderGoesAway takes the folder of the memory files away, while a server runs and
// before another one starts. No entry is acknowledged, none is reported as missing, nothing is
// created, and both go on when the folder is back.
func TestMemoryFolderGoesAway(t *testing.T) {
	for name, tc := range map[string]struct {
		folder, why string
		empty       bool // as the mount point of a volume
	}{
		"moved":        {".claude/memory", "is missing", false},
		"its parent":   {".claude", "is missing", false},
		"unmounted":    {".claude/memory", "has lost all memory files", true},
		"empty parent": {".claude", "is missing", true},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			running := openAt(t, root)
			mustRemember(t, "the first entry", running)
			folder := filepath.Join(root, filepath.FromSlash(tc.folder))
			must(t, os.Rename(folder, folder+".away"))
			if tc.empty {
				must(t, os.Mkdir(folder, 0o755))
			}
			started := openAt(t, root)
			for who, a := range map[string]*App{"running": running, "started": started} {
				for _, err := range []error{
					remember(t, a), callTool(t, a, "read_repo_file", `{"path":".claude/memory/progress_log.jsonl"}`),
					a.health(t.Context(), false)["memory"],
				} {
					e := contract.AsError(err)
					if e.Kind != contract.Unavailable || !strings.Contains(e.Message, tc.why) || !strings.Contains(e.Message, "trust --new-data") {
						t.Errorf("%s: %v", who, err)
					}
				}
				if c := finding(t, a, "memory"); c.Status != cli.StatusFail || !strings.Contains(c.Finding, tc.why) {
					t.Errorf("%s: %+v", who, c)
				}
				if _, err := a.memoryFiles(); err == nil {
					t.Errorf("%s: a backup would have no memory files", who)
				}
			}
			if left, err := os.ReadDir(folder); len(left) > 0 || tc.empty != (err == nil) {
				t.Errorf("created: %v, %v", left, err)
			}
			must(t, os.RemoveAll(folder))
			must(t, os.Rename(folder+".away", folder))
			mustRemember(t, "running, back", running)
			mustRemember(t, "started, back", started)
			text, err := os.ReadFile(filepath.Join(root, memoryFolder, "progress_log.jsonl"))
			if n := strings.Count(string(text), "\n"); err != nil || n != 3 {
				t.Errorf("%d entries, %v", n, err)
			}
		})
	}
}

// TestGitReplacesTheMemoryFolder puts another folder with a memory file in the place of the one
// that was used, as git does when it switches branches.
func TestGitReplacesTheMemoryFolder(t *testing.T) {
	root := t.TempDir()
	running := openAt(t, root)
	mustRemember(t, "the first entry", running)
	folder := filepath.Join(root, memoryFolder)
	must(t, os.RemoveAll(folder))
	must(t, os.Mkdir(folder, 0o755))
	must(t, os.WriteFile(filepath.Join(folder, "decisions.jsonl"), []byte("{}\n"), 0o644))
	mustRemember(t, "running", running)
	mustRemember(t, "started", openAt(t, root))
}

// TestNewMemoryFolder lets a person go on without the memory files.
func TestNewMemoryFolder(t *testing.T) {
	root := t.TempDir()
	running := openAt(t, root)
	mustRemember(t, "the first entry", running)
	must(t, os.RemoveAll(filepath.Join(root, ".claude")))
	started := openAt(t, root)
	if remember(t, running) == nil || remember(t, started) == nil {
		t.Error("the folder was created anew")
	}
	must(t, started.Recover(t.Context(), cli.NewData))
	mustRemember(t, "started", started)
	mustRemember(t, "running", running)
	if err := os.RemoveAll(filepath.Join(root, ".claude")); err != nil || remember(t, openAt(t, root)) == nil {
		t.Errorf("the new folder is not known: %v", err)
	}
}

// TestReplacedWorkspaceHasNoMemory puts another workspace with memory files in the place of the one
// that a server uses.
func TestReplacedWorkspaceHasNoMemory(t *testing.T) {
	root := filepath.Join(t.TempDir(), "root")
	must(t, os.Mkdir(root, 0o755))
	data := t.TempDir()
	running := openHere(t, func(s *cli.Settings) {
		s.Root, s.Data, s.Approve, s.Database = root, data, "auto", "sqlite://"+filepath.Join(data, "remit.db")
	})
	mustRemember(t, "the first entry", running)
	must(t, os.Rename(root, root+".away"))
	must(t, os.CopyFS(root, os.DirFS(root+".away")))
	if err := remember(t, running); err == nil || !strings.Contains(err.Message, "The folder of the workspace was moved") {
		t.Errorf("%v", err)
	}
	must(t, os.RemoveAll(root))
	must(t, os.Rename(root+".away", root))
	mustRemember(t, "back", running)
}

// TestWorkspaceIsMountedLater starts a server while the volume of the workspace is not mounted. It
// stores nothing in the mount point, and goes on by itself when the volume is there.
func TestWorkspaceIsMountedLater(t *testing.T) {
	root := filepath.Join(t.TempDir(), "root")
	must(t, os.Mkdir(root, 0o755))
	mustRemember(t, "the first entry", openAt(t, root))
	must(t, os.Rename(root, root+".away"))
	must(t, os.Mkdir(root, 0o755))
	started := openAt(t, root)
	if err := remember(t, started); err == nil {
		t.Error("an entry was stored in the mount point")
	}
	must(t, os.Remove(root)) // it is still empty
	must(t, os.Rename(root+".away", root))
	if err := started.health(t.Context(), false)["workspace"]; err != nil {
		t.Errorf("health: %v", err)
	}
	mustRemember(t, "mounted", started)
	must(t, os.Rename(root, root+".away"))
	must(t, os.CopyFS(root, os.DirFS(root+".away")))
	if err := remember(t, started); err == nil {
		t.Error("another folder was followed")
	}
}

// TestRecoveryWaitsForMemoryFiles checks that an interrupted call is not taken for one that has
// changed nothing, because the folder of its entry is away.
func TestRecoveryWaitsForMemoryFiles(t *testing.T) {
	root := t.TempDir()
	dead := openAt(t, root)
	mustRemember(t, "the first entry", dead)
	effect := audit.NewEffect(&audit.Record{Time: dead.options.Now(), Tool: "learning-os/write_memory_entry", Outcome: "ok"}, dead.records)
	entry := []byte(`{"n":1}`)
	_, err := dead.storage.memory.Append(audit.WithEffect(t.Context(), effect), "decisions.jsonl", entry, nil)(t.Context())
	must(t, err)
	dead.announced.stop()
	must(t, dead.process.end()) // as if it were killed
	folder := filepath.Join(root, memoryFolder)
	must(t, os.Rename(folder, folder+".away"))
	a := openAt(t, root)
	if err := a.announced.settle(t.Context()); err == nil {
		t.Error("it was settled while the memory files are away")
	}
	must(t, os.Rename(folder+".away", folder))
	must(t, a.announced.settle(t.Context()))
	must(t, a.storage.flush(t.Context()))
	if got := strings.Join(outcomesIn(t, root), " "); got != "begun ok begun ok" {
		t.Errorf("outcomes: %s", got)
	}
}
