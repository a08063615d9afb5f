package console

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"time"

	"remit/internal/engine/identity"
	"remit/internal/toolsets/tasks"
)

// taskBoard is what the page of tasks shows.
type taskBoard struct {
	URL      *url.URL
	User     string
	Filter   taskFilter
	Columns  []*taskColumn
	Any      bool   // there is at least one task
	First    string // address of the first page of a search; "" if this is it
	Pager    pager  // of a search
	MayWrite bool
	Form     taskForm
	Unserved *unserved
}

// taskFilter is what the tasks on the board have in common.
type taskFilter struct{ Priority, Search string }

// Filtered tells whether the board leaves tasks out.
func (b *taskBoard) Filtered() bool { return b.Filter != taskFilter{} }

// Priorities are those that tasks have.
func (*taskBoard) Priorities() []string { return []string{"High", "Medium", "Low"} }

// taskColumn is a column of the board.
type taskColumn struct {
	Key, Title, Empty string
	Tasks             []tasks.Task
	Total             int64
	First, More       string // addresses of its first and its next page; "" if this is it
	Looked            int    // so many were looked through, if some are yet to be

	choose  arguments // what list_tasks is asked for
	undated bool      // of the answer only tasks without a date count
}

// tasksInColumn is how many tasks a column shows at once.
const tasksInColumn = 10

// showTasks answers with the board.
func (v *visit) showTasks(form taskForm) error {
	q := v.r.URL.Query()
	board := &taskBoard{
		URL: v.boardURL(), User: q.Get("user"), Filter: taskFilter{q.Get("priority"), q.Get("search")},
		MayWrite: v.person.Role >= identity.Approver && v.Engine.Serves("add_task") && v.Engine.Serves("complete_task"),
		Form:     form, Unserved: v.lacks("tasks", "tasks", "list_tasks"),
	}
	if board.User == "" {
		board.User = v.person.Name
	}
	if board.Unserved == nil {
		board.Columns = columnsOn(v.Now().UTC())
		fill := v.fillColumns
		if board.Filter.Search != "" {
			fill = v.searchTasks
		}
		if err := fill(board); err != nil {
			return err
		}
	}
	return v.pageWith(form.status(), "tasks", "tasks", "Tasks", board)
}

// boardURL is the address of the board that a request is about: a form is sent from it.
func (v *visit) boardURL() *url.URL {
	u := *v.r.URL
	u.Path = "/console/tasks"
	return &u
}

// columnsOn are the columns of a day. A day is neither before nor after itself.
func columnsOn(now time.Time) []*taskColumn {
	day := func(n int) string { return now.AddDate(0, 0, n).Format(time.DateOnly) }
	return []*taskColumn{
		{Key: "overdue", Title: "Overdue", Empty: "Nothing is late.", choose: arguments{"status": "open", "due_before": day(0)}},
		{Key: "today", Title: "Today", Empty: "Nothing is due today.", choose: arguments{"status": "open", "due_after": day(-1), "due_before": day(1)}},
		{Key: "week", Title: "This week", Empty: "Nothing is due in the next seven days.", choose: arguments{"status": "open", "due_after": day(0), "due_before": day(8)}},
		{Key: "later", Title: "Later", Empty: "Nothing is due after that.", choose: arguments{"status": "open", "due_after": day(7)}},
		{Key: "undated", Title: "No date", Empty: "Every open task has a date.", choose: arguments{"status": "open"}, undated: true},
		{Key: "done", Title: "Done", Empty: "Nothing is done yet.", choose: arguments{"status": "completed"}},
	}
}

// fillColumns asks for all columns at once.
func (v *visit) fillColumns(b *taskBoard) error {
	errs := make([]error, len(b.Columns))
	fills := make([]func(), len(b.Columns))
	for i, column := range b.Columns {
		column.choose["user_id"] = b.User
		column.choose["priority"] = b.Filter.Priority
		fills[i] = func() { errs[i] = v.fillColumn(column) }
	}
	together(fills...)
	for i, column := range b.Columns {
		if errs[i] != nil {
			return errs[i]
		}
		b.Any = b.Any || column.Total > 0
	}
	return nil
}

// fillColumn asks for a page of a column. The cursor of each is in the address, under
// its key.
func (v *visit) fillColumn(c *taskColumn) error {
	fill := v.fillDated
	if c.undated {
		fill = v.fillUndated
	}
	next, err := fill(c, v.r.URL.Query().Get(c.Key))
	if err != nil {
		return err
	}
	c.First, c.More = turned(v.boardURL(), c.Key, next)
	return nil
}

func (v *visit) fillDated(c *taskColumn, cursor string) (next string, err error) {
	page, err := v.listTasks(c.choose, tasksInColumn, cursor)
	c.Tasks, c.Total = page.Tasks, page.Total
	return page.NextCursor, err
}

// listTasks asks for some tasks from a cursor on.
func (v *visit) listTasks(choose arguments, limit int, cursor string) (page tasks.ListOut, err error) {
	asked := arguments{"limit": limit, "cursor": cursor}
	maps.Copy(asked, choose)
	page, _, err = ask[tasks.ListOut](v, "list_tasks", asked)
	return page, err
}

// fillUndated looks for tasks without a date among the open ones: that is no question
// for list_tasks. It looks through a bounded number, and says from where to look on.
func (v *visit) fillUndated(c *taskColumn, cursor string) (next string, err error) {
	const mostCalls, widest = 6, 300
	dated := arguments{"due_after": "0001-01-01"}
	maps.Copy(dated, c.choose)
	count, err := v.listTasks(dated, 1, "")
	if err != nil {
		return "", err
	}
	limit := tasksInColumn
	for range mostCalls {
		page, err := v.listTasks(c.choose, limit, cursor)
		if err != nil {
			return "", err
		}
		c.Total = max(0, page.Total-count.Total)
		found := slices.DeleteFunc(slices.Clone(page.Tasks), func(t tasks.Task) bool { return t.DueDate != nil })
		lack := tasksInColumn - len(c.Tasks)
		if len(found) > lack {
			limit = lack // as many as can all be shown, so that the cursor skips none
			continue
		}
		c.Tasks = append(c.Tasks, found...)
		c.Looked += len(page.Tasks)
		if cursor = page.NextCursor; cursor == "" || len(c.Tasks) == tasksInColumn || c.Total == 0 {
			break
		}
		if limit = tasksInColumn - len(c.Tasks); len(found) == 0 {
			limit = widest
		}
	}
	if c.Total == 0 {
		cursor = ""
	}
	return cursor, nil
}

// searchTasks fills the board with the tasks that have a text. Each question for a text
// looks through all tasks of the user, so there is one for the whole board, and not one
// a column.
func (v *visit) searchTasks(b *taskBoard) error {
	const most = 200
	choose := arguments{"user_id": b.User, "priority": b.Filter.Priority, "search": b.Filter.Search}
	page, err := v.listTasks(choose, most, v.r.URL.Query().Get("after"))
	if err != nil {
		return err
	}
	for _, t := range page.Tasks {
		for _, column := range b.Columns {
			if column.holds(&t) {
				column.Tasks = append(column.Tasks, t)
				column.Total++
				break
			}
		}
	}
	b.Any = len(page.Tasks) > 0
	b.First, b.Pager.Next = turned(v.boardURL(), "after", page.NextCursor)
	if b.First != "" || b.Pager.Next != "" {
		b.Pager.Note = fmt.Sprintf("%d of %d that fit, the newest first", len(page.Tasks), page.Total)
	}
	return nil
}

// holds tells whether a task belongs into a column.
func (c *taskColumn) holds(t *tasks.Task) bool {
	if (c.choose["status"] == "completed") != t.Completed {
		return false
	}
	if t.Completed || t.DueDate == nil {
		return t.Completed || c.undated
	}
	after, _ := c.choose["due_after"].(string)
	before, limited := c.choose["due_before"].(string)
	return !c.undated && *t.DueDate > after && (!limited || *t.DueDate < before)
}
