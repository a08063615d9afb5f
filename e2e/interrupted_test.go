package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// step is a change that a record announces.
type step struct {
	Store, Op, Path, Old, New, Line string
	Step                            int

	call string
	made bool
}

// announced is a call that has announced changes.
type announced struct {
	steps    []*step
	outcomes []string // of its other records
}

// announcedCalls reads the records as they are stored.
func (s *workspace) announcedCalls() (calls map[string]*announced, steps []*step) {
	s.t.Helper()
	calls = map[string]*announced{}
	for _, day := range s.auditFiles() {
		for line := range strings.Lines(day) {
			var r struct {
				Call, Outcome   string
				Effect          *step
				Undone, Unknown []int
			}
			if !strings.HasSuffix(line, "\n") || !strings.Contains(line, `"call":`) {
				continue // still being written, or a read
			}
			s.check(json.Unmarshal([]byte(line), &r))
			c := calls[r.Call]
			switch {
			case r.Outcome == "begun":
				if c == nil {
					c = &announced{}
					calls[r.Call] = c
				}
				r.Effect.Step, r.Effect.call = max(1, r.Effect.Step), r.Call
				c.steps, steps = append(c.steps, r.Effect), append(steps, r.Effect)
			case c != nil:
				c.outcomes = append(c.outcomes, r.Outcome)
				for _, one := range c.steps {
					one.made = !slices.Contains(r.Undone, one.Step) && !slices.Contains(r.Unknown, one.Step)
				}
			}
		}
	}
	return calls, steps
}

// recordsWith returns the records that contain a text.
func (s *workspace) recordsWith(text string) (found string) {
	for _, day := range s.auditFiles() {
		for line := range strings.Lines(day) {
			if strings.Contains(line, text) {
				found += line
			}
		}
	}
	return found
}

// awaitSettled waits until each call that has begun has another record.
func (s *workspace) awaitSettled() {
	s.t.Helper()
	for end := time.Now().Add(timeout); ; time.Sleep(10 * time.Millisecond) {
		calls, _ := s.announcedCalls()
		open := 0
		for _, c := range calls {
			if len(c.outcomes) == 0 {
				open++
			}
		}
		if open == 0 {
			return
		}
		if time.Now().After(end) {
			s.t.Fatalf("%d calls are not settled", open)
		}
	}
}

// checkOutcomes checks that each call that has begun has one outcome, and returns what the calls
// have announced.
func (s *workspace) checkOutcomes() (steps []*step) {
	s.t.Helper()
	calls, steps := s.announcedCalls()
	for id, c := range calls {
		if len(c.outcomes) != 1 {
			s.t.Errorf("call %s has %d outcomes: %q", id, len(c.outcomes), c.outcomes)
		}
	}
	return steps
}

// checkEffects compares the memory file and the books with the records: each change that was made
// has one record that says so, and the reverse.
func (s *workspace) checkEffects() {
	s.t.Helper()
	steps := s.checkOutcomes()
	lines, keys, last := map[string]int{}, map[string]string{}, map[string]string{}
	for _, one := range steps {
		switch {
		case !one.made:
		case one.Store == "memory":
			lines[one.New]++
		case one.Op != "register":
			keys[one.Line], last[one.Path] = one.call, one.New
		}
	}
	for _, line := range s.memory(memoryFile) {
		if lines[hashOf(line)]--; lines[hashOf(line)] < 0 {
			s.t.Errorf("no record has this entry: %s", clip(line))
		}
	}
	for hash, n := range lines {
		if n > 0 {
			s.t.Errorf("%d records say that the entry %s was written, which is not there", n, hash)
		}
	}
	library := s.path(".remit/library")
	s.check(filepath.WalkDir(filepath.Join(library, ".history"), func(path string, entry os.DirEntry, err error) error {
		key, _ := filepath.Rel(library, path)
		if err != nil || entry.IsDir() || !strings.HasSuffix(key, ".json") {
			return err
		}
		var line struct{ Call string }
		s.check(json.Unmarshal([]byte(s.read(".remit/library/"+key)), &line))
		if line.Call == "" || keys[key] != line.Call {
			s.t.Errorf("no record has the history line %s of call %q:\n%s", key, line.Call, s.recordsWith(line.Call))
		}
		delete(keys, key)
		return nil
	}))
	for key, call := range keys {
		s.t.Errorf("the history line %s of call %s is missing", key, call)
	}
	for path, hash := range last {
		if text := s.read(".remit/library/" + path); hash == "" && text != "" || hash != "" && hashOf(text) != hash {
			s.t.Errorf("%s does not hold what the last record says", path)
		}
	}
}

// TestKilledServersSettleTheirChanges kills a server again and again while callers write entries of
// a memory file, many of them equal, and write and delete lessons. In the end the records say
// exactly what was changed.
func TestKilledServersSettleTheirChanges(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, nil)
	serve := func() *httpServer { return s.serve("--toolsets", "learning-os,books", "--approve", "auto") }
	w := serve()
	var url atomic.Pointer[string]
	url.Store(&w.url)
	var acknowledged atomic.Int64
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var callers sync.WaitGroup
	entries := make([]int, 4) // acknowledged, by the text of the entry
	for i := range 8 {
		callers.Go(func() {
			client := http.Client{Timeout: timeout, Transport: &http.Transport{}}
			for n := 0; ctx.Err() == nil; n++ {
				tool, body := "write_memory_entry", fmt.Sprintf(`{"file":%q,"entry":{"timestamp":"2026-01-09T10:30:00Z","type":"task","n":%d}}`, memoryFile, i/2)
				if i%2 == 1 {
					tool, body = "write_content", fmt.Sprintf(`{"book_id":"abc","path":"lessons/%d.md","content":"%d of %d"}`, i/4, n, i)
				}
				if i%2 == 1 && n%5 == 4 {
					tool, body = "delete_content", fmt.Sprintf(`{"book_id":"abc","path":"lessons/%d.md"}`, i/4)
				}
				r, err := newPost(ctx, *url.Load()+"/tools/"+tool, body, nil)
				if err != nil {
					return
				}
				if got, err := send(&client, r); err == nil && got.status == http.StatusOK {
					acknowledged.Add(1)
					if i%2 == 0 {
						entries[i/2]++
					}
					continue
				}
				time.Sleep(5 * time.Millisecond) // wait for the next server
			}
		})
	}
	for round := range int64(8) {
		for end := time.Now().Add(2 * timeout); acknowledged.Load() < (round+1)*60; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("only %d calls were acknowledged", acknowledged.Load())
			}
		}
		w.kill()
		w = serve()
		url.Store(&w.url)
	}
	stop()
	callers.Wait()
	s.awaitSettled()
	w.end()
	s.checkEffects()
	for i, n := range entries {
		entry, found := fmt.Sprintf(`{"timestamp":"2026-01-09T10:30:00Z","type":"task","n":%d}`, i), 0
		for _, line := range s.memory(memoryFile) {
			if line == entry {
				found++
			}
		}
		if found < n {
			t.Errorf("%d entries were acknowledged, %d are there: %s", n, found, entry)
		}
	}
	if left, _ := os.ReadDir(s.path(".remit/announced")); len(left) > 1 { // and the lock
		t.Errorf("these processes are not settled: %v", left)
	}
	s.verifyAudit()
}

// TestAuditVerifyNamesEdits changes memory files and books behind the records, in all ways, and
// checks that "audit verify" names each, and nothing else.
func TestAuditVerifyNamesEdits(t *testing.T) {
	t.Parallel()
	const file, lesson, lessonFile = ".claude/memory/" + memoryFile, "lessons/1.md", ".remit/library/books/abc/lessons/1.md"
	history := func(s *workspace) string {
		found, err := filepath.Glob(s.path(".remit/library/.history/abc/log/lessons/1.md/*.json"))
		s.check(err)
		return found[len(found)-1]
	}
	for name, tc := range map[string]struct {
		edit func(s *workspace)
		want string // "" is no problem
		note string
	}{
		"nothing": {edit: func(*workspace) {}},
		"a line is removed": {
			edit: func(s *workspace) { s.write(file, strings.Join(s.memory(memoryFile)[1:], "\n")+"\n") },
			want: memoryFile + ": the entry of call",
		},
		"one of two equal lines is removed": {
			edit: func(s *workspace) { s.write(file, strings.Join(s.memory(memoryFile)[:2], "\n")+"\n") },
			want: memoryFile + ": the entry of call",
		},
		"a line is typed": {
			edit: func(s *workspace) { s.write(file, s.read(file)+`{"typed":true}`+"\n") },
			note: memoryFile + ": people have typed line 4",
		},
		"a line is typed above": {
			edit: func(s *workspace) { s.write(file, `{"typed":true}`+"\n"+s.read(file)) },
			note: memoryFile + ": people have typed line 1",
		},
		"a lesson is edited":  {edit: func(s *workspace) { s.write(lessonFile, "mine") }, want: "books/abc/lessons/1.md: its content is not"},
		"a lesson is deleted": {edit: func(s *workspace) { s.check(os.Remove(s.path(lessonFile))) }, want: "books/abc/lessons/1.md: its content is not"},
		"a line of the history is deleted": {
			edit: func(s *workspace) { s.check(os.Remove(history(s))) },
			want: "books/abc/lessons/1.md: the history has no line of call",
		},
		"a line of the history is added": {
			edit: func(s *workspace) {
				s.write(".remit/library/.history/abc/log/lessons/1.md/21000101T000000000000000-00000000.eve.json", "{}")
			},
			want: "21000101T000000000000000-00000000.eve.json: this line of the history has no record",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newWorkspace(t, nil)
			w := s.serve("--toolsets", "learning-os,books", "--approve", "auto")
			for _, n := range []int{1, 2, 2} {
				w.post("/tools/write_memory_entry", fmt.Sprintf(`{"file":%q,"entry":{"timestamp":"2026-01-09T10:30:00Z","type":"task","n":%d}}`, memoryFile, n), nil)
				w.post("/tools/write_content", fmt.Sprintf(`{"book_id":"abc","path":%q,"content":"%d"}`, lesson, n), nil)
			}
			w.end()
			tc.edit(s)
			got := s.remit("audit", "verify", "--json")
			var result struct{ Problems, Notes []string }
			s.check(json.Unmarshal([]byte(got.out), &result))
			check := func(what string, found []string, want string) {
				if want == "" && len(found) == 0 || want != "" && len(found) == 1 && strings.Contains(found[0], want) {
					return
				}
				t.Errorf("%s: %q, want %q", what, found, want)
			}
			check("problems", result.Problems, tc.want)
			check("notes", result.Notes, tc.note)
			if (got.code == 0) != (tc.want == "") {
				t.Errorf("exit code %d", got.code)
			}
		})
	}
}
