package console

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"

	"remit/internal/contract"
	"remit/internal/engine/identity"
	"remit/internal/toolsets/tasks"
)

// taskBoard is the data of the tasks page: the tasks of a user, and the one that is open beside
// them.
type taskBoard struct {
	URL      *url.URL
	User     string
	View     string // list, board or trash
	Filter   taskFilter
	Columns  []*taskColumn
	Any      bool   // there is at least one task
	First    string // URL of the first page of a search; "" on the first page
	Pager    pager  // of a search
	MayWrite bool
	MayUndo  bool // deleted tasks can be restored, and changes taken back
	Form     taskForm
	Unserved *unserved

	Open    *taskPane // nil if no task is open
	Deleted string    // the id of the task that was just deleted
	Trash   []tasks.DeletedTask
	Moves   []taskMove

	waiting map[int64][]requestRow // the open requests about tasks of the user, by task
	today   string
}

// taskFilter selects the tasks on the board, with the words of the command line.
type taskFilter struct {
	Status, Priority, Search string
	Overdue, Today           bool
}

// Filtered reports whether a filter is set.
func (b *taskBoard) Filtered() bool { return b.Filter != taskFilter{} }

// Priorities returns the priorities of tasks, highest first.
func (*taskBoard) Priorities() []string { return []string{"High", "Medium", "Low"} }

// At returns the URL of the board, or of something below it.
func (b *taskBoard) At(below ...any) string {
	u := *b.URL
	u.Path += fmt.Sprint(below...)
	return u.String()
}

// taskView is a view of the tasks.
type taskView struct{ Key, Title string }

// Views returns the views that the person can choose.
func (b *taskBoard) Views() []taskView {
	views := []taskView{{"list", "List"}, {"board", "Board"}}
	if b.MayUndo || b.View == "trash" {
		views = append(views, taskView{"trash", "Deleted"})
	}
	return views
}

// Here returns the URL of the page, as the browser shows it.
func (b *taskBoard) Here() string {
	if b.Open == nil {
		return b.At()
	}
	return b.At("/", b.Open.Task.ID)
}

// TrashDays returns for how many days a deleted task can be restored.
func (*taskBoard) TrashDays() int { return int(tasks.TrashRetention.Hours() / 24) }

// IsOpen reports whether a task is the one that is open.
func (b *taskBoard) IsOpen(id int64) bool { return b.Open != nil && b.Open.Task.ID == id }

// WaitingFor returns the open requests about a task.
func (b *taskBoard) WaitingFor(id int64) []requestRow { return b.waiting[id] }

// StateOf returns what a form says that its person saw of a task.
func (b *taskBoard) StateOf(t tasks.Task) string {
	t.UserID = b.User
	return tasks.ReadState(&t)
}

// Due returns the due date of a task as the list shows it.
func (b *taskBoard) Due(t tasks.Task) string {
	switch {
	case t.DueDate == nil:
		return ""
	case *t.DueDate == b.today:
		return "today"
	}
	return *t.DueDate
}

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

// showTasks responds with the tasks of a user, and with the one of the URL beside them.
func (v *visit) showTasks() error {
	board := v.board()
	if v.r.PathValue("id") != "" && board.Unserved == nil {
		var err error
		if board.Open, err = v.taskPane(board); err != nil {
			return err
		}
	}
	return v.showBoard(http.StatusOK, board)
}

// board returns the board that the URL describes, still without tasks.
func (v *visit) board() *taskBoard {
	q := v.r.URL.Query()
	board := &taskBoard{
		URL: v.boardURL(), User: v.taskUser(), View: cmp.Or(q.Get("view"), "list"), Deleted: q.Get("deleted"),
		Filter: taskFilter{
			Status: q.Get("status"), Priority: q.Get("priority"), Search: q.Get("search"),
			Overdue: slices.Contains(q["due"], "overdue"), Today: slices.Contains(q["due"], "today"),
		},
		MayWrite: v.person.Role >= identity.Approver && v.Engine.Serves("add_task") && v.Engine.Serves("complete_task") &&
			v.Engine.Serves("update_task"),
		Unserved: v.missingTool("tasks", "tasks", "list_tasks"), today: v.Now().UTC().Format(time.DateOnly),
	}
	board.MayUndo, board.Moves = board.MayWrite && v.Own != nil, movesOn(v.Now().UTC())
	return board
}

// showBoard fills a board and responds with it.
func (v *visit) showBoard(status int, board *taskBoard) error {
	if board.Unserved == nil {
		if err := contract.OneOf(board.View, "list", "board", "trash"); err != nil {
			return contract.Errorf(contract.Invalid, "view must be list, board or trash")
		}
		fill := v.fillColumns
		switch {
		case board.View == "trash":
			fill = v.fillTrash
		case board.Filter.Search != "":
			fill = v.searchTasks
		}
		if err := board.choose(v.Now().UTC()); err != nil {
			return err
		}
		v.findTaskRequests(board)
		if err := fill(board); err != nil {
			return err
		}
	}
	return v.pageWith(status, "tasks", "tasks", "Tasks", board)
}

// boardURL returns the URL of the board that a request or its form belongs to.
func (v *visit) boardURL() *url.URL {
	u := *v.r.URL
	q := u.Query()
	q.Del("deleted")
	u.Path, u.RawQuery = "/console/tasks", q.Encode()
	return &u
}

// choose sets the columns that the filter leaves.
func (b *taskBoard) choose(now time.Time) error {
	if err := contract.OneOf(b.Filter.Status, "", "open", "completed"); err != nil {
		return contract.Errorf(contract.Invalid, "status must be open or completed")
	}
	for _, c := range columnsOn(now) {
		dated := b.Filter.Overdue || b.Filter.Today
		switch {
		case dated && (!b.Filter.Overdue || c.Key != "overdue") && (!b.Filter.Today || c.Key != "today"),
			b.Filter.Status != "" && c.choose["status"] != b.Filter.Status:
			continue
		}
		b.Columns = append(b.Columns, c)
	}
	return nil
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
			Key: "tomorrow", Title: "Tomorrow", Empty: "Nothing is due tomorrow.",
			choose: arguments{"status": "open", "due_after": day(0), "due_before": day(2)},
		},
		{
			Key: "week", Title: "This week", Empty: "Nothing is due in the next seven days.",
			choose: arguments{"status": "open", "due_after": day(1), "due_before": day(8)},
		},
		{Key: "later", Title: "Later", Empty: "Nothing is due after that.", choose: arguments{"status": "open", "due_after": day(7)}},
		{Key: "undated", Title: "No date", Empty: "Every open task has a date.", choose: arguments{"status": "open"}, undated: true},
		{Key: "done", Title: "Done", Empty: "Nothing is done yet.", choose: arguments{"status": "completed"}},
	}
}

// taskMove is a column to which a task can be moved, and what a move sets.
type taskMove struct{ Key, Title, Due string }

// movesOn returns the moves on a date. A column of several days gets its last day.
func movesOn(now time.Time) []taskMove {
	day := func(n int) string { return now.AddDate(0, 0, n).Format(time.DateOnly) }
	return []taskMove{
		{"today", "Today", day(0)},
		{"tomorrow", "Tomorrow", day(1)},
		{"week", "This week", day(7)},
		{"later", "Later", day(14)},
		{"undated", "No date", ""},
		{"done", "Done", ""},
	}
}

// TakesDrops reports whether tasks can be moved to the column. Nobody makes a task overdue.
func (c *taskColumn) TakesDrops() bool { return c.Key != "overdue" }

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
	choose := arguments{"user_id": b.User, "priority": b.Filter.Priority, "search": b.Filter.Search, "status": b.Filter.Status}
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
