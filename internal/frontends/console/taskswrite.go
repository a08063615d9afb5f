package console

import (
	"cmp"
	"net/http"

	"remit/internal/contract"
)

// taskForm is what somebody typed, and what came of it.
type taskForm struct {
	Title, Description, Priority, Due string
	Problem                           string
	Approval                          string // the request that it waits for
	failed                            contract.Kind
}

func (f taskForm) status() int {
	if f.failed == "" {
		return 200
	}
	return f.failed.Status()
}

// Open tells whether somebody is still at it.
func (f taskForm) Open() bool { return f.Title != "" || f.Problem != "" }

// Chosen is the priority that the form proposes.
func (f taskForm) Chosen() string { return cmp.Or(f.Priority, "Medium") }

// addTask adds a task of the form.
func (v *visit) addTask() error {
	form := taskForm{
		Title: v.r.PostForm.Get("title"), Description: v.r.PostForm.Get("description"),
		Priority: v.r.PostForm.Get("new_priority"), Due: v.r.PostForm.Get("due_date"),
	}
	err := v.do("add_task", arguments{
		"user_id": v.taskUser(), "title": form.Title, "description": form.Description, "priority": form.Priority, "due_date": form.Due,
	})
	return v.backToBoard(form, err)
}

// completeTask marks a task as done.
func (v *visit) completeTask() error {
	err := v.do("complete_task", arguments{"task_id": v.r.PathValue("id"), "user_id": v.taskUser()})
	return v.backToBoard(taskForm{}, err)
}

// taskUser is whose tasks a form is about.
func (v *visit) taskUser() string {
	if user := v.r.URL.Query().Get("user"); user != "" {
		return user
	}
	return v.person.Name
}

// backToBoard shows the board again: what was typed is kept if it came to nothing.
func (v *visit) backToBoard(form taskForm, err error) error {
	if err == nil {
		http.Redirect(v.w, v.r, v.boardURL().String(), http.StatusSeeOther)
		return nil
	}
	failure := contract.AsError(err)
	switch form.Approval = waiting(failure); {
	case form.Approval != "":
	case failure.Kind == contract.Invalid || failure.Kind == contract.NotFound || failure.Kind == contract.Conflict:
		form.Problem = failure.Message
	default:
		return err
	}
	form.failed = failure.Kind
	return v.showTasks(form)
}
