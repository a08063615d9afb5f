package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"remit/internal/stores/blob/s3test"
	"remit/internal/stores/sqlstore/pgtest"
)

// TestMigration moves a workspace from SQLite to PostgreSQL and back. What is exported is the same.
func TestMigration(t *testing.T) {
	t.Parallel()
	tasks, entries, lessons := 300, 20, 5
	if os.Getenv("REMIT_FULL") == "true" {
		tasks, entries, lessons = 100_000, 1000, 500
	}
	s := newWorkspace(t, nil)
	s.ownKeys()
	archive := filepath.Join(t.TempDir(), "seed.tar.zst")
	seedWorkspace(t, s, tasks, entries, lessons)
	s.mustRun("backup", archive)
	first := exports(t, archive)
	before := s.remit("audit", "verify", "--json").out // it names the tasks that have no record
	database := pgtest.Database(t)
	if got := s.remit("migrate", "--to", database, "--yes", "--json"); got.code != 0 {
		t.Fatalf("to PostgreSQL: %s%s", got.out, got.errOut)
	} else {
		var report struct {
			Tables map[string]int64
			Memory int64 `json:"memory_lines"`
		}
		if err := json.Unmarshal([]byte(got.out), &report); err != nil || report.Tables["tasks"] != int64(tasks) || report.Memory != int64(entries) {
			t.Errorf("report %+v (%v)", report, err)
		}
	}
	archive = filepath.Join(t.TempDir(), "moved.tar.zst")
	s.mustRun("backup", archive, "--database", database)
	sameExports(t, first, exports(t, archive))
	// The old place says where the data is, and keeps it as it is.
	for _, args := range [][]string{{"tasks", "add", "late"}, {"migrate", "--to", database, "--yes"}} {
		if got := s.remit(args...); got.code == 0 || !strings.Contains(got.errOut, "was moved to postgres://") {
			t.Errorf("%s in the old place: exit %d %s%s", args[0], got.code, got.out, got.errOut)
		}
	}
	back := filepath.Join(t.TempDir(), "data")
	library := "file://" + s.path(".remit/library")
	flags := []string{"--data", back, "--books", library}
	got := s.remit(append(flags, "migrate", "--from", database, "--to", "sqlite://"+filepath.Join(back, "remit.db"), "--yes")...)
	if got.code != 0 {
		t.Fatalf("back to SQLite: %s%s", got.out, got.errOut)
	}
	archive = filepath.Join(t.TempDir(), "back.tar.zst")
	s.mustRun(append(flags, "backup", archive)...)
	sameExports(t, first, exports(t, archive))
	if got := s.remit(append(flags, "audit", "verify", "--json")...); problemsOf(t, got.out) != problemsOf(t, before) {
		t.Errorf("audit verify: %s%s, before %s", clip([]byte(got.out)), got.errOut, clip([]byte(before)))
	}
	if got := s.remit("tasks", "add", "late", "--database", database); got.code == 0 {
		t.Errorf("PostgreSQL takes tasks after they were moved: %s", got.out)
	}
	if got := s.person("trust", "--new-data", "--database", database); got.code != 0 {
		t.Errorf("trust --new-data: %s%s", got.out, got.errOut)
	}
	if got := s.remit("tasks", "add", "late", "--database", database); got.code != 0 {
		t.Errorf("PostgreSQL takes no tasks after trust --new-data: %s%s", got.out, got.errOut)
	}
}

// problemsOf returns the problems that "audit verify --json" has found.
func problemsOf(t *testing.T, verified string) string {
	t.Helper()
	var result struct{ Problems []string }
	if err := json.Unmarshal([]byte(verified), &result); err != nil {
		t.Fatalf("audit verify: %v %s", err, verified)
	}
	return strings.Join(result.Problems, "\n")
}

// seedWorkspace fills a workspace by restoring an archive that the test has made.
func seedWorkspace(t *testing.T, s *workspace, tasks, entries, lessons int) {
	t.Helper()
	memory := ""
	for i := range entries {
		memory += fmt.Sprintf(`{"timestamp":"2026-01-01T00:00:00Z","type":"x","n":%d}`+"\n", i)
	}
	s.write(".claude/memory/progress_log.jsonl", memory)
	course := newWorkspace(t, nil)
	for i := range lessons {
		course.write(fmt.Sprintf("lessons/%03d.md", i), fmt.Sprintf("# Lesson %d\n", i))
	}
	s.mustRun("books", "import", course.root, "--book", "course")
	s.mustRun("tasks", "add", "first", "--user", "ada")
	s.mustRun("tasks", "add", "second", "--user", "ada", "--depends-on", "1")
	s.mustRun("tasks", "edit", "2", "--title", "2nd", "--user", "ada")
	s.mustRun("tasks", "add", "third", "--user", "ada")
	s.mustRun("tasks", "rm", "3", "--user", "ada")
	s.mustRun("call", "claim_task", "user_id=ada", "task_id=1")
	s.behind(fmt.Sprintf(`WITH RECURSIVE n(i) AS (SELECT 4 UNION ALL SELECT i + 1 FROM n WHERE i <= %d)
INSERT INTO tasks (user_id, id, title, description, completed, priority, due_date, created_at, updated_at)
SELECT CASE i %% 3 WHEN 0 THEN 'ada' ELSE 'Zoé' END, i, 'task ' || i, NULL, i %% 2, 1, NULL, i, i FROM n`, tasks))
}

// exports returns the tables, memory files and books of an archive.
func exports(t *testing.T, archive string) map[string]string {
	t.Helper()
	folder := t.TempDir()
	unpack(t, archive, folder)
	found := map[string]string{}
	for _, pattern := range []string{"tables/*", "memory/*", "books/*/books/*/*/*"} {
		names, err := filepath.Glob(filepath.Join(folder, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			inner, _ := filepath.Rel(folder, name)
			found[inner] = string(data)
		}
	}
	return found
}

func sameExports(t *testing.T, want, got map[string]string) {
	t.Helper()
	for name := range want {
		if got[name] != want[name] {
			t.Errorf("%s has %d bytes, not %d, or others", name, len(got[name]), len(want[name]))
		}
	}
	if len(got) != len(want) || len(want["tables/tasks.jsonl"]) == 0 || len(want["tables/task_trash.jsonl"]) == 0 {
		t.Errorf("%d exports, not %d", len(got), len(want))
	}
}

// TestMigrationRefusesAServer: while a server runs, what it writes could be lost.
func TestMigrationRefusesAServer(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, nil)
	s.ownKeys()
	s.mustRun("tasks", "add", "Milk", "--user", "ada")
	w := s.serve("--toolsets", "tasks", "--log-level", "error")
	if got := w.post("/tools/list_tasks", `{"user_id":"ada"}`, nil); got.status != 200 {
		t.Fatalf("list_tasks: %s", got.body)
	}
	database := pgtest.Database(t)
	if got := s.remit("migrate", "--to", database, "--yes"); got.code != 1 || !strings.Contains(got.errOut, "uses the database; stop it") {
		t.Errorf("with a server: exit %d %s%s", got.code, got.out, got.errOut)
	}
	w.kill()
	s.mustRun("tasks", "add", "Other", "--user", "ada", "--database", database)
	if got := s.remit("migrate", "--to", database, "--yes"); got.code != 1 || !strings.Contains(got.errOut, "holds other data already") {
		t.Errorf("to a database in use: exit %d %s%s", got.code, got.out, got.errOut)
	}
	s.mustRun("tasks", "add", "More", "--user", "ada") // the source goes on
}

// TestBooksMigrate moves books from disk to S3 and back.
func TestBooksMigrate(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	bucket := server.URL(server.Bucket(t), "")
	s := newWorkspace(t, nil)
	s.ownKeys()
	s.env = slices.Concat(s.env, server.Env())
	for i := range 4 {
		s.mustRun("call", "write_content", "book_id=python", fmt.Sprintf("path=lessons/%d.md", i%3), fmt.Sprintf("content=# %d", i))
	}
	for _, to := range []string{bucket, bucket} { // a second time: nothing changes
		s.mustRun("migrate", "--books-to", to, "--yes")
	}
	read := func(library, backend string) {
		t.Helper()
		got := s.mustRun("call", "read_content", "book_id=python", "path=lessons/0.md", "--books", library)
		if !strings.Contains(got.out, `"content":"# 3"`) || !strings.Contains(got.out, `"storage_backend":"`+backend+`"`) {
			t.Errorf("%s: %s", backend, got.out)
		}
		if got := s.mustRun("books", "log", "python", "--books", library); !strings.Contains(got.out, "lessons/0.md") {
			t.Errorf("the history in %s: %s", backend, got.out)
		}
	}
	read(bucket, "s3")
	s.mustRun("call", "write_content", "book_id=python", "path=lessons/9.md", "content=# 9", "--books", bucket)
	if got := s.remit("migrate", "--books-to", bucket, "--yes"); got.code != 1 || !strings.Contains(got.errOut, "holds other data already") {
		t.Errorf("to a library that went on: exit %d %s%s", got.code, got.out, got.errOut)
	}
	folder := "file://" + filepath.Join(t.TempDir(), "library")
	s.mustRun("migrate", "--books", bucket, "--books-to", folder, "--yes")
	read(folder, "fs")
	archive := filepath.Join(t.TempDir(), "a.tar.zst")
	s.mustRun("backup", archive, "--books", bucket)
	other := t.TempDir()
	s.mustRun("restore", archive, "--into", other, "--yes") // from S3 to disk
	read("file://"+filepath.Join(other, ".remit/library"), "fs")
}
