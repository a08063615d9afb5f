package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"remit/internal/engine/audit"
	"remit/internal/toolsets/tasks"
)

// taskLists stores the tasks of users. It implements tasks.Store. The changes of a list are
// serialized: SQLite has one writer, and in PostgreSQL each change first locks the row of the list
// in task_lists.
type taskLists struct{ db *DB }

// Tasks returns the store of the tasks in this database.
func (db *DB) Tasks() tasks.Store { return taskLists{db} }

// Both statements add a task, give it the next id and count it in the row of its list; in SQLite a
// trigger updates that row. No id is given twice, but a sequence skips those of transactions that
// were rolled back. newest keeps created_at from going backwards when the clock is set back.
const (
	addTaskSQLite = `
INSERT INTO tasks (user_id, id, title, description, completed, priority, due_date, created_at, updated_at, depends_on)
SELECT $1, last + 1, $2, $3, false, $4, $5, at, at, $7
FROM task_ids, (SELECT max($6, coalesce((SELECT newest FROM task_lists WHERE user_id = $1), 0)) AS at)
RETURNING id, created_at`

	addTaskPostgres = `
WITH list AS (
	INSERT INTO task_lists (user_id, total, revision, newest) VALUES ($1, 1, 1, $6)
	ON CONFLICT (user_id) DO UPDATE SET total = task_lists.total + 1, revision = task_lists.revision + 1,
		newest = greatest(task_lists.newest, excluded.newest)
	RETURNING newest
)
INSERT INTO tasks (user_id, id, title, description, completed, priority, due_date, created_at, updated_at, depends_on)
SELECT $1, nextval('task_ids'), $2, $3, false, $4, $5, newest, newest, $7 FROM list
RETURNING id, created_at`
)

func (s taskLists) Add(ctx context.Context, n tasks.New, now time.Time) (t tasks.Task, err error) {
	add := addTaskSQLite
	if s.db.Shared() {
		add = addTaskPostgres
	}
	t = tasks.Task{
		UserID: n.UserID, Title: n.Title, Description: n.Description, Priority: n.Priority, DueDate: n.DueDate, DependsOn: n.DependsOn,
	}
	var created int64
	rest := restOf(&t)
	err = s.change(ctx, n.UserID, func(ctx context.Context, tx runner) error {
		err := beginWith(ctx, tx, add, []any{&t.ID, &created}, n.UserID, n.Title, n.Description, rankOf(n.Priority), n.DueDate,
			now.UnixMicro(), rest.dependsOn)
		if err == nil {
			err = s.findDependencies(ctx, tx, &t) // nothing can depend on a new task
		}
		if err != nil {
			return err
		}
		t.CreatedAt = timeOf(created)
		t.UpdatedAt = t.CreatedAt
		return s.record(ctx, tx, t.ID, audit.NoTask, digestOf(&t, rankOf(t.Priority), &rest))
	})
	if err != nil {
		return tasks.Task{}, taskError("add a task", err)
	}
	return t, nil
}

// change runs f in a transaction that changes the list of a user. A transaction that has begun
// already does not wait for its turn: it holds a connection.
func (s taskLists) change(ctx context.Context, user string, f work) error {
	if _, ok := s.db.txFrom(ctx); !ok {
		giveBack, err := s.db.turns.take(ctx, user)
		if err != nil {
			return err
		}
		defer giveBack()
	}
	return s.db.change(ctx, f)
}

const renewTask = `
UPDATE tasks SET title = $3, description = $4, completed = $5, priority = $6, due_date = $7, updated_at = $8,
	depends_on = $9, claimed_by = $10, lease_until = $11, fence = $12, previous = $13
WHERE user_id = $1 AND id = $2`

// errUnchanged rolls back a transaction whose edit changed nothing.
var errUnchanged = errors.New("nothing has changed")

func (s taskLists) Change(
	ctx context.Context, user string, id int64, now time.Time, edit func(*tasks.Task) bool,
) (t tasks.Task, err error) {
	err = s.change(ctx, user, func(ctx context.Context, tx runner) (err error) {
		if _, err := s.lock(ctx, tx, user, now); err != nil {
			return err
		}
		var rest taskRest
		if t, rest, err = s.storedTask(ctx, tx, s.perEngine(storedTaskSQLite, storedTaskPostgres), user, id); err != nil {
			return err
		}
		old, before := digestOf(&t, rankOf(t.Priority), &rest), t.Version()
		if !edit(&t) {
			return errUnchanged
		}
		t.UpdatedAt = later(t.UpdatedAt, now)
		rest = restOf(&t)
		rest.previous = jsonText(before)
		err = mustChangeOne(tx.ExecContext(ctx, renewTask, user, id, t.Title, t.Description, t.Completed, rankOf(t.Priority), t.DueDate,
			t.UpdatedAt.UnixMicro(), rest.dependsOn, rest.claimedBy, rest.leaseUntil, rest.fence, rest.previous))
		if err == nil && !slices.Equal(before.DependsOn, t.DependsOn) {
			err = cmp.Or(s.findDependencies(ctx, tx, &t), s.checkCycle(ctx, tx, &t))
		}
		if err != nil {
			return err
		}
		return s.record(ctx, tx, id, old, digestOf(&t, rankOf(t.Priority), &rest))
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

func (s taskLists) Delete(ctx context.Context, user string, id int64, check func(*tasks.Task) error) error {
	err := s.change(ctx, user, func(ctx context.Context, tx runner) error {
		if err := mustChangeOne(tx.ExecContext(ctx, shrinkList, user)); err != nil {
			return err
		}
		if check != nil {
			task, err := s.taskIn(ctx, tx, s.perEngine(taskOfUserSQLite, taskOfUserPostgres), user, id)
			if err == nil {
				err = check(&task)
			}
			if err != nil {
				return err
			}
		}
		old, err := s.discard(ctx, tx, user, id)
		if err != nil {
			return err
		}
		return s.record(ctx, tx, id, old, old.Deleted())
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
	t, err := s.taskIn(ctx, s.db.reader(ctx), s.perEngine(taskOfUserSQLite, taskOfUserPostgres), user, id)
	return t, taskError("get a task", err)
}

// taskIn returns the task whose taskColumns a query finds, or ErrNotFound.
func (s taskLists) taskIn(ctx context.Context, on runner, query, user string, arg int64) (tasks.Task, error) {
	row := newTaskRow()
	row.task.UserID = user
	err := findTask(ctx, on, row, query, user, arg)
	return s.withBlockers(ctx, on, &row.task, err)
}

// withBlockers returns a task with those of its dependencies that are open.
func (s taskLists) withBlockers(ctx context.Context, on runner, t *tasks.Task, err error) (tasks.Task, error) {
	if err != nil || len(t.DependsOn) == 0 {
		return *t, err
	}
	one := []tasks.Task{*t}
	err = s.findBlockers(ctx, on, t.UserID, one)
	return one[0], err
}

// findTask reads the task that a query finds into row, or returns ErrNotFound.
func findTask(ctx context.Context, on runner, row *taskRow, query string, args ...any) error {
	_, found, err := find(ctx, on, query, func(from scanner) (struct{}, error) { return struct{}{}, row.scan(from) }, args...)
	if !found {
		return cmp.Or(err, tasks.ErrNotFound)
	}
	return nil
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
