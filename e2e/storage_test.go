package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// storages is a server whose storages lie in folders of their own, so that each can be taken away.
type storages struct {
	*workspace
	server *httpServer
	base   string
	acked  [3]sync.Map // the texts that were acknowledged, by kind of write
	acks   [3]atomic.Int64
	fails  [3]atomic.Int64
}

// The kinds of writes.
const (
	taskWrite = iota
	memoryWrite
	bookWrite
)

func newStorages(t *testing.T) *storages {
	t.Helper()
	base := t.TempDir()
	s := &storages{workspace: &workspace{t: t, root: filepath.Join(base, "root")}, base: base}
	for _, name := range []string{"root", "data", "library"} {
		s.check(os.MkdirAll(filepath.Join(base, name), 0o755))
	}
	s.write("notes.md", "hello\n")
	s.ownKeys()
	return s
}

func (s *storages) flags() []string {
	return []string{"--data", filepath.Join(s.base, "data"), "--books", "file://" + filepath.Join(s.base, "library")}
}

func (s *storages) start() {
	s.t.Helper()
	s.server = s.serve(append(s.flags(), "--toolsets", "tasks,learning-os,books", "--approve", "auto", "--rate-limits", "off", "--log-level", "error")...)
}

// calls returns one write of each kind that stores a text.
func (s *storages) call(kind int, text string) httpAnswer {
	s.t.Helper()
	switch kind {
	case taskWrite:
		return s.server.post("/tools/add_task", fmt.Sprintf(`{"user_id":"ada","title":%q}`, text), nil)
	case memoryWrite:
		return s.server.post("/tools/write_memory_entry", fmt.Sprintf(
			`{"file":"progress_log.jsonl","entry":{"timestamp":"2026-01-09T10:30:00Z","type":"task","text":%q}}`, text), nil)
	}
	return s.server.post("/tools/write_content", fmt.Sprintf(`{"book_id":"a-book","path":"lessons/%s.md","content":%q}`, text, text), nil)
}

// load writes to all storages until stop is called.
func (s *storages) load() (stop func()) {
	var ended atomic.Bool
	var writers sync.WaitGroup
	for kind := range s.acked {
		writers.Go(func() {
			for n := 0; !ended.Load(); n++ {
				text := fmt.Sprintf("text-%d-%d", kind, n)
				if got := s.call(kind, text); got.status == http.StatusOK {
					s.acked[kind].Store(text, true)
					s.acks[kind].Add(1)
				} else {
					s.fails[kind].Add(1)
				}
			}
		})
	}
	return func() { ended.Store(true); writers.Wait() }
}

// await waits until a counter has grown by two: the second call began after await was called.
func (s *storages) await(what string, counter *atomic.Int64) {
	s.t.Helper()
	from := counter.Load()
	for deadline := time.Now().Add(timeout); counter.Load() < from+2; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			s.t.Fatalf("no %s", what)
		}
	}
}

// checkAcked checks that everything that was acknowledged is stored.
func (s *storages) checkAcked() {
	s.t.Helper()
	stored := map[string]bool{}
	for _, task := range listAll(s.t, s.server.url, "ada") {
		stored[task.Title] = true
	}
	for _, line := range s.memory("progress_log.jsonl") {
		var entry struct{ Text string }
		s.check(json.Unmarshal([]byte(line), &entry))
		stored[entry.Text] = true
	}
	lessons, err := filepath.Glob(filepath.Join(s.base, "library/books/a-book/lessons/*.md"))
	s.check(err)
	for _, name := range lessons {
		stored[strings.TrimSuffix(filepath.Base(name), ".md")] = true
	}
	for kind := range s.acked {
		s.acked[kind].Range(func(text, _ any) bool {
			if !stored[text.(string)] {
				s.t.Errorf("%s was acknowledged and is missing", text)
			}
			return true
		})
	}
}

// health returns the names of the checks that failed.
func (s *storages) health() (failed []string) {
	s.t.Helper()
	got := s.server.get("/health", nil)
	var answer struct{ Checks map[string]string }
	s.check(json.Unmarshal(got.body, &answer))
	for name, result := range answer.Checks {
		if result != "ok" {
			failed = append(failed, name)
		}
	}
	if (got.status == http.StatusOK) != (len(failed) == 0) {
		s.t.Errorf("health: %d %s", got.status, got.body)
	}
	return failed
}

// away is a storage that is taken away, and what then fails.
type away struct {
	folder string // relative to the base
	fails  []int  // the kinds of writes
	health string // the check that names it
}

var aways = map[string]away{
	"data":      {"data", []int{taskWrite, memoryWrite, bookWrite}, "data"},
	"library":   {"library", []int{bookWrite}, "books"},
	"memory":    {"root/.claude/memory", []int{memoryWrite}, "memory"},
	"workspace": {"root", []int{memoryWrite}, "workspace"},
}

// goesAway takes a storage away under load and puts it back. In between no write to it is
// acknowledged and nothing is created; afterwards the server goes on by itself, and everything that
// was acknowledged is stored.
func (s *storages) goesAway(a away, take, putBack func(path string)) {
	s.t.Helper()
	path := filepath.Join(s.base, filepath.FromSlash(a.folder))
	s.start()
	stop := s.load()
	for kind := range s.acks {
		s.await("acknowledged write", &s.acks[kind])
	}
	take(path)
	for _, kind := range a.fails {
		s.await("failed write", &s.fails[kind])
		if got := s.call(kind, "away"); got.status < 500 || !strings.Contains(string(got.body), "not mounted") {
			s.t.Errorf("a write of kind %d: %d %s", kind, got.status, got.body)
		}
	}
	if failed := s.health(); !slices.Contains(failed, a.health) {
		s.t.Errorf("health names %v, not %s", failed, a.health)
	}
	if left, err := os.ReadDir(path); err == nil && len(left) > 0 {
		s.t.Errorf("%s was created anew: %v", a.folder, left)
	}
	putBack(path)
	for kind := range s.acks {
		s.await("acknowledged write", &s.acks[kind])
	}
	stop()
	if failed := s.health(); len(failed) > 0 {
		s.t.Errorf("health names %v", failed)
	}
	s.checkAcked()
	s.check(s.server.cmd.Process.Signal(syscall.SIGTERM))
	<-s.server.exit // the log names the calls that were interrupted
	if got := s.remit(append([]string{"audit", "verify", "--root", s.root}, s.flags()...)...); got.code != 0 {
		s.t.Errorf("audit verify: exit %d\n%s%s", got.code, got.out, got.errOut)
	}
}

func TestStorageIsMovedAway(t *testing.T) {
	t.Parallel()
	for name, a := range aways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStorages(t)
			s.goesAway(a,
				func(path string) { s.check(os.Rename(path, path+".away")) },
				func(path string) { s.check(os.Rename(path+".away", path)) })
		})
	}
}
