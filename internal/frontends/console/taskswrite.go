package console

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"

	"remit/internal/contract"
	"remit/internal/toolsets/tasks"
)

// taskForm is the content of the form for a new task, and its result.
type taskForm struct {
	Title, Description, Priority, Due string
	Problem                           string
	Approval                          string // the approval request that it waits for
	failed                            contract.Kind
}

func (f taskForm) status() int {
	if f.failed == "" {
		return 200
	}
	return statusOf(f.failed)
}

// Open reports whether the form is to be shown unfolded.
func (f taskForm) Open() bool { return f.Title != "" || f.Problem != "" }

// Chosen returns the selected priority of the form.
func (f taskForm) Chosen() string { return cmp.Or(f.Priority, "Medium") }

// addTask adds the task of the form.
func (v *visit) addTask() error {
	form := taskForm{
		Title: v.r.PostForm.Get("title"), Description: v.r.PostForm.Get("description"),
		Priority: v.r.PostForm.Get("new_priority"), Due: v.r.PostForm.Get("due_date"),
	}
	err := v.do("add_task", arguments{
		"user_id": v.taskUser(), "title": form.Title, "description": form.Description, "priority": form.Priority, "due_date": form.Due,
	})
	if err == nil {
		v.redirect(v.boardURL().String())
		return nil
	}
	return v.backToBoard(form, err)
}

// taskUser returns the user whose tasks a page shows or a form changes.
func (v *visit) taskUser() string {
	return cmp.Or(v.r.URL.Query().Get("user"), v.person.Name)
}

// backToBoard shows the board after a form was refused. The form keeps its content.
func (v *visit) backToBoard(form taskForm, err error) error {
	failure := contract.AsError(err)
	switch form.Approval = pendingApproval(failure); {
	case form.Approval != "":
	case slices.Contains([]contract.Kind{contract.Invalid, contract.NotFound, contract.Conflict}, failure.Kind):
		form.Problem = failure.Message
	default:
		return err
	}
	form.failed = failure.Kind
	board := v.board()
	board.Form = form
	return v.showBoard(form.status(), board)
}

// saveTask stores the fields that a person has changed in the form of a task. If somebody else has
// changed one of them meanwhile, the form comes back with both values.
func (v *visit) saveTask() error {
	board := v.board()
	pane, err := v.taskPane(board)
	if err != nil {
		return err
	}
	board.Open = pane
	pane.sent(v.r.PostForm)
	seen := v.r.PostForm.Get("seen")
	const maxAttempts = 3 // while others change the task
	for range maxAttempts {
		if seen != pane.Seen && pane.clash() > 0 {
			return v.showBoard(http.StatusConflict, board)
		}
		args, err := pane.changes()
		if err == nil && len(args) > 0 {
			args["task_id"], args["user_id"] = v.r.PathValue("id"), board.User
			err = v.doSeen("update_task", pane.Seen, args)
		}
		if err == nil {
			v.redirect(board.At("/", pane.Task.ID))
			return nil
		}
		now, readErr := v.readTask(board.User, v.r.PathValue("id"))
		if readErr != nil {
			return readErr
		}
		if tasks.ReadState(&now) == pane.Seen { // it was not refused because of another change
			if kept := pane.failed(err); kept != nil {
				return kept
			}
			return v.showBoard(statusOf(contract.AsError(err).Kind), board)
		}
		pane.Task, seen = now, pane.Seen
		pane.Seen = tasks.ReadState(&now)
	}
	pane.Problem = "Others change this task all the time; try again."
	return v.showBoard(http.StatusConflict, board)
}

// changeTask makes a change of a task that needs no form, such as completing it. done returns the
// page that follows.
func (v *visit) changeTask(change func(id, user, seen string) error, done func(b *taskBoard) string) error {
	board := v.board()
	err := change(v.r.PathValue("id"), board.User, v.r.PostForm.Get("seen"))
	if err == nil && v.r.PostForm.Get("at") == "list" {
		v.redirect(board.URL.String())
		return nil
	}
	if err == nil {
		v.redirect(done(board))
		return nil
	}
	if contract.AsError(err).Kind == contract.Conflict {
		err = v.conflictOf(board, err)
	}
	return v.backToBoard(taskForm{}, err)
}

// conflictOf returns the error for a person whose change was refused because the task is not what
// they saw.
func (v *visit) conflictOf(b *taskBoard, err error) error {
	now, readErr := v.readTask(b.User, v.r.PathValue("id"))
	if seen := v.r.PostForm.Get("seen"); readErr != nil || seen == "" || seen == tasks.ReadState(&now) {
		return err
	}
	return contract.Errorf(contract.Conflict, "Somebody else has changed task %d meanwhile, so nothing was done. Look at it and try again.", now.ID)
}

// atTask returns the page of the task of the URL.
func (v *visit) atTask(b *taskBoard) string { return b.At("/", v.r.PathValue("id")) }

// completeTask marks a task as done.
func (v *visit) completeTask() error {
	return v.changeTask(func(id, user, seen string) error {
		return v.doSeen("complete_task", seen, arguments{"task_id": id, "user_id": user})
	}, v.atTask)
}

// reopenTask opens a completed task again.
func (v *visit) reopenTask() error {
	return v.changeTask(func(id, user, seen string) error {
		return v.doSeen("update_task", seen, arguments{"task_id": id, "user_id": user, "completed": new(false)})
	}, v.atTask)
}

// releaseTask takes a task away from the agent that works on it.
func (v *visit) releaseTask() error {
	return v.changeTask(func(id, user, seen string) error {
		return v.doSeen("release_task", seen, arguments{"task_id": id, "user_id": user, "force": true})
	}, v.atTask)
}

// deleteTask moves a task to the trash.
func (v *visit) deleteTask() error {
	return v.changeTask(func(id, user, seen string) error {
		return v.doSeen("delete_task", seen, arguments{"task_id": id, "user_id": user})
	}, func(b *taskBoard) string {
		deleted, _ := query(b.URL, "deleted", v.r.PathValue("id")) // a *url.URL never fails
		return deleted
	})
}

// restoreTask brings a deleted task back.
func (v *visit) restoreTask() error { return v.takeBack("restore_task") }

// undoTask takes the last change of a task back.
func (v *visit) undoTask() error { return v.takeBack("undo_task") }

// takeBack calls one of the tools that only people have.
func (v *visit) takeBack(tool string) error {
	if v.Own == nil {
		return contract.Errorf(contract.NotFound, "Changes of tasks cannot be taken back here")
	}
	return v.changeTask(func(id, user, seen string) error {
		_, err := v.own(frontendConsole, tool, seen, arguments{"task_id": id, "user_id": user})
		return err
	}, v.atTask)
}

// moveTask moves a task to another column: it sets the due date, and opens or completes the task.
func (v *visit) moveTask() error {
	to := v.r.PostForm.Get("to")
	moves := movesOn(v.Now().UTC())
	i := slices.IndexFunc(moves, func(m taskMove) bool { return m.Key == to })
	if i < 0 {
		return contract.Errorf(contract.Invalid, "to must be today, tomorrow, week, later, undated or done")
	}
	return v.changeTask(func(id, user, seen string) error {
		if to == "done" {
			return v.doSeen("complete_task", seen, arguments{"task_id": id, "user_id": user})
		}
		now, err := v.readTask(user, id)
		if err != nil {
			return err
		}
		args := arguments{"task_id": id, "user_id": user, "due_date": moves[i].Due}
		if moves[i].Due == "" {
			args["clear"] = []string{"due_date"}
		}
		if now.Completed {
			args["completed"] = new(false)
		}
		return v.doSeen("update_task", cmp.Or(seen, tasks.ReadState(&now)), args)
	}, v.atTask)
}

// Said describes the move for people.
func (m taskMove) Said() string {
	if m.Due == "" {
		return m.Title
	}
	return fmt.Sprintf("%s, %s", m.Title, m.Due)
}
