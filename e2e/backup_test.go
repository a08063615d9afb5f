package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"remit/internal/stores/sqlstore/pgtest"
)

// storageFlags returns the flags for a database, "" for SQLite in the workspace.
func storageFlags(database string) []string {
	if database == "" {
		return nil
	}
	return []string{"--database", database}
}

// backupWriters change tasks, memory and books through a server until they are stopped. Each change
// has a name of its own.
type backupWriters struct {
	w       *httpServer
	stop    atomic.Bool
	running sync.WaitGroup
	mu      sync.Mutex
	acked   map[string]bool // names of the changes that were acknowledged
}

const writersAtOnce = 16

func (b *backupWriters) start() {
	b.acked = map[string]bool{}
	for i := range writersAtOnce {
		b.running.Go(func() {
			for n := 0; !b.stop.Load(); n++ {
				b.write(fmt.Sprintf("w%d-%d", i, n), n)
			}
		})
	}
}

func (b *backupWriters) write(name string, n int) {
	tool, body := "add_task", fmt.Sprintf(`{"user_id":"ada","title":%q}`, name)
	switch n % 3 {
	case 1:
		tool = "write_memory_entry"
		body = fmt.Sprintf(`{"file":"progress_log.jsonl","entry":{"timestamp":"2026-01-01T00:00:00Z","type":"x","name":%q}}`, name)
	case 2:
		tool = "write_content"
		body = fmt.Sprintf(`{"book_id":"load","path":"lessons/%s.md","content":%q}`, strings.Split(name, "-")[0], name)
	}
	if got := postTo(b.w.t, b.w.url+"/tools/"+tool, body, nil); got.status != http.StatusOK {
		b.w.t.Errorf("%s: %d %s", tool, got.status, got.body)
		b.stop.Store(true)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.acked[name] = true
}

// known returns the changes that were acknowledged so far.
func (b *backupWriters) known() map[string]bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return maps.Clone(b.acked)
}

// kept returns the changes that a workspace holds: tasks, lines of memory, lessons and their
// replaced versions.
func kept(t *testing.T, archive string) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	folder := t.TempDir()
	unpack(t, archive, folder)
	text := func(name string) string {
		data, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	for _, line := range strings.Split(strings.TrimSpace(text("tables/tasks.jsonl")), "\n") {
		var task struct{ Title string }
		if err := json.Unmarshal([]byte(line), &task); err != nil {
			t.Fatal(err)
		}
		if found[task.Title] {
			t.Errorf("task %s is there twice", task.Title)
		}
		found[task.Title] = true
	}
	memory := text("memory/progress_log.jsonl")
	for _, line := range strings.Split(strings.TrimSuffix(memory, "\n"), "\n") {
		var entry struct{ Name string }
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Errorf("a line of memory is %q: %v", line, err)
		}
		if found[entry.Name] {
			t.Errorf("entry %s is there twice", entry.Name)
		}
		found[entry.Name] = true
	}
	lessons, _ := filepath.Glob(filepath.Join(folder, "books/fs/books/load/lessons/*.md"))
	old, _ := filepath.Glob(filepath.Join(folder, "books/fs/.history/load/objects/*"))
	for _, name := range slices.Concat(lessons, old) {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		found[string(data)] = true
	}
	return found
}

// unpack unpacks an archive with the usual tools.
func unpack(t *testing.T, archive, folder string) {
	t.Helper()
	run(t, folder, "tar", "--zstd", "-xf", archive)
}

// TestBackupUnderLoad backs up while 16 callers write, and restores elsewhere. What is restored is
// what the records say, without a call more or less.
func TestBackupUnderLoad(t *testing.T) {
	t.Parallel()
	for name, database := range map[string]func(*testing.T) string{
		"SQLite":     func(*testing.T) string { return "" },
		"PostgreSQL": func(t *testing.T) string { t.Helper(); return pgtest.Database(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newWorkspace(t, nil)
			s.ownKeys()
			flags := storageFlags(database(t))
			w := s.serve(append(flags, "--toolsets", "learning-os,tasks,books", "--approve", "auto", "--rate-limits", "off")...)
			writers := &backupWriters{w: w}
			writers.start()
			for len(writers.known()) < 10*writersAtOnce && !writers.stop.Load() {
				time.Sleep(time.Millisecond)
			}
			addShelf(t, s.path(".remit/library"))
			archive := filepath.Join(t.TempDir(), "a.tar.zst")
			before := writers.known()
			got := s.remit(append(flags, "backup", archive)...)
			after := writers.known()
			writers.stop.Store(true)
			writers.running.Wait()
			if got.code != 0 {
				t.Fatalf("backup: %s%s", got.out, got.errOut)
			}
			held := kept(t, archive)
			for name := range before {
				if !held[name] {
					t.Errorf("%s was acknowledged before the backup, and is not in it", name)
				}
			}
			if len(after) == len(before) {
				t.Error("nothing was written during the backup, so that the test shows nothing")
			}
			other := newWorkspace(t, nil)
			other.ownKeys()
			otherFlags := storageFlags(database(t))
			if got := other.remit(append(otherFlags, "restore", archive, "--yes")...); got.code != 0 {
				t.Fatalf("restore: %s%s", got.out, got.errOut)
			}
			checkProved(t, other.remit(append(otherFlags, "audit", "verify", "--json")...))
			again := filepath.Join(t.TempDir(), "b.tar.zst")
			if got := other.remit(append(otherFlags, "backup", again)...); got.code != 0 {
				t.Fatalf("backup of what was restored: %s%s", got.out, got.errOut)
			}
			sameArchives(t, archive, again)
			if restored := kept(t, again); !maps.Equal(restored, held) {
				t.Errorf("the archive holds %d changes, and the restored workspace %d others", len(held), len(restored))
			}
			checkRecorded(t, again, held)
			note(t, "%s: %d changes acknowledged before the backup, %d after it, %d in it", name, len(before), len(after), len(held))
		})
	}
}

// addShelf adds files to a library, so that books are changed while they are listed.
func addShelf(t *testing.T, library string) {
	t.Helper()
	for i := range 2000 {
		name := filepath.Join(library, "books", "shelf", "lessons", fmt.Sprintf("%d.md", i))
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte("text"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
}

// checkProved checks that records, memory files and books belong together, and that no call is
// open.
func checkProved(t *testing.T, verify outcome) {
	t.Helper()
	var proved struct {
		Changes, Running int
		Problems         []string
	}
	if err := json.Unmarshal([]byte(verify.out), &proved); err != nil || verify.code != 0 {
		t.Fatalf("audit verify: exit %d, %v\n%s%s", verify.code, err, verify.out, verify.errOut)
	}
	if proved.Changes == 0 || proved.Running != 0 || len(proved.Problems) != 0 {
		t.Errorf("audit verify: %s", verify.out)
	}
}

// checkRecorded compares the changes in an archive with the records in it that say that a change
// was made.
func checkRecorded(t *testing.T, archive string, held map[string]bool) {
	t.Helper()
	folder := t.TempDir()
	unpack(t, archive, folder)
	tasks, calls := map[string]bool{}, map[string]int{}
	files, _ := filepath.Glob(filepath.Join(folder, "audit/*.jsonl"))
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(data) {
			var r struct {
				Tool, Outcome string
				Arguments     struct{ Title string }
			}
			if err := json.Unmarshal(line, &r); err != nil {
				t.Fatal(err)
			}
			if r.Outcome != "ok" || r.Tool == "backup/restore" {
				continue
			}
			calls[r.Tool]++
			if r.Tool == "tasks/add_task" {
				tasks[r.Arguments.Title] = true
			}
		}
	}
	changes := map[string]int{}
	for name := range held {
		tool := toolOf(t, name)
		changes[tool]++
		if tool == "tasks/add_task" && !tasks[name] {
			t.Errorf("task %s has no record", name)
		}
	}
	if !maps.Equal(changes, calls) || len(changes) != 3 {
		t.Errorf("there are changes of %v, and records of %v", changes, calls)
	}
}

// toolOf returns the tool with which a writer has made the change with a name.
func toolOf(t *testing.T, name string) string {
	t.Helper()
	writer, n := 0, 0
	if _, err := fmt.Sscanf(name, "w%d-%d", &writer, &n); err != nil {
		t.Errorf("the archive holds %q: %v", name, err)
	}
	return []string{"tasks/add_task", "learning-os/write_memory_entry", "books/write_content"}[n%3]
}

// sameArchives compares all data of two archives, except for audit records that were added, which
// may have been in the outbox, and lines of histories that announced changes that were not made.
func sameArchives(t *testing.T, first, second string) {
	t.Helper()
	one, two := t.TempDir(), t.TempDir()
	unpack(t, first, one)
	unpack(t, second, two)
	for _, folder := range []string{"tables", "memory", "books"} {
		run(t, one, "diff", "-r", "--exclude", "outbox.jsonl", "--exclude", ".history", filepath.Join(one, folder), filepath.Join(two, folder))
	}
	days, _ := filepath.Glob(filepath.Join(one, "audit/*.jsonl"))
	for _, day := range days {
		want, err := os.ReadFile(day)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(two, "audit", filepath.Base(day)))
		if err != nil || !bytes.HasPrefix(got, want) {
			t.Errorf("the records of %s are others (%v)", filepath.Base(day), err)
		}
	}
}

// TestRestoredToolsAnswerTheSame compares the answers of all reading tools before and after.
func TestRestoredToolsAnswerTheSame(t *testing.T) {
	t.Parallel()
	onEachDatabase(t, func(t *testing.T, flags ...string) {
		t.Parallel()
		s := newWorkspace(t, nil)
		s.ownKeys()
		fill := func(args ...string) {
			if got := s.remit(slices.Concat(flags, []string{"call", "--approve", "auto"}, args)...); got.code != 0 {
				t.Fatalf("%v: %s%s", args, got.out, got.errOut)
			}
		}
		for i := range 5 {
			fill("add_task", "user_id=ada", fmt.Sprintf("title=task %d é", i), "priority=High")
			fill("write_content", "book_id=python", fmt.Sprintf("path=lessons/%d.md", i), "content=# Lesson\nText")
			fill("write_content", "book_id=python", fmt.Sprintf("path=lessons/%d.md", i), "content=# Lesson\nAnother text")
			fill("write_memory_entry", "file=progress_log.jsonl", `entry={"timestamp":"2026-01-01T00:00:00Z","type":"x"}`)
		}
		fill("complete_task", "user_id=ada", "task_id=2")
		fill("delete_task", "user_id=ada", "task_id=3")
		fill("update_task", "user_id=ada", "task_id=4", "depends_on=[5]")
		fill("claim_task", "user_id=ada", "task_id=5")
		fill("upload_asset", "book_id=python", "asset_type=images", "filename=a.png", "binary_data=iVBORw0KGgo=")
		archive := t.TempDir() + "/backups/"
		if got := s.remit(append(flags, "backup", archive)...); got.code != 0 {
			t.Fatalf("backup: %s%s", got.out, got.errOut)
		}
		other := newWorkspace(t, nil)
		other.ownKeys()
		otherFlags := flags
		if len(flags) > 0 {
			otherFlags = storageFlags(pgtest.Database(t))
		}
		if got := other.remit(append(otherFlags, "restore", archive, "--yes")...); got.code != 0 {
			t.Fatalf("restore: %s%s", got.out, got.errOut)
		}
		for _, call := range [][]string{
			{"call", "list_tasks", "user_id=ada"},
			{"tasks", "restore", "--user", "ada", "--json"},
			{"call", "next_task", "user_id=ada"},
			{"call", "list_books"},
			{"call", "read_content", "book_id=python", "path=lessons/1.md"},
			{"call", "list_assets", "book_id=python"},
			{"call", "glob_search", "book_id=python", "pattern=**/*.md"},
			{"call", "grep_search", "book_id=python", "pattern=Another"},
			{"call", "read_repo_file", "path=.claude/memory/progress_log.jsonl"},
		} {
			was, is := s.remit(slices.Concat(flags, call)...), other.remit(slices.Concat(otherFlags, call)...)
			if was.code != 0 || was.out == "" || was.out != is.out {
				t.Errorf("%v: exit %d\n%s%s\nnot\n%s%s", call, was.code, is.out, is.errOut, was.out, was.errOut)
			}
		}
		if got := other.remit(slices.Concat(otherFlags, []string{"books", "restore", "python", "lessons/1.md"})...); got.code != 0 {
			t.Errorf("books restore: %s%s", got.out, got.errOut)
		}
	})
}
