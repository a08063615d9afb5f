package sqlstore

import (
	"context"
	"fmt"
	"strings"
	"time"

	"remit/internal/contract/jsontree"
	"remit/internal/engine"
	"remit/internal/engine/jobs"
)

// backgroundTasks stores calls that run in the background. It implements jobs.Store.
type backgroundTasks struct{ db *DB }

// Jobs returns the store of background tasks in this database.
func (db *DB) Jobs() jobs.Store { return backgroundTasks{db} }

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

func (s backgroundTasks) Add(ctx context.Context, t jobs.Task) error {
	values := append([]any{
		t.ID, t.Workspace, t.Principal, t.Tool, t.Digest, t.Frontend, s.db.bytesOrText(t.Client), t.Arguments, joinCapabilities(t.Capabilities),
		micros(t.CreatedAt), micros(t.ExpiresAt()), t.Poll.Microseconds(),
	}, s.stateColumns(&t)...)
	return s.db.transact(ctx, "store a task", func(ctx context.Context, tx runner) error {
		if err := checkCapacity(ctx, tx, &t); err != nil {
			return err
		}
		return exec(ctx, tx, addTask, values...)
	})
}

// checkCapacity deletes expired tasks and refuses a principal that has too many unfinished ones.
func checkCapacity(ctx context.Context, tx runner, t *jobs.Task) error {
	now := micros(t.CreatedAt)
	if err := exec(ctx, tx, pruneTasks, now); err != nil {
		return fmt.Errorf("prune expired tasks: %w", err)
	}
	others, err := findOne(ctx, tx, countUnfinished, scanValue[int], t.Principal, now)
	if err != nil {
		return fmt.Errorf("count unfinished tasks: %w", err)
	}
	if others >= jobs.MaxUnfinished {
		return jobs.TooManyError()
	}
	return nil
}

const taskByID = `
SELECT id, place, principal, tool, digest, face, client, arguments, capabilities, created_at, expires_at, poll,
	status, message, updated_at, questions, fault, resume, body, content, is_error, owner, lease_until, cancel_asked, seal, revision
FROM background_tasks WHERE id = $1`

func (s backgroundTasks) Get(ctx context.Context, id string) (jobs.Task, error) {
	if !isText(id) {
		return jobs.Task{}, jobs.NotFound(id)
	}
	t, found, err := lookUp(ctx, s.db, "get a task", taskByID, scanTask, id)
	if err == nil && !found {
		err = jobs.NotFound(id)
	}
	return t, err
}

const swapTask = `
UPDATE background_tasks SET status = $3, message = $4, updated_at = $5, questions = $6, fault = $7, resume = $8,
	body = $9, content = $10, is_error = $11, owner = $12, lease_until = $13, cancel_asked = $14, seal = $15, revision = revision + 1
WHERE id = $1 AND revision = $2 AND status IN ('working', 'input_required')`

func (s backgroundTasks) Swap(ctx context.Context, t jobs.Task) (bool, error) {
	return transacted(ctx, s.db, "change a task", func(ctx context.Context, tx runner) (bool, error) {
		return changesOne(tx.ExecContext(ctx, swapTask, append([]any{t.ID, t.Revision}, s.stateColumns(&t)...)...))
	})
}

// storedResume is the state from which the next run of a task continues. Databases hold it as JSON,
// so its tags must not change, nor those of engine.Continuation, engine.Question and
// engine.ProtocolError.
type storedResume struct {
	engine.Continuation
	Answers map[string]jsontree.Value `json:"answers,omitempty"`
	Asked   []string                  `json:"asked,omitempty"`
}

// stateColumns returns the values of the columns that change, in the order in which both statements
// name them.
func (s backgroundTasks) stateColumns(t *jobs.Task) []any {
	resume := storedResume{Continuation: t.Continuation, Answers: t.Answers, Asked: t.Asked}
	resume.Continuation.Asked = t.Continuation.Asked.UTC().Truncate(time.Microsecond)
	return []any{
		t.Status, s.db.bytesOrText(t.Message), micros(t.UpdatedAt),
		jsonColumn{t.Questions},
		jsonColumn{t.Fault},
		jsonColumn{resume},
		t.Body, t.Content, t.IsError, t.Owner, micros(t.LeaseUntil), t.CancelAsked, t.Seal,
	}
}

func scanTask(row scanner) (t jobs.Task, err error) {
	var capabilities string
	var expires time.Time
	var poll int64
	var resume storedResume
	err = row.Scan(&t.ID, &t.Workspace, &t.Principal, &t.Tool, &t.Digest, &t.Frontend, &t.Client, &t.Arguments, &capabilities,
		(*timeColumn)(&t.CreatedAt), (*timeColumn)(&expires), &poll, &t.Status, &t.Message, (*timeColumn)(&t.UpdatedAt),
		&jsonColumn{&t.Questions}, &jsonColumn{&t.Fault}, &jsonColumn{&resume}, &t.Body, &t.Content, &t.IsError, &t.Owner,
		(*timeColumn)(&t.LeaseUntil), &t.CancelAsked, &t.Seal, &t.Revision)
	for word := range strings.FieldsSeq(capabilities) {
		t.Capabilities = append(t.Capabilities, engine.Capability(word))
	}
	t.TTL, t.Poll = expires.Sub(t.CreatedAt), time.Duration(poll)*time.Microsecond
	t.Continuation, t.Answers, t.Asked = resume.Continuation, resume.Answers, resume.Asked
	return t, err
}

// joinCapabilities joins the capabilities into one string, separated by spaces.
func joinCapabilities(capabilities []engine.Capability) string {
	all := make([]string, len(capabilities))
	for i, c := range capabilities {
		all[i] = string(c)
	}
	return strings.Join(all, " ")
}
