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
	addTaskParams = `{"name":"add_task","arguments":{"user_id":"ada","title":"Call the dentist ` + uniqueNumber + `",` +
		`"description":"Ask for an hour in the morning.","priority":"High","due_date":"2026-03-04"}}`
	addTaskWant = `"structuredContent":{"success":true,"data":{"id":`
)

var addTaskQuestion = question{"tools/call", addTaskParams, addTaskWant}

// listTasksQuestion requests the first page of a longer list; more is added to the arguments.
func listTasksQuestion(more string) question {
	return question{"tools/call", `{"name":"list_tasks","arguments":{"user_id":"ada"` + more + `}}`, `"nextCursor":"`}
}

// TestTasksAtScale: adding to a list and reading its first page take the same time however long it
// is.
func TestTasksAtScale(t *testing.T) {
	skipUnlessMeasuring(t)
	few, many := startStdio(t, remitWithTasks(t, 1000)), startStdio(t, remitWithTasks(t, 1000000))
	const addFew, addMany, listFew, listMany = 0, 1, 2, 3
	firstPage := listTasksQuestion(`,"limit":50`)
	contenders := []contender{
		addFew:   few.shortContender("add_task at 1,000", addTaskQuestion),
		addMany:  many.shortContender("add_task at 1,000,000", addTaskQuestion),
		listFew:  few.contender("list_tasks at 1,000", firstPage),
		listMany: many.contender("list_tasks at 1,000,000", firstPage),
	}
	compareContenders(t, contenders, []limit{
		{what: "CPU of add_task at 1,000,000 tasks against 1,000", ratio: func(r []speed) float64 { return r[addMany].cpu / r[addFew].cpu }, max: 1.5},
		{what: "CPU of list_tasks at 1,000,000 tasks against 1,000", ratio: func(r []speed) float64 { return r[listMany].cpu / r[listFew].cpu }, max: 1.5},
	})
}

// shortContender returns a contender whose turn is a fixed number of calls, for a question that
// adds tasks: 1,000 tasks should still be about 1,000 at the end.
func (s *stdioServer) shortContender(name string, q question) contender {
	return contender{name, s.cmd.Process.Pid, func(time.Duration) (int, error) { return s.pipeline(q, times(100)) }}
}

func times(n int) (more func() bool) {
	return func() bool {
		n--
		return n >= 0
	}
}

// remitWithTasks returns a Remit command in a workspace with n tasks of user Ada.
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

// taskFile creates an empty database in a folder, as Remit does, and opens it with one connection.
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

// TestTasksOnBothEngines logs what a durable add_task costs over HTTP on SQLite and on PostgreSQL.
// Both sync each commit.
func TestTasksOnBothEngines(t *testing.T) {
	skipUnlessMeasuring(t)
	serve := []string{"serve", "--addr", "127.0.0.1:0", "--toolsets", "tasks"}
	file := startHTTP(t, remit(t, serve...))
	shared := startHTTP(t, remit(t, append(serve, "--database", pgtest.New(t).URL())...))
	compareContenders(t, []contender{
		{"add_task, SQLite", file.pid, file.connectCallers(t, callers, file.addingTasks).expectAnswer(addTaskWant).callFor},
		{"add_task, PostgreSQL", shared.pid, shared.connectCallers(t, callers, shared.addingTasks).expectAnswer(addTaskWant).callFor},
	}, nil)
}

// addingTasks returns the request of a client of the session era that adds tasks.
func (s *httpServer) addingTasks() (http.Header, string, error) {
	header, err := s.initialize()
	return header, `{"jsonrpc":"2.0","id":` + firstID + `,"method":"tools/call","params":` + addTaskParams + `}`, err
}

// expectAnswer sets the text that the answers must contain.
func (c *callerGroup) expectAnswer(want string) *callerGroup {
	for _, r := range c.all {
		r.want = []byte(want)
	}
	return c
}
