//go:build linux

package bench

import (
	"database/sql"
	"net/http"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"remit/internal/stores/sqlstore"
	"remit/internal/stores/sqlstore/pgtest"
)

const (
	addTaskParams = `{"name":"add_task","arguments":{"user_id":"ada","title":"Call the dentist ` + anew + `",` +
		`"description":"Ask for an hour in the morning.","priority":"High","due_date":"2026-03-04"}}`
	addTaskWant = `"structuredContent":{"success":true,"data":{"id":`
)

var addTaskQuestion = question{"tools/call", addTaskParams, addTaskWant}

// listTasksQuestion asks for the first page of more tasks than it holds; more goes
// into the arguments.
func listTasksQuestion(more string) question {
	return question{"tools/call", `{"name":"list_tasks","arguments":{"user_id":"ada"` + more + `}}`, `"nextCursor":"`}
}

// TestTasksAtScale: a list is as quick to add to, and to begin to read, however long
// it is.
func TestTasksAtScale(t *testing.T) {
	measures(t)
	few, many := startStdio(t, remitWithTasks(t, 1000)), startStdio(t, remitWithTasks(t, 1000000))
	const addFew, addMany, listFew, listMany = 0, 1, 2, 3
	firstPage := listTasksQuestion(`,"limit":50`)
	lanes := []lane{
		addFew:   few.shortLane("add_task at 1,000", addTaskQuestion),
		addMany:  many.shortLane("add_task at 1,000,000", addTaskQuestion),
		listFew:  few.lane("list_tasks at 1,000", firstPage),
		listMany: many.lane("list_tasks at 1,000,000", firstPage),
	}
	contest(t, lanes, []bar{
		{what: "CPU of add_task at 1,000,000 tasks against 1,000", ratio: func(r []pace) float64 { return r[addMany].cpu / r[addFew].cpu }, most: 1.5},
		{what: "CPU of list_tasks at 1,000,000 tasks against 1,000", ratio: func(r []pace) float64 { return r[listMany].cpu / r[listFew].cpu }, most: 1.5},
	})
}

// shortLane is a lane whose turn is a number of calls, for a question that adds to
// what it is asked of: 1,000 tasks are to be about as many at the end.
func (s *stdioServer) shortLane(name string, q question) lane {
	return lane{name, s.cmd.Process.Pid, func(time.Duration) (int, error) { return s.pipeline(q, times(100)) }}
}

func times(n int) (more func() bool) {
	return func() bool {
		n--
		return n >= 0
	}
}

// remitWithTasks is a command line of Remit in a workspace with so many tasks of Ada.
func remitWithTasks(t *testing.T, n int) *exec.Cmd {
	t.Helper()
	cmd := remit(t, "stdio", "--toolsets", "tasks")
	db := taskFile(t, filepath.Join(cmd.Dir, ".remit"))
	for _, query := range []string{
		`PRAGMA synchronous = OFF`,
		`INSERT INTO tasks (user_id, id, title, description, completed, priority, due_date, created_at, updated_at)
			WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < $1)
			SELECT 'ada', n, 'Call the dentist ' || n, 'Ask for an hour in the morning.', n % 3 = 0, n % 3 + 1,
				CASE WHEN n % 2 = 0 THEN '2026-03-04' END, n, n FROM numbers`,
		`PRAGMA wal_checkpoint(TRUNCATE)`,
	} {
		if _, err := db.Exec(query, n); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
	}
	return cmd
}

// taskFile makes an empty database in a folder, as Remit does, and opens it by one
// connection beside Remit.
func taskFile(t *testing.T, folder string) *sql.DB {
	t.Helper()
	path := filepath.Join(folder, "remit.db")
	store, err := sqlstore.Open(t.Context(), "sqlite://"+path)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	return db
}

// TestTasksOnBothEngines tells what a durable add_task costs over HTTP on SQLite and
// on PostgreSQL. Both sync each commit.
func TestTasksOnBothEngines(t *testing.T) {
	measures(t)
	serve := []string{"serve", "--addr", "127.0.0.1:0", "--toolsets", "tasks"}
	file := startHTTP(t, remit(t, serve...))
	shared := startHTTP(t, remit(t, append(serve, "--database", pgtest.New(t).URL())...))
	contest(t, []lane{
		{"add_task, SQLite", file.pid, file.gather(t, callers, file.addingTasks).expecting(addTaskWant).callFor},
		{"add_task, PostgreSQL", shared.pid, shared.gather(t, callers, shared.addingTasks).expecting(addTaskWant).callFor},
	}, nil)
}

// addingTasks is the part of a client of the old era who adds one task after another.
func (s *httpServer) addingTasks() (http.Header, string, error) {
	header, err := s.greet()
	return header, `{"jsonrpc":"2.0","id":` + firstID + `,"method":"tools/call","params":` + addTaskParams + `}`, err
}

// expecting says what the answers have in them.
func (c *chorus) expecting(want string) *chorus {
	for _, r := range c.all {
		r.want = []byte(want)
	}
	return c
}
