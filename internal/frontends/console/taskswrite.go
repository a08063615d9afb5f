package console

import (
	"cmp"
	"net/http"

	"remit/internal/contract"
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
	return v.backToBoard(form, err)
}

// completeTask marks a task as done.
func (v *visit) completeTask() error {
	err := v.do("complete_task", arguments{"task_id": v.r.PathValue("id"), "user_id": v.taskUser()})
	return v.backToBoard(taskForm{}, err)
}

// taskUser returns the user whose tasks a form changes.
func (v *visit) taskUser() string {
	if user := v.r.URL.Query().Get("user"); user != "" {
		return user
	}
	return v.person.Name
}

// backToBoard shows the board after a form was sent. If the call failed, the form keeps its
// content.
func (v *visit) backToBoard(form taskForm, err error) error {
	if err == nil {
		http.Redirect(v.w, v.r, v.boardURL().String(), http.StatusSeeOther)
		return nil
	}
	failure := contract.AsError(err)
	switch form.Approval = pendingApproval(failure); {
	case form.Approval != "":
	case failure.Kind == contract.Invalid || failure.Kind == contract.NotFound || failure.Kind == contract.Conflict:
		form.Problem = failure.Message
	default:
		return err
	}
	form.failed = failure.Kind
	return v.showTasks(form)
}
