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

// taskBoard is the data of the tasks page.
type taskBoard struct {
	URL      *url.URL
	User     string
	Filter   taskFilter
	Columns  []*taskColumn
	Any      bool   // there is at least one task
	First    string // URL of the first page of a search; "" on the first page
	Pager    pager  // of a search
	MayWrite bool
	Form     taskForm
	Unserved *unserved
}

// taskFilter selects the tasks on the board.
type taskFilter struct{ Priority, Search string }

// Filtered reports whether a filter is set.
func (b *taskBoard) Filtered() bool { return b.Filter != taskFilter{} }

// Priorities returns the priorities of tasks, highest first.
func (*taskBoard) Priorities() []string { return []string{"High", "Medium", "Low"} }

// taskColumn is a column of the board.
type taskColumn struct {
	Key, Title, Empty string
	Tasks             []tasks.Task
	Total             int64
	First, More       string // URLs of the first and the next page; "" if there is none
	Searched          int    // number of tasks searched, if there are more

	choose  arguments // the arguments of list_tasks
	undated bool      // keep only tasks without a due date
}

// tasksPerColumn is the number of tasks on one page of a column.
const tasksPerColumn = 10

// showTasks responds with the board.
func (v *visit) showTasks(form taskForm) error {
	q := v.r.URL.Query()
	board := &taskBoard{
		URL: v.boardURL(), User: q.Get("user"), Filter: taskFilter{q.Get("priority"), q.Get("search")},
		MayWrite: v.person.Role >= identity.Approver && v.Engine.Serves("add_task") && v.Engine.Serves("complete_task"),
		Form:     form, Unserved: v.missingTool("tasks", "tasks", "list_tasks"),
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

// boardURL returns the URL of the board that a request or its form belongs to.
func (v *visit) boardURL() *url.URL {
	u := *v.r.URL
	u.Path = "/console/tasks"
	return &u
}

// columnsOn returns the columns for a date. The bounds due_before and due_after exclude the date
// itself.
func columnsOn(now time.Time) []*taskColumn {
	day := func(n int) string { return now.AddDate(0, 0, n).Format(time.DateOnly) }
	return []*taskColumn{
		{Key: "overdue", Title: "Overdue", Empty: "Nothing is overdue.", choose: arguments{"status": "open", "due_before": day(0)}},
		{
			Key: "today", Title: "Today", Empty: "Nothing is due today.",
			choose: arguments{"status": "open", "due_after": day(-1), "due_before": day(1)},
		},
		{
			Key: "week", Title: "This week", Empty: "Nothing is due in the next seven days.",
			choose: arguments{"status": "open", "due_after": day(0), "due_before": day(8)},
		},
		{Key: "later", Title: "Later", Empty: "Nothing is due after that.", choose: arguments{"status": "open", "due_after": day(7)}},
		{Key: "undated", Title: "No date", Empty: "Every open task has a date.", choose: arguments{"status": "open"}, undated: true},
		{Key: "done", Title: "Done", Empty: "Nothing is done yet.", choose: arguments{"status": "completed"}},
	}
}

// fillColumns loads all columns concurrently.
func (v *visit) fillColumns(b *taskBoard) error {
	errs := make([]error, len(b.Columns))
	fills := make([]func(), len(b.Columns))
	for i, column := range b.Columns {
		column.choose["user_id"] = b.User
		column.choose["priority"] = b.Filter.Priority
		fills[i] = func() { errs[i] = v.fillColumn(column) }
	}
	runAll(fills...)
	for i, column := range b.Columns {
		if errs[i] != nil {
			return errs[i]
		}
		b.Any = b.Any || column.Total > 0
	}
	return nil
}

// fillColumn loads one page of a column. The URL contains the cursor of each column under its key.
func (v *visit) fillColumn(c *taskColumn) error {
	fill := v.fillDated
	if c.undated {
		fill = v.fillUndated
	}
	next, err := fill(c, v.r.URL.Query().Get(c.Key))
	if err != nil {
		return err
	}
	c.First, c.More = cursorLinks(v.boardURL(), c.Key, next)
	return nil
}

func (v *visit) fillDated(c *taskColumn, cursor string) (next string, err error) {
	page, err := v.listTasks(c.choose, tasksPerColumn, cursor)
	c.Tasks, c.Total = page.Tasks, page.Total
	return page.NextCursor, err
}

// listTasks calls list_tasks for a page of tasks, starting at a cursor.
func (v *visit) listTasks(choose arguments, limit int, cursor string) (page tasks.ListOut, err error) {
	args := arguments{"limit": limit, "cursor": cursor}
	maps.Copy(args, choose)
	page, _, err = read[tasks.ListOut](v, "list_tasks", args)
	return page, err
}

// fillUndated finds the open tasks without a due date, which list_tasks cannot filter for. It
// searches a bounded number of tasks and returns the cursor at which to continue.
func (v *visit) fillUndated(c *taskColumn, cursor string) (next string, err error) {
	const maxCalls, maxLimit = 6, 300
	dated := arguments{"due_after": "0001-01-01"}
	maps.Copy(dated, c.choose)
	count, err := v.listTasks(dated, 1, "")
	if err != nil {
		return "", err
	}
	limit := tasksPerColumn
	for range maxCalls {
		page, err := v.listTasks(c.choose, limit, cursor)
		if err != nil {
			return "", err
		}
		c.Total = max(0, page.Total-count.Total)
		found := slices.DeleteFunc(slices.Clone(page.Tasks), func(t tasks.Task) bool { return t.DueDate != nil })
		free := tasksPerColumn - len(c.Tasks)
		if len(found) > free {
			limit = free // take only as many as fit, so that the cursor skips none
			continue
		}
		c.Tasks = append(c.Tasks, found...)
		c.Searched += len(page.Tasks)
		if cursor = page.NextCursor; cursor == "" || len(c.Tasks) == tasksPerColumn || c.Total == 0 {
			break
		}
		if limit = tasksPerColumn - len(c.Tasks); len(found) == 0 {
			limit = maxLimit
		}
	}
	if c.Total == 0 {
		cursor = ""
	}
	return cursor, nil
}

// searchTasks fills the board with the tasks that contain a text. Each search reads all tasks of
// the user, so there is one for the whole board instead of one per column.
func (v *visit) searchTasks(b *taskBoard) error {
	const maxFound = 200
	choose := arguments{"user_id": b.User, "priority": b.Filter.Priority, "search": b.Filter.Search}
	page, err := v.listTasks(choose, maxFound, v.r.URL.Query().Get("after"))
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
	b.First, b.Pager.Next = cursorLinks(v.boardURL(), "after", page.NextCursor)
	if b.First != "" || b.Pager.Next != "" {
		b.Pager.Note = fmt.Sprintf("%d of %d matching tasks, newest first", len(page.Tasks), page.Total)
	}
	return nil
}

// holds reports whether a task belongs in the column.
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
