// Package tasks implements the task tools, which add, list, complete, delete and update the tasks
// of a user. It defines the Store that they need and does not store anything itself.
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

// CompleteOut is the answer of complete_task.
type CompleteOut struct {
	ID        int64     `json:"id"`
	Title     string    `json:"title"`
	Completed bool      `json:"completed"`
	UpdatedAt time.Time `json:"updated_at"`
}

// Complete marks a task as completed. A completed task stays unchanged.
func (t *Tools) Complete(ctx context.Context, in TaskIn) (CompleteOut, error) {
	task, err := t.change(ctx, in.UserID, in.TaskID, complete)
	return CompleteOut{ID: task.ID, Title: task.Title, Completed: task.Completed, UpdatedAt: task.UpdatedAt}, err
}

func complete(task *Task) bool {
	changed := !task.Completed
	task.Completed = true
	return changed
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
	Clear       []string  `json:"clear"` // fields to make empty
}

// Check returns an error if an update changes nothing, or sets and clears the same field.
func (in UpdateIn) Check() error {
	if in.Title == nil && in.Description == nil && in.Priority == nil && in.DueDate == nil && in.Completed == nil && in.Clear == nil {
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
	return t.change(ctx, in.UserID, in.TaskID, in.edit)
}

func (in *UpdateIn) edit(task *Task) bool {
	before := *task
	set(&task.Title, in.Title)
	set(&task.Priority, in.Priority)
	set(&task.Completed, in.Completed)
	task.Description = in.renewed("description", task.Description, in.Description)
	task.DueDate = in.renewed("due_date", task.DueDate, in.DueDate)
	return !reflect.DeepEqual(*task, before)
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

// change calls edit on a task of a user.
func (t *Tools) change(ctx context.Context, user string, id ID, edit func(*Task) bool) (Task, error) {
	store, number, err := t.find(ctx, id)
	if err != nil {
		return Task{}, err
	}
	check := checkSeen(ctx)
	var stale error
	task, err := store.Change(ctx, user, number, t.Now(), func(task *Task) bool {
		if check != nil {
			stale = check(task)
		}
		return stale == nil && edit(task)
	})
	return task, cmp.Or(id.failure(ctx, err), stale)
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
	switch {
	case err == nil:
		return nil
	case errors.As(err, new(*contract.Error)):
		return err
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
