package tasks

import (
	"context"
	"errors"
	"time"

	"remit/internal/contract"
	"remit/internal/engine"
)

// UndoToolset returns the tools that take changes back. They are for people: the set is hidden, and
// only the command line uses it.
func (t *Tools) UndoToolset() engine.Toolset {
	return engine.Toolset{
		Sets: []string{"tasks-undo"},
		Handlers: map[string]engine.Handler{
			"list_deleted_tasks": engine.Handle(t.Deleted),
			"restore_task":       engine.Handle(t.Restore).Shows(t.ShowRestore),
			"undo_task":          engine.Handle(t.Undo).Shows(t.ShowUndo),
		},
		Transactional: true,
	}
}

// DeletedIn says whose deleted tasks to list.
type DeletedIn struct {
	UserID string `json:"user_id"`
	Limit  int    `json:"limit"`
}

// DeletedOut holds deleted tasks.
type DeletedOut struct {
	Tasks []DeletedTask `json:"tasks"`
}

// Deleted lists the tasks that can be restored.
func (t *Tools) Deleted(ctx context.Context, in DeletedIn) (DeletedOut, error) {
	store, err := t.store(ctx)
	if err != nil {
		return DeletedOut{}, err
	}
	found, err := store.Deleted(ctx, in.UserID, in.Limit)
	return DeletedOut{Tasks: found}, failure(ctx, err)
}

// Restore brings a deleted task back.
func (t *Tools) Restore(ctx context.Context, in TaskIn) (Task, error) {
	store, id, err := t.find(ctx, in.TaskID)
	if err != nil {
		return Task{}, err
	}
	task, err := store.Restore(ctx, in.UserID, id)
	return task, in.TaskID.failure(ctx, err)
}

// Undo takes the last change of a task back: the deletion, or the change of its fields. Taking back
// a change of fields is such a change itself, so a second call makes the change again. A deletion
// that was taken back leaves no trace: the next call takes back the change before it. Claims are
// not restored.
func (t *Tools) Undo(ctx context.Context, in TaskIn) (Task, error) {
	edit, err := t.undo(ctx, in)
	if errors.Is(err, ErrNotFound) {
		return t.Restore(ctx, in)
	}
	if err != nil {
		return Task{}, err
	}
	return t.change(ctx, in.UserID, in.TaskID, edit)
}

// undo returns the edit that takes the last change back; ErrNotFound if the task was deleted.
func (t *Tools) undo(ctx context.Context, in TaskIn) (Edit, error) {
	store, id, err := t.find(ctx, in.TaskID)
	if err != nil {
		return nil, err
	}
	before, changed, err := store.Previous(ctx, in.UserID, id)
	switch {
	case errors.Is(err, ErrNotFound):
		return nil, err
	case err != nil:
		return nil, failure(ctx, err)
	case before == nil:
		return nil, contract.Errorf(contract.Conflict, "Task %d was not changed since it was added, so there is nothing to undo", id).
			With("task_id", id)
	}
	return func(task *Task, _ time.Time) error {
		if !task.UpdatedAt.Equal(changed) {
			return contract.Errorf(contract.Conflict, "Task %d was changed by another caller just now; look at it and try again", id).
				With("task_id", id)
		}
		task.Title, task.Description, task.Priority, task.DueDate = before.Title, before.Description, before.Priority, before.DueDate
		task.DependsOn = before.DependsOn
		if before.Completed != task.Completed {
			task.setCompleted(before.Completed, "")
		}
		return nil
	}, nil
}

// ShowRestore shows which task would come back.
func (t *Tools) ShowRestore(_ context.Context, in TaskIn) (engine.Shown, error) {
	return engine.Shown{Title: "Restore the deleted task " + in.TaskID.given.Text + " of " + in.UserID}, nil
}

// ShowUndo shows the task before and after the last change is taken back.
func (t *Tools) ShowUndo(ctx context.Context, in TaskIn) (engine.Shown, error) {
	edit, err := t.undo(ctx, in)
	if errors.Is(err, ErrNotFound) {
		return t.ShowRestore(ctx, in)
	}
	if err != nil {
		return engine.Shown{}, err
	}
	return t.shown(ctx, "Undo the last change of", in, edit)
}
