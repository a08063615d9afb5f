package sqlstore

import (
	"context"
	"time"

	"remit/internal/engine/audit"
	"remit/internal/toolsets/tasks"
)

// trashColumns are the columns of a task in the trash. movedColumns are those that Restore brings
// back.
const (
	movedColumns = `user_id, id, title, description, completed, priority, due_date, created_at, updated_at, depends_on, fence, previous`
	trashColumns = movedColumns + `, claimed_by, lease_until`
)

const (
	// The clock of SQLite has milliseconds only.
	discardSQLite = `
INSERT INTO task_trash (` + trashColumns + `, deleted_at) SELECT ` + trashColumns + `, $3 FROM tasks
WHERE user_id = $1 AND id = $2 RETURNING ` + rowColumns
	deleteTask = `DELETE FROM tasks WHERE user_id = $1 AND id = $2`
	purgeTrash = `DELETE FROM task_trash WHERE deleted_at <= $1`

	discardPostgres = `
WITH gone AS (DELETE FROM tasks WHERE user_id = $1 AND id = $2 RETURNING ` + trashColumns + `),
	old AS (DELETE FROM task_trash WHERE deleted_at <= $3)
INSERT INTO task_trash (` + trashColumns + `) SELECT ` + trashColumns + ` FROM gone RETURNING ` + rowColumns
)

// discard moves a task to the trash, removes what has been there for too long, and returns the
// digest of the task.
func (s taskLists) discard(ctx context.Context, tx runner, user string, id int64) (audit.Digest, error) {
	if s.db.shared {
		return digestIn(ctx, tx, discardPostgres, user, id, s.oldest().UnixMicro())
	}
	digest, err := digestIn(ctx, tx, discardSQLite, user, id, s.db.Now().UnixMicro())
	if err == nil {
		err = exec(ctx, tx, deleteTask, user, id)
	}
	if err == nil {
		err = exec(ctx, tx, purgeTrash, s.oldest().UnixMicro())
	}
	return digest, err
}

// oldest returns when a task was deleted that cannot be restored any more.
func (s taskLists) oldest() time.Time { return s.db.Now().Add(-tasks.TrashRetention) }

// Purge implements tasks.Trash.
func (s taskLists) Purge(ctx context.Context) error {
	return s.db.execAlone(ctx, "empty the trash", purgeTrash, s.oldest().UnixMicro())
}

const trashOfUser = `
SELECT ` + baseColumns + `, NULL, deleted_at
FROM task_trash WHERE user_id = $1 AND deleted_at > $2 ORDER BY deleted_at DESC, id DESC LIMIT CAST($3 AS BIGINT)`

// Deleted implements tasks.Trash.
func (s taskLists) Deleted(ctx context.Context, user string, limit int) ([]tasks.DeletedTask, error) {
	var deleted time.Time
	row := newTaskRow((*timeColumn)(&deleted))
	return list(ctx, s.db, "list deleted tasks", trashOfUser, func(from scanner) (tasks.DeletedTask, error) {
		err := row.scan(from)
		t := &row.task
		return tasks.DeletedTask{
			ID: t.ID, Title: t.Title, Description: t.Description, Completed: t.Completed, Priority: t.Priority, DueDate: t.DueDate,
			CreatedAt: t.CreatedAt, UpdatedAt: t.UpdatedAt, DeletedAt: deleted,
		}, err
	}, user, s.oldest().UnixMicro(), limit)
}

const (
	trashedTask = `SELECT ` + rowColumns + ` FROM task_trash WHERE user_id = $1 AND id = $2 AND deleted_at > $3`
	restoreTask = `INSERT INTO tasks (` + movedColumns + `) SELECT ` + movedColumns + ` FROM task_trash WHERE user_id = $1 AND id = $2`
	leaveTrash  = `DELETE FROM task_trash WHERE user_id = $1 AND id = $2`
	growList    = `UPDATE task_lists SET total = total + 1, revision = revision + 1 WHERE user_id = $1`
)

// Restore implements tasks.Trash. In SQLite a trigger counts the task.
func (s taskLists) Restore(ctx context.Context, user string, id int64) (t tasks.Task, err error) {
	err = s.change(ctx, user, func(ctx context.Context, tx runner) (err error) {
		if s.db.shared {
			err = mustChangeOne(tx.ExecContext(ctx, growList, user))
		}
		if err != nil {
			return err
		}
		deleted, err := digestIn(ctx, tx, trashedTask, user, id, s.oldest().UnixMicro())
		if err != nil {
			return err
		}
		for _, query := range []string{restoreTask, leaveTrash} {
			if err := mustChangeOne(tx.ExecContext(ctx, query, user, id)); err != nil {
				return err
			}
		}
		var rest taskRest
		if t, rest, err = s.storedTask(ctx, tx, s.perEngine(storedTaskSQLite, storedTaskPostgres), user, id); err != nil {
			return err
		}
		return s.record(ctx, tx, id, deleted.Deleted(), digestOf(&t, rankOf(t.Priority), &rest))
	})
	if err != nil {
		return tasks.Task{}, taskError("restore a task", err)
	}
	return t, nil
}

const previousTask = `SELECT previous, updated_at FROM tasks WHERE user_id = $1 AND id = $2`

// Previous implements tasks.Trash.
func (s taskLists) Previous(ctx context.Context, user string, id int64) (before *tasks.Version, changed time.Time, err error) {
	_, found, err := lookUp(ctx, s.db, "read the version before", previousTask, into(&jsonColumn{&before}, (*timeColumn)(&changed)), user, id)
	if err == nil && !found {
		err = tasks.ErrNotFound
	}
	return before, changed, err
}
