package sqlstore_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"remit/internal/engine/audit"
	"remit/internal/stores/sqlstore"
	"remit/internal/toolsets/tasks"
)

// ledgerOf returns what the outbox of a database says.
func ledgerOf(t *testing.T, db *sqlstore.DB) *audit.Ledger {
	t.Helper()
	l := &audit.Ledger{}
	if err := db.PendingRecords(t.Context(), l.AddPending); err != nil {
		t.Fatal(err)
	}
	return l
}

// recorded runs a change as a call of its own, which has a record.
func recorded(t *testing.T, change func(ctx context.Context) error) {
	t.Helper()
	if err := change(audit.WithEffect(t.Context(), newEffect(nil))); err != nil {
		t.Fatal(err)
	}
}

// threeTasks adds three tasks, changes the first and deletes the last, all with a record.
func threeTasks(t *testing.T, db *sqlstore.DB) {
	t.Helper()
	due, text := "2026-02-01", "Two litres"
	for range 3 {
		recorded(t, func(ctx context.Context) error {
			_, err := db.Tasks().Add(ctx, tasks.New{UserID: "ada", Title: "Milk", Description: &text, DueDate: &due, Priority: tasks.Medium}, noon())
			return err
		})
	}
	rename(t, db, 1, "Oat milk")
	remove(t, db, 3)
}

func rename(t *testing.T, db *sqlstore.DB, id int64, title string) {
	t.Helper()
	recorded(t, func(ctx context.Context) error {
		_, err := db.Tasks().Change(ctx, "ada", id, noon(), func(task *tasks.Task) bool { task.Title = title; return true })
		return err
	})
}

func remove(t *testing.T, db *sqlstore.DB, id int64) {
	t.Helper()
	recorded(t, func(ctx context.Context) error { return db.Tasks().Delete(ctx, "ada", id, nil) })
}

// claim claims a task if by is not "", and ends its claim otherwise.
func claim(t *testing.T, db *sqlstore.DB, id int64, by string) {
	t.Helper()
	recorded(t, func(ctx context.Context) error {
		_, err := db.Tasks().Lease(ctx, "ada", id, noon(), func(task *tasks.Task, at time.Time) error {
			task.Claim, task.Fence = nil, task.Fence+1
			if by != "" {
				task.Claim = &tasks.Claim{By: by, Until: at.Add(time.Hour)}
			}
			return nil
		})
		return err
	})
}

// TestProveTasks changes tasks by SQL, and checks that each difference to the records is named.
func TestProveTasks(t *testing.T) {
	t.Parallel()
	const insert = `INSERT INTO tasks (user_id, id, title, completed, priority, created_at, updated_at) VALUES `
	const putBack = insert + "('ada', 3, 'x', false, 1, 1, 1)"
	changed := "task 1 of ada: it is not what call "
	engines(t, func(t *testing.T, url func(t *testing.T) string) {
		for edit, want := range map[string]string{
			"": "",
			"UPDATE tasks SET title = 'x' WHERE id = 1":        changed,
			"UPDATE tasks SET description = NULL WHERE id = 1": changed,
			"UPDATE tasks SET description = '' WHERE id = 1":   changed,
			"UPDATE tasks SET completed = true WHERE id = 1":   changed,
			"UPDATE tasks SET priority = 3 WHERE id = 1":       changed,
			// It reads as Medium.
			"UPDATE tasks SET priority = 9 WHERE id = 1":            changed,
			"UPDATE tasks SET due_date = '2027-02-01' WHERE id = 1": changed,
			"UPDATE tasks SET created_at = 1 WHERE id = 1":          changed,
			"UPDATE tasks SET updated_at = 1 WHERE id = 1":          changed,
			"UPDATE tasks SET user_id = 'eve' WHERE id = 1":         "task 1 of eve: it is not what call ",
			"DELETE FROM tasks WHERE id = 2":                        "task 2: it is missing; call ",
			"UPDATE tasks SET depends_on = '[2]' WHERE id = 1":      changed,
			"UPDATE tasks SET claimed_by = 'eve' WHERE id = 1":      changed,
			"UPDATE tasks SET lease_until = 1 WHERE id = 1":         changed,
			"UPDATE tasks SET fence = 1 WHERE id = 1":               changed,
			"UPDATE tasks SET previous = NULL WHERE id = 1":         changed,
			"UPDATE task_trash SET title = 'x' WHERE id = 3":        "task 3 of ada: it is in the trash, but not as call ",
			"UPDATE task_trash SET id = 9 WHERE id = 3":             "task 9 of ada: it is in the trash, but no record says that it was deleted",
			"UPDATE task_trash SET id = 2 WHERE id = 3":             "task 2 of ada: it is in the trash, but call ",
			// As if it was there for too long.
			"DELETE FROM task_trash": "",
			putBack:                  "task 3 of ada: it is there, but call ",
			insert + "('ada', 9, 'x', false, 1, 1, 1)": "task 9 of ada: no record says that it was added",
		} {
			at := url(t)
			db := open(t, at)
			threeTasks(t, db)
			if edit != "" {
				behind(t, at, edit)
			}
			expectProblem(t, db, ledgerOf(t, db), edit, want)
		}
	})
}

func expectProblem(t *testing.T, db *sqlstore.DB, l *audit.Ledger, name, want string) {
	t.Helper()
	reported := 0
	c, err := db.ProveTasks(t.Context(), &l.Tasks, func(done int) { reported = done })
	if err != nil || reported == 0 || len(c.Notes) > 0 {
		t.Errorf("%s: %v; %d tasks were compared; notes %q", name, err, reported, c.Notes)
	}
	if want == "" && len(c.Problems) > 0 || want != "" && (len(c.Problems) != 1 || !strings.HasPrefix(c.Problems[0], want)) {
		t.Errorf("%s: %q, want %q", name, c.Problems, want)
	}
}

// TestProveTasksAfterChange checks that a change by SQL is named although a call has changed, or
// deleted, the task afterwards.
func TestProveTasksAfterChange(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, url func(t *testing.T) string) {
		at := url(t)
		db := open(t, at)
		threeTasks(t, db)
		behind(t, at, "UPDATE tasks SET title = 'x' WHERE id = 1")
		rename(t, db, 1, "Soy milk")
		expectProblem(t, db, ledgerOf(t, db), "changed", "task 1: it was changed without a record before call ")
		remove(t, db, 1)
		expectProblem(t, db, ledgerOf(t, db), "deleted", "task 1: it was changed without a record before call ")
	})
}

// TestProveClaimsAndTrash checks that each change of a claim, each deletion and each restoration
// has a record, and that changes by SQL in between are named.
func TestProveClaimsAndTrash(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, url func(t *testing.T) string) {
		at := url(t)
		db := open(t, at)
		threeTasks(t, db)
		restore := func(id int64) {
			t.Helper()
			recorded(t, func(ctx context.Context) error { _, err := db.Tasks().Restore(ctx, "ada", id); return err })
		}
		dependOn := func(id int64, others ...int64) {
			t.Helper()
			recorded(t, func(ctx context.Context) error {
				_, err := db.Tasks().Change(ctx, "ada", id, noon(), func(task *tasks.Task) bool { task.DependsOn = others; return true })
				return err
			})
		}
		next := func() {
			t.Helper()
			recorded(t, func(ctx context.Context) error {
				_, err := db.Tasks().Next(ctx, "ada", noon(), func(task *tasks.Task, at time.Time) error {
					task.Claim, task.Fence = &tasks.Claim{By: "dan", Until: at.Add(time.Hour)}, task.Fence+1
					return nil
				})
				return err
			})
		}
		for i, step := range []func(){
			next, func() { claim(t, db, 1, "bob") }, func() { claim(t, db, 1, "") }, func() { rename(t, db, 1, "Tea") },
			func() { dependOn(2, 1) }, func() { restore(3) }, func() { remove(t, db, 3) },
		} {
			step()
			expectProblem(t, db, ledgerOf(t, db), fmt.Sprint("step ", i), "")
		}
		claim(t, db, 2, "bob")
		remove(t, db, 2)
		expectProblem(t, db, ledgerOf(t, db), "a claimed task is deleted", "")
		behind(t, at, "UPDATE task_trash SET lease_until = 1 WHERE id = 2")
		expectProblem(t, db, ledgerOf(t, db), "changed in the trash", "task 2 of ada: it is in the trash, but not as call ")
		restore(2)
		expectProblem(t, db, ledgerOf(t, db), "changed in the trash and restored", "task 2: it was changed without a record before call ")
		behind(t, at, "DELETE FROM tasks WHERE id = 2")
		expectProblem(t, db, ledgerOf(t, db), "deleted by SQL", "task 2: it is missing; call ")
	})
}

// TestProveUnreadableTask checks that a row with a value of another type is named, and the others
// are compared.
func TestProveUnreadableTask(t *testing.T) {
	t.Parallel()
	at := newFile(t)
	db := open(t, at)
	threeTasks(t, db)
	behind(t, at, "UPDATE tasks SET created_at = 'then' WHERE id = 1")
	expectProblem(t, db, ledgerOf(t, db), "unreadable", "task 1: it cannot be read: ")
}

// TestProveOlderTasks checks that tasks without a record are no problem if they were there before
// changes of tasks were recorded.
func TestProveOlderTasks(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, url func(t *testing.T) string) {
		at := url(t)
		db := open(t, at)
		for _, now := range []int{-2, -1, 1} { // hours
			task := tasks.New{UserID: "ada", Title: "Milk", Priority: tasks.Medium}
			if _, err := db.Tasks().Add(t.Context(), task, noon().Add(time.Duration(now)*time.Hour)); err != nil {
				t.Fatal(err)
			}
		}
		for _, tc := range []struct {
			ledger          audit.TaskLedger
			problems, older int
		}{
			{audit.TaskLedger{}, 3, 0},
			{audit.TaskLedger{Older: true}, 0, 3},
			{audit.TaskLedger{Older: true, Since: noon()}, 1, 2},
			{audit.TaskLedger{Since: noon()}, 3, 0},
		} {
			c, err := db.ProveTasks(t.Context(), &tc.ledger, func(int) {})
			note := ""
			if len(c.Notes) == 1 {
				note = c.Notes[0]
			}
			if err != nil || len(c.Problems) != tc.problems || (note != "") != (tc.older > 0) || tc.older > 0 && !strings.HasPrefix(note, string(rune('0'+tc.older))+" tasks ") {
				t.Errorf("%+v: %v, problems %q, notes %q", tc.ledger, err, c.Problems, c.Notes)
			}
		}
	})
}
