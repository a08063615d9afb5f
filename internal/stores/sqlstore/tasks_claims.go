package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"remit/internal/toolsets/tasks"
)

// Clock implements tasks.Claims.
func (s taskLists) Clock(now time.Time) time.Time {
	if s.db.shared {
		return s.db.Now()
	}
	return now
}

// Lease implements tasks.Claims.
func (s taskLists) Lease(ctx context.Context, user string, id int64, now time.Time, edit tasks.Edit) (tasks.Task, error) {
	t, err := s.lease(ctx, user, now, edit, func(time.Time) (string, int64) {
		return s.perEngine(storedTaskSQLite, storedTaskPostgres), id
	})
	return t, taskError("change a claim", err)
}

// Next implements tasks.Claims.
func (s taskLists) Next(ctx context.Context, user string, now time.Time, edit tasks.Edit) (t tasks.Task, err error) {
	best := ` FROM tasks WHERE user_id = $1 AND ` + s.ready(`$2`) + ` ORDER BY priority DESC, due_date IS NULL, due_date, id LIMIT 1`
	if edit == nil {
		t, err = s.taskIn(ctx, s.db.reader(ctx), `SELECT `+s.columns()+best, user, s.Clock(now).UnixMicro())
	} else {
		t, err = s.lease(ctx, user, now, edit, func(at time.Time) (string, int64) {
			return `SELECT ` + s.columns() + `, ` + restColumns + best, at.UnixMicro()
		})
	}
	return t, taskError("find the next task", err)
}

// clockPostgres is the time of the server.
const clockPostgres = `(extract(epoch FROM clock_timestamp()) * 1000000)::bigint`

// touchList returns the time of the server, after the list was locked.
const touchList = `UPDATE task_lists SET revision = revision + 1 WHERE user_id = $1 RETURNING ` + clockPostgres

const claimTask = `UPDATE tasks SET claimed_by = $3, lease_until = $4, fence = $5 WHERE user_id = $1 AND id = $2`

// lease changes the claim of the task that a query finds, which choose returns with its second
// argument.
func (s taskLists) lease(
	ctx context.Context, user string, now time.Time, edit tasks.Edit, choose func(at time.Time) (query string, arg int64),
) (t tasks.Task, err error) {
	err = s.change(ctx, user, func(ctx context.Context, tx runner) error {
		at, err := s.lock(ctx, tx, user, now)
		if err != nil {
			return err
		}
		var rest taskRest
		query, arg := choose(at)
		if t, rest, err = s.storedTask(ctx, tx, query, user, arg); err != nil {
			return err
		}
		old, previous := digestOf(&t, rankOf(t.Priority), &rest), rest.previous
		if err := edit(&t, at); err != nil {
			return err
		}
		rest = restOf(&t)
		rest.previous = previous
		if err := mustChangeOne(tx.ExecContext(ctx, claimTask, user, t.ID, rest.claimedBy, rest.leaseUntil, rest.fence)); err != nil {
			return err
		}
		return s.record(ctx, tx, t.ID, old, digestOf(&t, rankOf(t.Priority), &rest))
	})
	if err != nil {
		return tasks.Task{}, err
	}
	return t, nil
}

// lock locks the list of a user for a change of a task, and returns the time by which leases go. It
// returns ErrNotFound if the user never had a task. In SQLite the transaction is a lock, and a
// trigger counts the change.
func (s taskLists) lock(ctx context.Context, tx runner, user string, now time.Time) (time.Time, error) {
	if !s.db.shared {
		return timeOf(now.UnixMicro()), nil
	}
	var at int64
	err := beginWith(ctx, tx, touchList, []any{&at}, user)
	if errors.Is(err, sql.ErrNoRows) {
		err = tasks.ErrNotFound
	}
	return timeOf(at), err
}

// countOpen counts the open tasks: those that are claimed, and those of the others that are ready.
// now is read once, so that both counts are of the same moment.
const countOpen = `
SELECT count(*), count(*) FILTER (WHERE lease_until > now.at), count(*) FILTER (WHERE %s), min(lease_until) FILTER (WHERE lease_until > now.at)
FROM tasks, (SELECT %s AS at) now WHERE user_id = $1 AND NOT completed`

// Waiting implements tasks.Claims.
func (s taskLists) Waiting(ctx context.Context, user string, now time.Time) (w tasks.Waiting, err error) {
	clock, args := `CAST($2 AS BIGINT)`, []any{user, now.UnixMicro()}
	if s.db.shared {
		clock, args = clockPostgres, args[:1]
	}
	var open int64
	var until time.Time
	_, _, err = lookUp(ctx, s.db, "count waiting tasks", fmt.Sprintf(countOpen, s.ready(`now.at`), clock),
		into(&open, &w.Claimed, &w.Ready, (*timeColumn)(&until)), args...)
	w.Blocked = open - w.Claimed - w.Ready
	if !until.IsZero() {
		w.Until = &until
	}
	return w, err
}

// findDependencies sets which dependencies of a stored task are open. It returns a
// *tasks.DependencyError if one does not exist, or is the task itself. The list is locked.
func (s taskLists) findDependencies(ctx context.Context, tx runner, t *tasks.Task) error {
	t.BlockedBy = nil
	for _, id := range t.DependsOn {
		completed, found, err := find(ctx, tx, `SELECT completed FROM tasks WHERE user_id = $1 AND id = $2`, scanValue[bool], t.UserID, id)
		switch {
		case err != nil:
			return err
		case !found:
			return &tasks.DependencyError{Missing: id}
		case id == t.ID:
			return &tasks.DependencyError{Cycle: []int64{id, id}}
		case !completed:
			t.BlockedBy = append(t.BlockedBy, id)
		}
	}
	return nil
}

// dependenciesOf reads which tasks of a user depend on others, also the deleted ones, which can be
// restored.
const dependenciesOf = `
SELECT id, depends_on FROM tasks WHERE user_id = $1 AND depends_on IS NOT NULL
UNION ALL SELECT id, depends_on FROM task_trash WHERE user_id = $1 AND depends_on IS NOT NULL`

// checkCycle returns a *tasks.DependencyError if a task would depend on itself. The list is locked.
func (s taskLists) checkCycle(ctx context.Context, tx runner, t *tasks.Task) error {
	dependencies := map[int64][]int64{}
	err := each(ctx, tx, dependenciesOf, func(row scanner) error {
		var id int64
		var ids []int64
		err := row.Scan(&id, &jsonColumn{&ids})
		dependencies[id] = ids
		return err
	}, t.UserID)
	if err != nil {
		return err
	}
	if cycle := tasks.FindCycle(t.ID, t.DependsOn, dependencies); cycle != nil {
		return &tasks.DependencyError{Cycle: cycle}
	}
	return nil
}
