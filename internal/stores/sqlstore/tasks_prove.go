package sqlstore

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"remit/internal/engine/audit"
	"remit/internal/toolsets/tasks"
)

// digestOf returns the digest of a task with its user. rank is its stored priority.
func digestOf(t *tasks.Task, rank int64) audit.Digest {
	b := make([]byte, 0, 512)
	for _, n := range []int64{t.ID, rank, t.CreatedAt.UnixMicro(), t.UpdatedAt.UnixMicro()} {
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	completed := byte(0)
	if t.Completed {
		completed = 1
	}
	b = append(b, completed)
	for _, text := range []*string{&t.UserID, &t.Title, t.Description, t.DueDate} {
		if text == nil {
			b = binary.BigEndian.AppendUint32(b, math.MaxUint32)
			continue
		}
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(*text))), *text...)
	}
	return sha256.Sum256(b)
}

// record adds the record of the call that changes a task to the outbox, with what it changes.
func (s taskLists) record(ctx context.Context, tx runner, id int64, old, now audit.Digest) error {
	if effect := audit.EffectFrom(ctx); effect != nil {
		effect.ChangesTask(audit.TaskChange{ID: id, Old: old, New: now})
	}
	return s.db.record(ctx, tx)
}

// PendingRecords passes the records in the outbox to visit. A record that is moved to the chain
// meanwhile is there afterwards.
func (db *DB) PendingRecords(ctx context.Context, visit func(record []byte)) error {
	return wrap("read the outbox", db.plain(each(ctx, db.reads, `SELECT body FROM outbox ORDER BY id`, func(row scanner) error {
		body, err := scanValue[[]byte](row)
		visit(body)
		return err
	})))
}

const allTasks = `SELECT ` + taskColumns + `, 0, user_id FROM tasks`

// ProveTasks compares all tasks with what the records say about them, which it uses up. report gets
// how many were compared.
func (db *DB) ProveTasks(ctx context.Context, ledger *audit.TaskLedger, report func(done int)) (c audit.Comparison, err error) {
	done, older := 0, 0
	row := newTaskRow()
	row.columns = append(row.columns, &row.task.UserID)
	err = each(ctx, db.reads, allTasks, func(from scanner) error {
		done++
		report(done)
		if err := row.scan(from, true); err != nil {
			ledger.Take(row.task.ID)
			c.Problems = append(c.Problems, fmt.Sprintf("task %d: it cannot be read: %v", row.task.ID, err))
			return nil
		}
		switch problem := compareTask(row, ledger); {
		case problem == isOlder:
			older++
		case problem != "":
			c.Problems = append(c.Problems, problem)
		}
		return nil
	})
	if err != nil {
		return c, fmt.Errorf("read the tasks: %w", db.plain(err))
	}
	ledger.Rest(func(id int64, t *audit.RecordedTask) {
		state := t.State()
		if state.Digest != audit.DeletedTask {
			c.Problems = append(c.Problems, fmt.Sprintf("task %d: it is missing; call %s at %s has stored it", id, state.Call, at(&state)))
		} else if state.Gap != "" {
			c.Problems = append(c.Problems, gapOf(id, &state))
		}
	})
	if older > 0 {
		c.Notes = append(c.Notes, fmt.Sprintf("%d tasks are older than the records of changes of tasks, so nothing says whether "+
			"they were changed", older))
	}
	return c, nil
}

// isOlder means that a task is older than the records.
const isOlder = "older"

// compareTask returns what is wrong with a task; "" if nothing is.
func compareTask(row *taskRow, ledger *audit.TaskLedger) (problem string) {
	t := &row.task
	recorded := ledger.Take(t.ID)
	if recorded == nil {
		if ledger.Older && (ledger.Since.IsZero() || t.CreatedAt.Before(ledger.Since)) {
			return isOlder
		}
		return fmt.Sprintf("task %d of %s: no record says that it was added", t.ID, t.UserID)
	}
	state, now := recorded.State(), digestOf(t, row.rank)
	switch {
	case state.Digest == audit.DeletedTask:
		return fmt.Sprintf("task %d of %s: it is there, but call %s at %s has deleted it", t.ID, t.UserID, state.Call, at(&state))
	case state.Digest != now:
		return fmt.Sprintf("task %d of %s: it is not what call %s at %s has stored (SHA-256 %.12s, not %.12s)",
			t.ID, t.UserID, state.Call, at(&state), now, state.Digest)
	case state.Gap != "":
		return gapOf(t.ID, &state)
	}
	return ""
}

func gapOf(id int64, state *audit.TaskState) string {
	return fmt.Sprintf("task %d: it was changed without a record before call %s", id, state.Gap)
}

func at(state *audit.TaskState) string { return state.Time.Format(time.RFC3339) }
