// Package tasks implements the task tools, which add, list, complete, delete and update the tasks
// of a user, and share them out to several agents. It defines the Store that they need and does not
// store anything itself.
package tasks

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"slices"
	"strconv"
	"time"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine"
)

// Tools holds the handlers and their dependencies.
type Tools struct {
	Open   func(context.Context) (Store, error) // returns the store; called on each use
	Now    func() time.Time
	Served []*contract.Set // the served sets, with the operator's changes
}

const (
	setName  = "tasks"
	listTool = "list_tasks" // resources and the prompt follow its contract
)

// Toolset returns the table of the tools, with the resources and prompts.
func (t *Tools) Toolset() engine.Toolset {
	toolset := engine.Toolset{
		Sets: []string{setName},
		Handlers: map[string]engine.Handler{
			"add_task":      engine.Handle(t.Add).Shows(t.ShowAdd),
			listTool:        engine.Handle(t.List),
			"complete_task": engine.Handle(t.Complete).Shows(t.ShowComplete),
			"delete_task":   engine.Handle(t.Delete).Shows(t.ShowDelete),
			"update_task":   engine.Handle(t.Update).Shows(t.ShowUpdate),
			"next_task":     engine.Handle(t.Next).Shows(t.ShowNext),
			"claim_task":    engine.Handle(t.Claim).Shows(t.ShowClaim),
			"release_task":  engine.Handle(t.Release).Shows(t.ShowRelease),
		},
		Transactional: true,
	}
	if listing := contract.Find(t.Served, setName, listTool); listing != nil {
		s := resources{t, listing}
		toolset.Resources, toolset.Prompts = []engine.ResourceProvider{s}, []engine.Prompt{s.planMyDay()}
	}
	return toolset
}

// Add creates a task.
func (t *Tools) Add(ctx context.Context, in New) (Task, error) {
	store, err := t.store(ctx)
	if err != nil {
		return Task{}, err
	}
	task, err := store.Add(ctx, in, t.Now())
	return task, failure(ctx, err)
}

// TaskIn identifies a task.
type TaskIn struct {
	TaskID ID     `json:"task_id"`
	UserID string `json:"user_id"`
}

// CompleteIn identifies a task, and the claim of the caller if it has one.
type CompleteIn struct {
	TaskID ID     `json:"task_id"`
	UserID string `json:"user_id"`
	Token  string `json:"token"`
}

// CompleteOut is the answer of complete_task.
type CompleteOut struct {
	ID        int64     `json:"id"`
	Title     string    `json:"title"`
	Completed bool      `json:"completed"`
	UpdatedAt time.Time `json:"updated_at"`
}

// Complete marks a task as completed. A completed task stays unchanged.
func (t *Tools) Complete(ctx context.Context, in CompleteIn) (CompleteOut, error) {
	task, err := t.change(ctx, in.UserID, in.TaskID, in.edit(ctx))
	return CompleteOut{ID: task.ID, Title: task.Title, Completed: task.Completed, UpdatedAt: task.UpdatedAt}, err
}

func (in *CompleteIn) edit(ctx context.Context) Edit {
	return func(task *Task, at time.Time) error {
		if err := task.mayComplete(ctx, in.Token, at); err != nil {
			return err
		}
		if task.Completed {
			return errUnchanged
		}
		task.setCompleted(true, in.Token)
		return nil
	}
}

// DeleteOut is the answer of delete_task.
type DeleteOut struct {
	Deleted bool   `json:"deleted"`
	TaskID  string `json:"task_id"`
}

// Delete removes a task permanently.
func (t *Tools) Delete(ctx context.Context, in TaskIn) (DeleteOut, error) {
	store, id, err := t.find(ctx, in.TaskID)
	if err != nil {
		return DeleteOut{}, err
	}
	err = in.TaskID.failure(ctx, store.Delete(ctx, in.UserID, id, checkSeen(ctx)))
	return DeleteOut{Deleted: true, TaskID: in.TaskID.given.Text}, err
}

// UpdateIn says what to change in a task. Nil fields stay unchanged.
type UpdateIn struct {
	TaskID      ID        `json:"task_id"`
	UserID      string    `json:"user_id"`
	Title       *string   `json:"title"`
	Description *string   `json:"description"`
	Priority    *Priority `json:"priority"`
	DueDate     *string   `json:"due_date"`
	Completed   *bool     `json:"completed"`
	DependsOn   []int64   `json:"depends_on"` // replaces all; an empty list removes all
	Clear       []string  `json:"clear"`      // fields to make empty
	Token       string    `json:"token"`      // of the claim, if the caller has one
}

// Check returns an error if an update changes nothing, or sets and clears the same field.
func (in UpdateIn) Check() error {
	if in.Title == nil && in.Description == nil && in.Priority == nil && in.DueDate == nil && in.Completed == nil &&
		in.DependsOn == nil && in.Clear == nil {
		return contract.Errorf(contract.Invalid, "At least one field must be provided for update")
	}
	for name, given := range map[string]*string{"description": in.Description, "due_date": in.DueDate} {
		if given != nil && slices.Contains(in.Clear, name) {
			return contract.Errorf(contract.Invalid, "%s is both set and listed in clear; leave out one of the two", name).With("field", name)
		}
	}
	return nil
}

// Update changes the given fields of a task.
func (t *Tools) Update(ctx context.Context, in UpdateIn) (Task, error) {
	return t.change(ctx, in.UserID, in.TaskID, in.edit(ctx))
}

func (in *UpdateIn) edit(ctx context.Context) Edit {
	return func(task *Task, at time.Time) error {
		if in.Token != "" || in.Completed != nil && *in.Completed {
			if err := task.mayComplete(ctx, in.Token, at); err != nil {
				return err
			}
		}
		before := *task
		set(&task.Title, in.Title)
		set(&task.Priority, in.Priority)
		task.Description = in.renewed("description", task.Description, in.Description)
		task.DueDate = in.renewed("due_date", task.DueDate, in.DueDate)
		if in.DependsOn != nil {
			task.DependsOn = append([]int64(nil), in.DependsOn...) // nil if it is empty
		}
		if in.Completed != nil && *in.Completed != task.Completed {
			task.setCompleted(*in.Completed, in.Token)
		}
		if reflect.DeepEqual(*task, before) {
			return errUnchanged
		}
		return nil
	}
}

// set stores the given value, unless it is nil.
func set[T any](field, given *T) {
	if given != nil {
		*field = *given
	}
}

// renewed returns the new value of a field that can be empty.
func (in *UpdateIn) renewed(name string, old, given *string) *string {
	switch {
	case slices.Contains(in.Clear, name):
		return nil
	case given != nil:
		return given
	default:
		return old
	}
}

// errUnchanged is the error of an edit that leaves a task as it is.
var errUnchanged = errors.New("nothing has changed")

// change calls edit on a task of a user.
func (t *Tools) change(ctx context.Context, user string, id ID, edit Edit) (Task, error) {
	store, number, err := t.find(ctx, id)
	if err != nil {
		return Task{}, err
	}
	edit = checked(ctx, edit)
	var refused error
	task, err := store.Change(ctx, user, number, t.Now(), func(task *Task) bool {
		refused = edit(task, store.Clock(t.Now()))
		return refused == nil
	})
	if errors.Is(refused, errUnchanged) {
		refused = nil
	}
	hideExpired(&task, store.Clock(t.Now()))
	return task, cmp.Or(id.failure(ctx, err), refused)
}

// ID is the id of a task as the caller wrote it: a text or a number.
type ID struct{ given jsontree.Value }

// UnmarshalJSON implements json.Unmarshaler.
func (id *ID) UnmarshalJSON(data []byte) (err error) {
	id.given, err = jsontree.Parse(data)
	return err
}

// find returns the store and the numeric id. No task has an id that is too large for a number.
func (t *Tools) find(ctx context.Context, id ID) (Store, int64, error) {
	number, err := strconv.ParseInt(id.given.Text, 10, 64)
	if err != nil {
		return nil, 0, id.notFound(err)
	}
	store, err := t.store(ctx)
	return store, number, err
}

func (id ID) notFound(cause error) error {
	return contract.Errorf(contract.NotFound, "Task not found").With("task_id", id.given).Because(cause)
}

// failure converts an error of the store about this task to one for the caller.
func (id ID) failure(ctx context.Context, err error) error {
	if errors.Is(err, ErrNotFound) {
		return id.notFound(err)
	}
	return failure(ctx, err)
}

// store opens the store.
func (t *Tools) store(ctx context.Context) (Store, error) {
	store, err := t.Open(ctx)
	return store, failure(ctx, err)
}

// failure converts an error of the store to one for the caller. It leaves a cancelled call to the
// engine.
func failure(ctx context.Context, err error) error {
	dependency, isDependency := errors.AsType[*DependencyError](err)
	switch {
	case err == nil:
		return nil
	case errors.As(err, new(*contract.Error)):
		return err
	case isDependency && dependency.Cycle != nil:
		return contract.Errorf(contract.Invalid, "A task cannot depend on itself: %s", joinIDs(dependency.Cycle, " depends on ")).
			With("field", "depends_on").Because(err)
	case isDependency:
		return contract.Errorf(contract.Invalid, "depends_on names task %d, which does not exist", dependency.Missing).
			With("field", "depends_on").Because(err)
	case errors.Is(err, ErrUnknown):
		return contract.Errorf(contract.Unavailable,
			"It is unknown whether the change was made; repeat the call with the same "+
				"idempotency key, or list the tasks first").Because(err)
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return err
	default:
		return contract.Errorf(contract.Unavailable, "The task store is not available; try again").Because(err)
	}
}
