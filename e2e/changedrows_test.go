package e2e

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"remit/internal/stores/sqlstore/pgtest"
)

// useDatabase lets all commands use a PostgreSQL database.
func (s *workspace) useDatabase(url string) {
	s.database, s.env = url, append(s.env, "REMIT_DATABASE="+url)
}

// execute changes the database of the workspace directly.
func (s *workspace) execute(statement string) {
	s.t.Helper()
	if s.database == "" {
		s.behind(statement)
		return
	}
	db, err := sql.Open("pgx", s.database)
	s.check(err)
	defer db.Close()
	_, err = db.ExecContext(s.t.Context(), statement)
	s.check(err)
}

// proved returns what "audit verify" finds.
func (s *workspace) proved() (code int, problems, notes []string) {
	s.t.Helper()
	got := s.remit("audit", "verify", "--json")
	var result struct{ Problems, Notes []string }
	if err := json.Unmarshal([]byte(got.out), &result); err != nil {
		s.t.Fatalf("audit verify: exit %d, %v\n%s%s", got.code, err, got.out, got.errOut)
	}
	return got.code, result.Problems, result.Notes
}

// TestAuditVerifyNamesChangedRows changes tasks and memory entries in the database, in all ways,
// and checks that "audit verify" names each, and nothing else.
func TestAuditVerifyNamesChangedRows(t *testing.T) {
	t.Parallel()
	const insert = `INSERT INTO tasks (user_id, id, title, completed, priority, created_at, updated_at) VALUES ('ada', %d, 'x', false, 1, %d, 1)`
	edits := map[string]struct {
		edit   string
		want   string // "" is no problem
		more   string // another problem
		shared bool   // PostgreSQL only
	}{
		"nothing":               {},
		"a task is changed":     {edit: `UPDATE tasks SET title = 'mine' WHERE id = 1`, want: "task 1 of ada: it is not what call"},
		"a task is put back":    {edit: `UPDATE tasks SET completed = false WHERE id = 1`, want: "task 1 of ada: it is not what call"},
		"a task is given away":  {edit: `UPDATE tasks SET user_id = 'eve' WHERE id = 1`, want: "task 1 of eve: it is not what call"},
		"a task is deleted":     {edit: `DELETE FROM tasks WHERE id = 2`, want: "task 2: it is missing"},
		"a task is added":       {edit: fmt.Sprintf(insert, 9, int64(1)<<60), want: "task 9 of ada: no record"},
		"an old task is added":  {edit: fmt.Sprintf(insert, 9, 1), want: "task 9 of ada: no record"},
		"a deleted task exists": {edit: fmt.Sprintf(insert, 3, 1), want: "task 3 of ada: it is there, but call"},
		"a claim is changed":    {edit: `UPDATE tasks SET claimed_by = 'eve' WHERE id = 2`, want: "task 2 of ada: it is not what call"},
		"a deleted task is changed": {
			edit: `UPDATE task_trash SET title = 'x'`, want: "task 3 of ada: it is in the trash, but not as call",
		},
		"an entry is changed": {
			edit: `UPDATE log_lines SET body = '{"n":7}' WHERE line = 1 AND starts_with(log, 'memory/')`,
			want: memoryFile + ": no record says that line 1 was added", more: memoryFile + ": the entry of call", shared: true,
		},
		"an entry is deleted": {
			edit: `DELETE FROM log_lines WHERE line = 2 AND starts_with(log, 'memory/')`, want: memoryFile + ": the entry of call", shared: true,
		},
		"an entry is added": {
			edit: `INSERT INTO log_lines (log, line, body) SELECT log, 3, '{"n":7}' FROM logs WHERE starts_with(log, 'memory/');
				UPDATE logs SET lines = lines + 1, bytes = bytes + 8 WHERE starts_with(log, 'memory/')`,
			want: memoryFile + ": no record says that line 3 was added", shared: true,
		},
	}
	for _, database := range []string{"SQLite", "PostgreSQL"} {
		for name, tc := range edits {
			if tc.shared && database == "SQLite" {
				continue // the entries are in files
			}
			t.Run(database+"/"+name, func(t *testing.T) {
				t.Parallel()
				s := newWorkspace(t, nil)
				if database == "PostgreSQL" {
					s.useDatabase(pgtest.Database(t))
				}
				w := s.serve("--toolsets", "learning-os,tasks", "--approve", "auto")
				for n := range 3 {
					w.post("/tools/add_task", fmt.Sprintf(`{"user_id":"ada","title":"%d"}`, n), nil)
				}
				w.post("/tools/complete_task", `{"user_id":"ada","task_id":"1"}`, nil)
				w.post("/tools/update_task", `{"user_id":"ada","task_id":"1","title":"same"}`, http.Header{"Idempotency-Key": {"k"}})
				// Changes nothing.
				w.post("/tools/update_task", `{"user_id":"ada","task_id":"1","title":"same"}`, nil)
				w.post("/tools/delete_task", `{"user_id":"ada","task_id":"3"}`, nil)
				w.post("/tools/claim_task", `{"user_id":"ada","task_id":"2"}`, nil)
				for n := range 2 {
					w.post("/tools/write_memory_entry", fmt.Sprintf(`{"file":%q,"entry":{"timestamp":"2026-01-09T10:30:00Z","type":"task","n":%d}}`, memoryFile, n), nil)
				}
				w.end()
				if tc.edit != "" {
					s.execute(tc.edit)
				}
				code, problems, notes := s.proved()
				want := slices.DeleteFunc([]string{tc.want, tc.more}, func(one string) bool { return one == "" })
				if !slices.EqualFunc(problems, want, strings.HasPrefix) {
					t.Errorf("problems: %q, want %q", problems, want)
				}
				if (code == 0) != (tc.want == "") || len(notes) > 0 {
					t.Errorf("exit code %d, notes %q", code, notes)
				}
			})
		}
	}
}

// TestUnrecordedChangeIsNotHidden checks that a change by SQL is named after the task was changed
// by a call.
func TestUnrecordedChangeIsNotHidden(t *testing.T) {
	t.Parallel()
	onEachDatabase(t, func(t *testing.T, flags ...string) {
		s := newWorkspace(t, nil)
		if len(flags) > 0 {
			s.useDatabase(flags[1])
		}
		s.mustRun("tasks", "add", "Milk", "--user", "ada")
		s.execute(`UPDATE tasks SET title = 'Wine'`)
		s.mustRun("tasks", "done", "1", "--user", "ada")
		if code, problems, _ := s.proved(); code == 0 || len(problems) != 1 || !strings.HasPrefix(problems[0], "task 1: it was changed without a record") {
			t.Errorf("exit code %d, problems %q", code, problems)
		}
	})
}

// TestAuditVerifyWhileWriting runs "audit verify" while callers add, change and delete tasks, most
// of them the same ones: nothing is named.
func TestAuditVerifyWhileWriting(t *testing.T) {
	t.Parallel()
	onEachDatabase(t, func(t *testing.T, flags ...string) {
		s := newWorkspace(t, nil)
		if len(flags) > 0 {
			s.useDatabase(flags[1])
		}
		servers := []*httpServer{s.serve("--toolsets", "tasks", "--approve", "auto"), s.serve("--toolsets", "tasks", "--approve", "auto")}
		for range 4 {
			servers[0].post("/tools/add_task", `{"user_id":"ada","title":"new"}`, nil)
		}
		ctx, stop := context.WithCancel(t.Context())
		var callers sync.WaitGroup
		for i := range 6 {
			callers.Go(func() {
				client := http.Client{Timeout: timeout, Transport: &http.Transport{}}
				for n := 0; ctx.Err() == nil; n++ {
					tool, body := "update_task", fmt.Sprintf(`{"user_id":"ada","task_id":"%d","title":"%d of %d"}`, 1+n%3, n%2, i)
					switch n % 10 {
					case 8:
						tool, body = "add_task", `{"user_id":"ada","title":"more"}`
					case 9:
						tool, body = "delete_task", fmt.Sprintf(`{"user_id":"ada","task_id":"%d"}`, 5+n/10)
					}
					if r, err := newPost(ctx, servers[i%2].url+"/tools/"+tool, body, nil); err == nil {
						_, _ = send(&client, r) // others may have deleted the task
					}
				}
			})
		}
		for range 4 {
			if code, problems, _ := s.proved(); code != 0 {
				t.Errorf("while others write: exit code %d, problems %q", code, problems)
			}
		}
		stop()
		callers.Wait()
		for _, w := range servers {
			w.end()
		}
		s.verifyAudit()
	})
}
