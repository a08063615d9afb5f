package tasks

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"remit/internal/engine"
)

// stateOf identifies a task as it is stored, whoever has claimed it and whatever it waits for. A
// task that was changed and changed back is another one, because its UpdatedAt differs.
func stateOf(task *Task) string {
	same := *task
	same.Claim, same.BlockedBy = nil, nil
	same.CreatedAt, same.UpdatedAt = task.CreatedAt.UTC(), task.UpdatedAt.UTC()
	row, _ := json.Marshal(same) // texts, numbers and times never fail
	sum := sha256.Sum256(row)
	return hex.EncodeToString(sum[:])
}

// readMark begins the state of a task that the answer of a tool showed.
const readMark = "read-"

// ReadState identifies a task as the answers of tools have it: with times of whole seconds. It is
// the engine.Call.Seen of a person who read the task. UserID must be set.
func ReadState(task *Task) string {
	same := *task
	same.CreatedAt, same.UpdatedAt = task.CreatedAt.Truncate(time.Second), task.UpdatedAt.Truncate(time.Second)
	return readMark + stateOf(&same)
}

// checkSeen returns a check of the stored task against the one that a person saw when they made or
// approved the call; nil if nobody saw one.
func checkSeen(ctx context.Context) func(*Task) error {
	seen := engine.Seen(ctx)
	if seen == "" {
		return nil
	}
	state := stateOf
	if strings.HasPrefix(seen, readMark) {
		state = ReadState
	}
	return func(task *Task) error {
		if state(task) != seen {
			return engine.StaleError(fmt.Sprintf("Task %d", task.ID))
		}
		return nil
	}
}

// ShowAdd shows a new task. It depends on nothing that is stored.
func (t *Tools) ShowAdd(_ context.Context, in New) (engine.Shown, error) {
	task := Task{Title: in.Title, Description: in.Description, Priority: in.Priority, DueDate: in.DueDate, DependsOn: in.DependsOn}
	return engine.Shown{Title: "Add a task to the list of " + in.UserID, After: describe(&task)}, nil
}

// ShowComplete shows what completing a task changes.
func (t *Tools) ShowComplete(ctx context.Context, in CompleteIn) (engine.Shown, error) {
	return t.shown(ctx, "Complete", TaskIn{in.TaskID, in.UserID}, in.edit(ctx))
}

// ShowDelete shows the task that would be removed.
func (t *Tools) ShowDelete(ctx context.Context, in TaskIn) (engine.Shown, error) {
	return t.shown(ctx, "Delete", in, nil)
}

// ShowUpdate shows the old and the new values of a task.
func (t *Tools) ShowUpdate(ctx context.Context, in UpdateIn) (engine.Shown, error) {
	return t.shown(ctx, "Update", TaskIn{in.TaskID, in.UserID}, in.edit(ctx))
}

// ShowClaim shows the task that would be claimed.
func (t *Tools) ShowClaim(ctx context.Context, in ClaimIn) (engine.Shown, error) {
	return t.shown(ctx, "Claim", TaskIn{in.TaskID, in.UserID}, in.edit(ctx))
}

// ShowRelease shows the task whose claim would end.
func (t *Tools) ShowRelease(ctx context.Context, in ReleaseIn) (engine.Shown, error) {
	return t.shown(ctx, "Release", TaskIn{in.TaskID, in.UserID}, in.edit(ctx))
}

// ShowNext shows the task that would be claimed now.
func (t *Tools) ShowNext(ctx context.Context, in NextIn) (engine.Shown, error) {
	store, err := t.store(ctx)
	if err != nil {
		return engine.Shown{}, err
	}
	task, err := store.Next(ctx, in.UserID, t.Now(), nil)
	switch {
	case errors.Is(err, ErrNotFound):
		return engine.Shown{Title: "Find the next task of " + in.UserID + ": none is ready"}, nil
	case err != nil:
		return engine.Shown{}, failure(ctx, err)
	case !in.Claim:
		return engine.Shown{Title: "Find the next task of " + in.UserID}, nil
	}
	return t.effect("Claim", &task, in.UserID, in.edit(ctx), store)
}

// shown shows a task before and after edit; a nil edit removes it.
func (t *Tools) shown(ctx context.Context, verb string, in TaskIn, edit Edit) (engine.Shown, error) {
	store, id, err := t.find(ctx, in.TaskID)
	if err != nil {
		return engine.Shown{}, err
	}
	task, err := store.Get(ctx, in.UserID, id)
	if err != nil {
		return engine.Shown{}, in.TaskID.failure(ctx, err)
	}
	return t.effect(verb, &task, in.UserID, edit, store)
}

// effect shows what edit does to a task. It returns the error of an edit that would be refused.
func (t *Tools) effect(verb string, task *Task, user string, edit Edit, store Store) (engine.Shown, error) {
	shown := engine.Shown{
		State: stateOf(task), Before: describe(task),
		Title: fmt.Sprintf("%s task %d of %s: %s", verb, task.ID, user, task.Title),
	}
	if edit == nil {
		return shown, nil
	}
	if err := edit(task, store.Clock(t.Now())); err != nil && !errors.Is(err, errUnchanged) {
		return engine.Shown{}, err
	}
	shown.After = describe(task)
	return shown, nil
}

// describe returns a task as text, one field per line.
func describe(task *Task) string {
	var b strings.Builder
	field := func(name, value string) { fmt.Fprintf(&b, "%s: %s\n", name, value) }
	optional := func(name string, value *string) {
		if value != nil {
			field(name, *value)
		}
	}
	field("title", task.Title)
	optional("description", task.Description)
	field("completed", strconv.FormatBool(task.Completed))
	field("priority", string(task.Priority))
	optional("due_date", task.DueDate)
	if len(task.DependsOn) > 0 {
		field("depends_on", joinIDs(task.DependsOn, ", "))
	}
	if task.Claim != nil {
		field("claimed by", fmt.Sprintf("%s until %s", task.Claim.By, task.Claim.Until.UTC().Format(time.RFC3339)))
	}
	if !task.UpdatedAt.IsZero() {
		field("last changed", task.UpdatedAt.UTC().Format(time.RFC3339))
	}
	return b.String()
}
