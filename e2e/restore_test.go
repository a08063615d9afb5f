package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"remit/internal/stores/sqlstore/pgtest"
)

// filledBackup returns a workspace with some data, and a backup of it.
func filledBackup(t *testing.T) (s *workspace, archive string) {
	t.Helper()
	s = newWorkspace(t, nil)
	s.ownKeys()
	s.mustRun("tasks", "add", "Milk", "--user", "ada")
	s.mustRun("call", "write_content", "book_id=python", "path=lessons/a.md", "content=# A")
	archive = filepath.Join(t.TempDir(), "a.tar.zst")
	s.mustRun("backup", archive)
	return s, archive
}

// TestDamagedBackupIsNotRestored flips bytes all over an archive. Package backup flips each byte.
func TestDamagedBackupIsNotRestored(t *testing.T) {
	t.Parallel()
	s, archive := filledBackup(t)
	whole, err := os.ReadFile(archive)
	s.check(err)
	into := filepath.Join(t.TempDir(), "new")
	for i := 0; i < len(whole); i += len(whole) / 25 {
		whole[i] ^= 1
		s.check(os.WriteFile(archive, whole, 0o600))
		whole[i] ^= 1
		for _, command := range [][]string{{"restore", archive, "--into", into, "--yes"}, {"backup", "--verify", archive}} {
			if got := s.remit(command...); got.code != 1 || !strings.Contains(got.errOut, "the archive is damaged") {
				t.Fatalf("byte %d, %s: exit %d %s%s", i, command[0], got.code, got.out, got.errOut)
			}
		}
		if left, err := os.ReadDir(into); err == nil && len(left) > 0 {
			t.Fatalf("byte %d: %s was restored", i, left[0].Name())
		}
	}
	s.check(os.WriteFile(archive, whole, 0o600))
	s.mustRun("backup", "--verify", archive)
}

// TestRestoreReplacesNothing restores to places that are in use, or not empty.
func TestRestoreReplacesNothing(t *testing.T) {
	t.Parallel()
	s, archive := filledBackup(t)
	s.serve("--log-level", "error")
	refused := func(what, why string, args ...string) {
		t.Helper()
		before := s.read(".remit/library/registry.yaml")
		got := s.remit(append([]string{"restore", archive, "--yes"}, args...)...)
		if got.code != 1 || !strings.Contains(got.errOut, why) {
			t.Errorf("%s: exit %d %s%s", what, got.code, got.out, got.errOut)
		}
		if s.read(".remit/library/registry.yaml") != before {
			t.Errorf("%s: the data was changed", what)
		}
	}
	refused("in use", "is not empty", "--root", s.root)
	memory := newWorkspace(t, map[string]string{".claude/memory/a.md": "mine"})
	refused("with memory", "is not empty", "--into", memory.root)
	if memory.read(".claude/memory/a.md") != "mine" || memory.read(".remit/remit.db") != "" {
		t.Error("something was restored")
	}
	database := pgtest.Database(t)
	s.mustRun("tasks", "add", "Other", "--user", "ada", "--database", database)
	refused("PostgreSQL", "holds other data already", "--into", t.TempDir(), "--database", database)
	if got := s.mustRun("tasks", "--user", "ada", "--database", database); !strings.Contains(got.out, "Other") || strings.Contains(got.out, "Milk") {
		t.Errorf("the tasks are %s", got.out)
	}
	if got := s.remit("restore", archive, "--into", t.TempDir()); got.code != 1 || !strings.Contains(got.errOut, "--yes") {
		t.Errorf("without a terminal: %s%s", got.out, got.errOut)
	}
}

// TestRestoredTokensDoNotCount restores tokens and an open request, on the machine that made them.
func TestRestoredTokensDoNotCount(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, nil)
	s.ownKeys()
	token := s.token("--name", "ci", "--scopes", "*", "--user", "ada")
	s.mustRun("tasks", "add", "Milk", "--user", "ada")
	if got := s.remit("call", "write_memory_entry", "file=progress_log.jsonl", `entry={"timestamp":"2026-01-01T00:00:00Z","type":"x"}`); got.code != 3 {
		t.Fatalf("a call that needs approval: %s%s", got.out, got.errOut)
	}
	archive := filepath.Join(t.TempDir(), "a.tar.zst")
	s.mustRun("backup", archive)
	use := func(root string, want int) {
		t.Helper()
		other := &workspace{t: t, root: root, env: s.env}
		w := other.serve("--toolsets", "tasks", "--log-level", "error")
		defer w.kill()
		for name, header := range map[string]http.Header{"token": bearer(token), "none": nil} {
			expected := want
			if name == "none" {
				expected = http.StatusUnauthorized
			}
			if got := w.post("/tools/list_tasks", `{"user_id":"ada"}`, header); got.status != expected {
				t.Errorf("%s in %s: status %d, not %d: %s", name, root, got.status, expected, got.body)
			}
		}
	}
	plain, keeping := t.TempDir(), t.TempDir()
	s.mustRun("restore", archive, "--into", plain, "--yes")
	use(plain, http.StatusUnauthorized)
	if got := s.remit("approvals", "list", "--root", plain); strings.Contains(got.out, "write_memory_entry") {
		t.Errorf("a request is open: %s", got.out)
	}
	s.root, keeping = keeping, s.root
	s.token("--name", "ci", "--scopes", "*", "--user", "ada", "--root", plain) // its name is free
	s.root, keeping = keeping, s.root
	if got := s.remit("restore", archive, "--into", keeping, "--yes", "--keep-tokens"); got.code != 1 || !strings.Contains(got.errOut, "terminal") {
		t.Errorf("--keep-tokens without a terminal: exit %d %s%s", got.code, got.out, got.errOut)
	}
	if got := s.person("restore", archive, "--into", keeping, "--keep-tokens"); got.code != 0 {
		t.Fatalf("--keep-tokens at a terminal: %s%s", got.out, got.errOut)
	}
	use(keeping, http.StatusOK)
	stranger := newWorkspace(t, nil)
	stranger.ownKeys()
	if got := stranger.person("restore", archive, "--into", t.TempDir(), "--keep-tokens"); got.code != 1 || !strings.Contains(got.errOut, "another key") {
		t.Errorf("with another key: exit %d %s%s", got.code, got.out, got.errOut)
	}
}

// TestBackupWithKeys moves a workspace to a machine without keys.
func TestBackupWithKeys(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, map[string]string{"secret": "correct horse\n", "wrong": "x\n"})
	s.ownKeys()
	token := s.token("--name", "ci", "--scopes", "*", "--user", "ada")
	archive := filepath.Join(t.TempDir(), "a.tar.zst")
	s.mustRun("backup", archive, "--with-keys", "--passphrase-file", s.path("secret"))
	other := newWorkspace(t, nil)
	keys := other.ownKeys()
	args := []string{"restore", archive, "--root", other.root, "--with-keys", "--keep-tokens", "--passphrase-file"}
	if got := other.person(append(args, s.path("wrong"))...); got.code != 1 || !strings.Contains(got.errOut, "the passphrase is wrong") {
		t.Errorf("a wrong passphrase: exit %d %s%s", got.code, got.out, got.errOut)
	}
	if got := other.person(append(args, s.path("secret"))...); got.code != 0 {
		t.Fatalf("restore: %s%s", got.out, got.errOut)
	}
	if info, err := os.Stat(filepath.Join(keys, "approvals.key")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key: %v", err)
	}
	w := other.serve("--toolsets", "tasks", "--log-level", "error")
	if got := w.post("/tools/list_tasks", `{"user_id":"ada"}`, bearer(token)); got.status != http.StatusOK {
		t.Errorf("the token: %d %s", got.status, got.body)
	}
}
