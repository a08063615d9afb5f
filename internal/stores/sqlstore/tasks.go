package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"remit/internal/engine/audit"
	"remit/internal/toolsets/tasks"
)

// taskLists stores the tasks of users. It implements tasks.Store. Every change of a list first
// locks its row in task_lists, so that the changes of a list are serialized in both databases.
type taskLists struct{ db *DB }

// Tasks returns the store of the tasks in this database.
func (db *DB) Tasks() tasks.Store { return taskLists{db} }

// Both statements add a task, give it the next id and count it in the row of its list; in SQLite a
// trigger updates that row. No id is given twice, but a sequence skips those of transactions that
// were rolled back. newest keeps created_at from going backwards when the clock is set back.
const (
	addTaskSQLite = `
INSERT INTO tasks (user_id, id, title, description, completed, priority, due_date, created_at, updated_at)
SELECT $1, last + 1, $2, $3, false, $4, $5, at, at
FROM task_ids, (SELECT max($6, coalesce((SELECT newest FROM task_lists WHERE user_id = $1), 0)) AS at)
RETURNING id, created_at`

	addTaskPostgres = `
WITH list AS (
	INSERT INTO task_lists (user_id, total, revision, newest) VALUES ($1, 1, 1, $6)
	ON CONFLICT (user_id) DO UPDATE SET total = task_lists.total + 1, revision = task_lists.revision + 1,
		newest = greatest(task_lists.newest, excluded.newest)
	RETURNING newest
)
INSERT INTO tasks (user_id, id, title, description, completed, priority, due_date, created_at, updated_at)
SELECT $1, nextval('task_ids'), $2, $3, false, $4, $5, newest, newest FROM list
RETURNING id, created_at`
)

func (s taskLists) Add(ctx context.Context, n tasks.New, now time.Time) (t tasks.Task, err error) {
	add := addTaskSQLite
	if s.db.Shared() {
		add = addTaskPostgres
	}
	t = tasks.Task{UserID: n.UserID, Title: n.Title, Description: n.Description, Priority: n.Priority, DueDate: n.DueDate}
	var created int64
	err = s.db.change(ctx, func(ctx context.Context, tx runner) error {
		_, err := findOne(ctx, tx, add, into(&t.ID, &created), n.UserID, n.Title, n.Description, rankOf(n.Priority), n.DueDate, now.UnixMicro())
		if err != nil {
			return err
		}
		t.CreatedAt = timeOf(created)
		t.UpdatedAt = t.CreatedAt
		return s.record(ctx, tx, t.ID, audit.NoTask, digestOf(&t, rankOf(t.Priority)))
	})
	if err != nil {
		return tasks.Task{}, taskError("add a task", err)
	}
	return t, nil
}

const touchList = `UPDATE task_lists SET revision = revision + 1 WHERE user_id = $1`

const taskOfUser = `SELECT ` + taskColumns + ` FROM tasks WHERE user_id = $1 AND id = $2`

const renewTask = `
UPDATE tasks SET title = $3, description = $4, completed = $5, priority = $6, due_date = $7, updated_at = $8
WHERE user_id = $1 AND id = $2`

// errUnchanged rolls back a transaction whose edit changed nothing.
var errUnchanged = errors.New("nothing has changed")

func (s taskLists) Change(
	ctx context.Context, user string, id int64, now time.Time, edit func(*tasks.Task) bool,
) (t tasks.Task, err error) {
	err = s.db.change(ctx, func(ctx context.Context, tx runner) (err error) {
		if err := mustChangeOne(tx.ExecContext(ctx, touchList, user)); err != nil {
			return err
		}
		if t, err = taskIn(ctx, tx, taskOfUser, user, id); err != nil {
			return err
		}
		old := digestOf(&t, rankOf(t.Priority))
		if !edit(&t) {
			return errUnchanged
		}
		t.UpdatedAt = later(t.UpdatedAt, now)
		err = mustChangeOne(tx.ExecContext(ctx, renewTask, user, id, t.Title, t.Description, t.Completed, rankOf(t.Priority), t.DueDate,
			t.UpdatedAt.UnixMicro()))
		if err != nil {
			return err
		}
		return s.record(ctx, tx, id, old, digestOf(&t, rankOf(t.Priority)))
	})
	if err != nil && !errors.Is(err, errUnchanged) {
		return tasks.Task{}, taskError("change a task", err)
	}
	return t, nil
}

// later returns now, truncated to microseconds, or before if the clock was set back.
func later(before, now time.Time) time.Time {
	if at := timeOf(now.UnixMicro()); at.After(before) {
		return at
	}
	return before
}

const shrinkList = `UPDATE task_lists SET total = total - 1, revision = revision + 1 WHERE user_id = $1`

const deleteTask = `DELETE FROM tasks WHERE user_id = $1 AND id = $2 RETURNING ` + taskColumns

func (s taskLists) Delete(ctx context.Context, user string, id int64, check func(*tasks.Task) error) error {
	err := s.db.change(ctx, func(ctx context.Context, tx runner) error {
		if err := mustChangeOne(tx.ExecContext(ctx, shrinkList, user)); err != nil {
			return err
		}
		if check != nil {
			task, err := taskIn(ctx, tx, taskOfUser, user, id)
			if err == nil {
				err = check(&task)
			}
			if err != nil {
				return err
			}
		}
		old, err := taskIn(ctx, tx, deleteTask, user, id)
		if err != nil {
			return err
		}
		return s.record(ctx, tx, id, digestOf(&old, rankOf(old.Priority)), audit.DeletedTask)
	})
	return taskError("delete a task", err)
}

// mustChangeOne returns ErrNotFound if a statement found no row to change.
func mustChangeOne(result sql.Result, err error) error {
	changed, err := changesOne(result, err)
	if err == nil && !changed {
		return tasks.ErrNotFound
	}
	return err
}

func (s taskLists) Get(ctx context.Context, user string, id int64) (tasks.Task, error) {
	t, err := taskIn(ctx, s.db.reader(ctx), taskOfUser, user, id)
	return t, taskError("get a task", err)
}

// taskIn returns the task that a query finds, or ErrNotFound.
func taskIn(ctx context.Context, on runner, query, user string, id int64) (tasks.Task, error) {
	t, found, err := find(ctx, on, query, scanUserTask, user, id)
	if !found {
		return t, cmp.Or(err, tasks.ErrNotFound)
	}
	t.UserID = user
	return t, nil
}

const revisionOfList = `SELECT revision FROM task_lists WHERE user_id = $1`

func (s taskLists) Revision(ctx context.Context, user string) (revision int64, err error) {
	revision, _, err = lookUp(ctx, s.db, "read the revision of a task list", revisionOfList, scanValue[int64], user)
	return revision, err
}

// taskError wraps err with act, and with tasks.ErrUnknown if the outcome is unknown.
func taskError(act string, err error) error {
	if is[*CommitUnknownError](err) {
		err = fmt.Errorf("%w: %w", tasks.ErrUnknown, err)
	}
	return wrap(act, err)
}
