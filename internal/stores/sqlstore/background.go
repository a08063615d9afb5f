package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"remit/internal/contract"
	"remit/internal/engine"
	"remit/internal/engine/background"
)

// backgroundTasks keeps calls that run in the background.
type backgroundTasks struct{ db *DB }

var _ background.Store = backgroundTasks{}

// Background returns the background tasks of this database.
func (db *DB) Background() background.Store { return backgroundTasks{db} }

const pruneTasks = `DELETE FROM background_tasks WHERE expires_at <= $1`

const countUnfinished = `
SELECT count(*) FROM background_tasks
WHERE principal = $1 AND status IN ('working', 'input_required')
	AND (status = 'input_required' OR lease_until > $2)`

const addTask = `
INSERT INTO background_tasks (id, place, principal, tool, digest, face, client, arguments, capabilities, created_at, expires_at, poll,
	status, message, updated_at, questions, fault, resume, body, content, is_error, owner, lease_until, cancel_asked, seal, revision)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12,
	$13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, 1)`

func (s backgroundTasks) Add(ctx context.Context, t background.Task) error {
	course, err := s.courseOf(&t)
	if err != nil {
		return fmt.Errorf("keep a task: %w", err)
	}
	fixed := []any{
		t.ID, t.Place, t.Principal, t.Tool, t.Digest, t.Face, s.db.words(t.Client), t.Arguments, words(t.Capabilities),
		micros(t.CreatedAt), micros(t.ExpiresAt()), t.Poll.Microseconds(),
	}
	err = s.db.change(ctx, func(ctx context.Context, tx runner) error {
		if err := makeRoom(ctx, tx, &t); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, addTask, append(fixed, course...)...)
		return err
	})
	if err != nil {
		return fmt.Errorf("keep a task: %w", err)
	}
	return nil
}

// makeRoom forgets what is expired and refuses a principal who has too many.
func makeRoom(ctx context.Context, tx runner, t *background.Task) error {
	now := micros(t.CreatedAt)
	if _, err := tx.ExecContext(ctx, pruneTasks, now); err != nil {
		return fmt.Errorf("prune expired tasks: %w", err)
	}
	var others int
	if err := tx.QueryRowContext(ctx, countUnfinished, t.Principal, now).Scan(&others); err != nil {
		return fmt.Errorf("count unfinished tasks: %w", err)
	}
	if others >= background.MostUnfinished {
		return background.TooMany()
	}
	return nil
}

const taskByID = `
SELECT id, place, principal, tool, digest, face, client, arguments, capabilities, created_at, expires_at, poll,
	status, message, updated_at, questions, fault, resume, body, content, is_error, owner, lease_until, cancel_asked, seal, revision
FROM background_tasks WHERE id = $1`

func (s backgroundTasks) Get(ctx context.Context, id string) (background.Task, error) {
	if !isText(id) {
		return background.Task{}, noTask(id)
	}
	t, err := scanTask(s.db.reader(ctx).QueryRowContext(ctx, taskByID, id))
	if errors.Is(err, sql.ErrNoRows) {
		return background.Task{}, noTask(id)
	}
	if err != nil {
		return background.Task{}, fmt.Errorf("get a task: %w", err)
	}
	return t, nil
}

func noTask(id string) error {
	return contract.Errorf(contract.NotFound, "There is no task %s", id)
}

const swapTask = `
UPDATE background_tasks SET status = $3, message = $4, updated_at = $5, questions = $6, fault = $7, resume = $8,
	body = $9, content = $10, is_error = $11, owner = $12, lease_until = $13, cancel_asked = $14, seal = $15, revision = revision + 1
WHERE id = $1 AND revision = $2 AND status IN ('working', 'input_required')`

func (s backgroundTasks) Swap(ctx context.Context, t background.Task) (kept bool, err error) {
	course, err := s.courseOf(&t)
	if err != nil {
		return false, fmt.Errorf("change a task: %w", err)
	}
	err = s.db.change(ctx, func(ctx context.Context, tx runner) (err error) {
		kept, err = changesOne(tx.ExecContext(ctx, swapTask, append([]any{t.ID, t.Revision}, course...)...))
		return err
	})
	if err != nil {
		return false, fmt.Errorf("change a task: %w", err)
	}
	return kept, nil
}

// courseOf are the columns that change, in the order in which both statements name them.
func (s backgroundTasks) courseOf(t *background.Task) ([]any, error) {
	questions, err := questionsToJSON(t.Questions)
	if err != nil {
		return nil, err
	}
	fault, err := faultToJSON(t.Fault)
	if err != nil {
		return nil, err
	}
	resume, err := resumeToJSON(t)
	if err != nil {
		return nil, err
	}
	return []any{
		t.Status, s.db.words(t.Message), micros(t.UpdatedAt), questions, fault, resume,
		t.Body, t.Content, t.IsError, t.Owner, micros(t.LeaseUntil), t.CancelAsked, t.Seal,
	}, nil
}

func scanTask(row scanner) (t background.Task, err error) {
	var capabilities string
	var created, expires, updated, lease sql.NullInt64
	var poll int64
	var questions, fault, resume []byte
	err = row.Scan(&t.ID, &t.Place, &t.Principal, &t.Tool, &t.Digest, &t.Face, &t.Client, &t.Arguments, &capabilities, &created, &expires, &poll,
		&t.Status, &t.Message, &updated, &questions, &fault, &resume, &t.Body, &t.Content, &t.IsError, &t.Owner, &lease, &t.CancelAsked, &t.Seal, &t.Revision)
	if err != nil {
		return t, err
	}
	for _, word := range strings.Fields(capabilities) {
		t.Capabilities = append(t.Capabilities, engine.Capability(word))
	}
	t.CreatedAt, t.UpdatedAt, t.LeaseUntil = fromMicros(created), fromMicros(updated), fromMicros(lease)
	t.TTL, t.Poll = fromMicros(expires).Sub(t.CreatedAt), time.Duration(poll)*time.Microsecond
	return t, errors.Join(questionsFromJSON(questions, &t), faultFromJSON(fault, &t), resumeFromJSON(resume, &t))
}
