//go:build linux

package bench

import (
	"context"
	"database/sql"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"remit/internal/stores/sqlstore"
	"remit/internal/toolsets/tasks"
)

// newTask returns the task that both ways add.
func newTask() tasks.New {
	description, due := "Ask for an hour in the morning.", "2026-03-04"
	return tasks.New{UserID: "ada", Title: "Call the dentist", Description: &description, Priority: tasks.High, DueDate: &due}
}

// groupedTasks adds tasks as Remit does: callers share a commit.
func groupedTasks(t *testing.T, folder string) appendEntry {
	t.Helper()
	db, err := sqlstore.Open(t.Context(), "sqlite://"+filepath.Join(folder, "remit.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	store, task := db.Tasks(), newTask()
	return func() error {
		_, err := store.Add(context.Background(), task, time.Now())
		return err
	}
}

// addTask is Remit's statement for adding a task.
const addTask = `INSERT INTO tasks (user_id, id, title, description, completed, priority, due_date, created_at, updated_at)
	SELECT $1, last + 1, $2, $3, false, $4, $5, at, at
	FROM task_ids, (SELECT max($6, coalesce((SELECT newest FROM task_lists WHERE user_id = $1), 0)) AS at)
	RETURNING id, created_at`

// commitPerTask is the simple way to be as durable: a mutex, and a transaction with a prepared
// statement for each task.
func commitPerTask(t *testing.T, folder string) appendEntry {
	t.Helper()
	db := taskFile(t, folder)
	if _, err := db.Exec(`PRAGMA synchronous = FULL`); err != nil {
		t.Fatal(err)
	}
	insert, task := prepare(t, db, addTask), newTask()
	add := func(tx *sql.Tx) error {
		var id, created int64
		return tx.Stmt(insert).QueryRow(task.UserID, task.Title, task.Description, 3, task.DueDate, time.Now().UnixMicro()).Scan(&id, &created)
	}
	var mu sync.Mutex
	return func() error {
		mu.Lock()
		defer mu.Unlock()
		tx, err := db.Begin()
		if err != nil {
			return err
		}
		defer tx.Rollback() // has no effect after the commit
		if err := add(tx); err != nil {
			return err
		}
		return tx.Commit()
	}
}

func prepare(t *testing.T, db *sql.DB, query string) *sql.Stmt {
	t.Helper()
	stmt, err := db.Prepare(query)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stmt.Close() })
	return stmt
}

// TestTasksShareCommits checks that group commit is worth it, by the median of all turns.
func TestTasksShareCommits(t *testing.T) {
	skipUnlessMeasuring(t)
	const guard = 3.0
	disk := realDisk(t)
	ours, plain := groupedTasks(t, filepath.Join(disk, "grouped")), commitPerTask(t, filepath.Join(disk, "plain"))
	ratio := compare(t, ours, plain)
	t.Logf("%d callers, tasks in shared commits against a commit each: %.2fx in the median turn", appenders, ratio)
	if ratio < guard {
		t.Errorf("sharing commits is not %.1fx as fast as a commit each", guard)
	}
}
