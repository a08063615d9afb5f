package sqlstore

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"remit/internal/contract"
	"remit/internal/engine/audit"
	"remit/internal/toolsets/tasks"
)

// restColumns are the columns of a task that most tasks do not have, as taskRest reads them.
// rowColumns are all columns of a task as digests need them, without what queries compute.
const (
	restColumns = `depends_on, claimed_by, previous, lease_until, fence`
	rowColumns  = baseColumns + `, NULL, ` + restColumns
)

// taskRest holds the restColumns as they are stored.
type taskRest struct {
	dependsOn, claimedBy, previous *string
	leaseUntil                     *int64
	fence                          int64
}

func (r *taskRest) columns() []any {
	return []any{&r.dependsOn, &r.claimedBy, &r.previous, &r.leaseUntil, &r.fence}
}

// restOf returns what is stored for a task, without its previous version.
func restOf(t *tasks.Task) taskRest {
	rest := taskRest{fence: t.Fence}
	if len(t.DependsOn) > 0 {
		rest.dependsOn = jsonText(t.DependsOn)
	}
	if t.Claim != nil {
		until := t.Claim.Until.UnixMicro()
		rest.claimedBy, rest.leaseUntil = &t.Claim.By, &until
	}
	return rest
}

// jsonText returns a value that can always be encoded as JSON.
func jsonText(of any) *string {
	text, _ := json.Marshal(of)
	return new(string(text))
}

// digestOf returns the digest of a task with its user. rank is its stored priority. A task without
// rest has the digest that it had before those columns existed.
func digestOf(t *tasks.Task, rank int64, rest *taskRest) audit.Digest {
	b := make([]byte, 0, 512)
	for _, n := range []int64{t.ID, rank, t.CreatedAt.UnixMicro(), t.UpdatedAt.UnixMicro()} {
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	completed := byte(0)
	if t.Completed {
		completed = 1
	}
	b = appendTexts(append(b, completed), &t.UserID, &t.Title, t.Description, t.DueDate)
	if *rest == (taskRest{}) {
		return sha256.Sum256(b)
	}
	b = appendTexts(b, rest.dependsOn, rest.claimedBy, rest.previous)
	b = binary.BigEndian.AppendUint64(b, uint64(rest.fence))
	if rest.leaseUntil != nil {
		b = binary.BigEndian.AppendUint64(b, uint64(*rest.leaseUntil))
	}
	return sha256.Sum256(b)
}

// appendTexts appends texts with their lengths. A nil text differs from an empty one.
func appendTexts(b []byte, texts ...*string) []byte {
	for _, text := range texts {
		if text == nil {
			b = binary.BigEndian.AppendUint32(b, math.MaxUint32)
			continue
		}
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(*text))), *text...)
	}
	return b
}

// storedTask is taskIn for a query that also returns the restColumns.
func (s taskLists) storedTask(ctx context.Context, tx runner, query, user string, arg int64) (t tasks.Task, rest taskRest, err error) {
	row := newTaskRow(rest.columns()...)
	row.task.UserID = user
	err = findTask(ctx, tx, row, query, user, arg)
	t, err = s.withBlockers(ctx, tx, &row.task, err)
	return t, rest, err
}

// digestIn returns the digest of the task whose rowColumns a statement returns, or ErrNotFound.
func digestIn(ctx context.Context, tx runner, query, user string, args ...any) (audit.Digest, error) {
	var rest taskRest
	row := newTaskRow(rest.columns()...)
	row.task.UserID = user
	err := findTask(ctx, tx, row, query, slices.Insert(args, 0, any(user))...)
	return digestOf(&row.task, row.rank, &rest), err
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

// ProveTasks compares all tasks, also those in the trash, with what the records say about them,
// which it uses up. report gets how many were compared.
func (db *DB) ProveTasks(ctx context.Context, ledger *audit.TaskLedger, report func(done int)) (c audit.Comparison, err error) {
	done, older := 0, 0
	each := func(table string, compare func(t *tasks.Task, now audit.Digest) (problem string)) error {
		return db.eachTask(ctx, table, func(t *tasks.Task, now audit.Digest, unreadable error) {
			done++
			report(done)
			var problem string
			if unreadable != nil {
				problem = fmt.Sprintf("task %d: it cannot be read: %v", t.ID, unreadable)
				ledger.Take(t.ID)
			} else {
				problem = compare(t, now)
			}
			switch problem {
			case "":
			case isOlder:
				older++
			default:
				c.Problems = append(c.Problems, problem)
			}
		})
	}
	err = each("task_trash", func(t *tasks.Task, now audit.Digest) string { return compareTrash(t, now, ledger) })
	if err == nil {
		err = each("tasks", func(t *tasks.Task, now audit.Digest) string { return compareTask(t, now, ledger) })
	}
	if err != nil {
		return c, fmt.Errorf("read the tasks: %w", db.plain(err))
	}
	ledger.Rest(func(id int64, t *audit.RecordedTask) {
		state := t.State()
		if !state.Deleted { // the trash does not hold deleted tasks forever
			c.Problems = append(c.Problems, fmt.Sprintf("task %d: it is missing; call %s at %s has stored it", id, state.Call, at(&state)))
		} else if state.Gap != "" {
			c.Problems = append(c.Problems, gapOf(id, &state))
		}
	})
	if older > 0 {
		c.Notes = append(c.Notes, contract.Count(older, "task")+" from before the first record of such changes: nothing says whether "+
			"they were changed")
	}
	return c, nil
}

// eachTask reads all tasks of a table with their digests.
func (db *DB) eachTask(ctx context.Context, table string, visit func(t *tasks.Task, now audit.Digest, unreadable error)) error {
	var rest taskRest
	row := newTaskRow(rest.columns()...)
	row.columns = append(row.columns, &row.task.UserID)
	return each(ctx, db.reads, `SELECT `+rowColumns+`, user_id FROM `+table, func(from scanner) error {
		err := row.scan(from)
		visit(&row.task, digestOf(&row.task, row.rank, &rest), err)
		return nil
	})
}

// isOlder means that a task is older than the records.
const isOlder = "older"

func isOlderThan(t *tasks.Task, ledger *audit.TaskLedger) bool {
	return ledger.Older && (ledger.Since.IsZero() || t.CreatedAt.Before(ledger.Since))
}

// compareTask returns what is wrong with a task that has a digest; "" if nothing is.
func compareTask(t *tasks.Task, now audit.Digest, ledger *audit.TaskLedger) (problem string) {
	recorded := ledger.Take(t.ID)
	if recorded == nil {
		if isOlderThan(t, ledger) {
			return isOlder
		}
		return fmt.Sprintf("task %d of %s: no record says that it was added", t.ID, t.UserID)
	}
	state := recorded.State()
	switch {
	case state.Deleted:
		return fmt.Sprintf("task %d of %s: it is there, but call %s at %s has deleted it", t.ID, t.UserID, state.Call, at(&state))
	case state.Digest != now:
		return fmt.Sprintf("task %d of %s: it is not what call %s at %s has stored (SHA-256 %.12s, not %.12s)",
			t.ID, t.UserID, state.Call, at(&state), now, state.Digest)
	case state.Gap != "":
		return gapOf(t.ID, &state)
	}
	return ""
}

// compareTrash is compareTask for a task in the trash. It leaves what was recorded in the ledger,
// because the task may be in both tables.
func compareTrash(t *tasks.Task, now audit.Digest, ledger *audit.TaskLedger) (problem string) {
	recorded := ledger.Find(t.ID)
	if recorded == nil {
		if isOlderThan(t, ledger) {
			return isOlder
		}
		return fmt.Sprintf("task %d of %s: it is in the trash, but no record says that it was deleted", t.ID, t.UserID)
	}
	state := recorded.State()
	switch {
	case !state.Deleted:
		return fmt.Sprintf("task %d of %s: it is in the trash, but call %s at %s has stored it", t.ID, t.UserID, state.Call, at(&state))
	case state.Digest != now.Deleted():
		return fmt.Sprintf("task %d of %s: it is in the trash, but not as call %s at %s has deleted it", t.ID, t.UserID, state.Call, at(&state))
	}
	return ""
}

func gapOf(id int64, state *audit.TaskState) string {
	return fmt.Sprintf("task %d: it was changed without a record before call %s", id, state.Gap)
}

func at(state *audit.TaskState) string { return state.Time.Format(time.RFC3339) }
