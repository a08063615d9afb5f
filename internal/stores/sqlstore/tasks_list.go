package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"math"
	"slices"
	"strconv"

	"remit/internal/toolsets/tasks"
)

func (s taskLists) List(ctx context.Context, user string, f tasks.Filter, part tasks.Part) (tasks.Page, error) {
	part.Before = cmp.Or(part.Before, math.MaxInt64)
	read := s.page
	if f.Search != "" {
		read = s.search
	}
	page, err := read(ctx, user, f, part)
	if err != nil {
		return tasks.Page{}, taskError("list tasks", err)
	}
	return page, nil
}

// totalOfList takes the same time however long the list is.
const totalOfList = `SELECT total FROM task_lists WHERE user_id = $1`

// usualPage is the initial capacity of a page.
const usualPage = 100

// page reads a page and its total in one statement, so that both are from the same moment.
func (s taskLists) page(ctx context.Context, user string, f tasks.Filter, part tasks.Part) (page tasks.Page, err error) {
	where, args := chosenBy(user, f)
	total := totalOfList
	if len(args) > 1 {
		total = `SELECT count(*) FROM tasks WHERE ` + where
	}
	n := len(args)
	// SQLite would prepare a plain LIMIT $n again for each value.
	query := `SELECT ` + taskColumns + `, (` + total + `) FROM tasks WHERE ` + where +
		` AND id < $` + strconv.Itoa(n+1) + ` ORDER BY id DESC LIMIT CAST($` + strconv.Itoa(n+2) + ` AS BIGINT)`
	row := newTaskRow()
	err = each(ctx, s.db.reader(ctx), query, func(from scanner) error {
		err := row.scan(from, true)
		page.Total = row.total
		addTo(&page, row, part.Limit)
		return err
	}, append(slices.Clip(args), part.Before, part.Limit+1)...)
	if err != nil || len(page.Tasks) > 0 || part.Before == math.MaxInt64 {
		return page, err
	}
	// The page is after the last task, so no row contained the total.
	// No row if the user has never had a task.
	page.Total, _, err = find(ctx, s.db.reader(ctx), total, scanValue[int64], args...)
	return page, err
}

// search reads all tasks that match the rest of the filter and compares the text in Go, because
// SQLite, PostgreSQL and Unicode treat letter case differently.
func (s taskLists) search(ctx context.Context, user string, f tasks.Filter, part tasks.Part) (page tasks.Page, err error) {
	where, args := chosenBy(user, f)
	found, row := tasks.Searcher(f.Search), newTaskRow()
	query := `SELECT ` + taskColumns + ` FROM tasks WHERE ` + where + ` ORDER BY id DESC`
	err = each(ctx, s.db.reader(ctx), query, func(from scanner) error {
		err := row.scan(from, false)
		if err != nil || !found(&row.task) {
			return err
		}
		page.Total++
		if row.task.ID < part.Before {
			addTo(&page, row, part.Limit)
		}
		return nil
	}, args...)
	return page, err
}

// addTo adds a task to a page, unless the page is full.
func addTo(page *tasks.Page, row *taskRow, limit int) {
	if len(page.Tasks) == limit {
		page.More = true
		return
	}
	if page.Tasks == nil {
		page.Tasks = make([]tasks.Task, 0, min(limit, usualPage))
	}
	page.Tasks = append(page.Tasks, row.task)
}

// chosenBy returns the SQL condition for a filter, without its search text. A due date that is NULL
// is neither before nor after any date.
func chosenBy(user string, f tasks.Filter) (where string, args []any) {
	where, args = `user_id = $1`, []any{user}
	and := func(condition string, value any) {
		args = append(args, value)
		where += ` AND ` + condition + ` $` + strconv.Itoa(len(args))
	}
	if f.Status != "" {
		and(`completed =`, f.Status == tasks.Completed)
	}
	if f.Priority != "" {
		and(`priority =`, rankOf(f.Priority))
	}
	if f.DueBefore != "" {
		and(`due_date <`, f.DueBefore)
	}
	if f.DueAfter != "" {
		and(`due_date >`, f.DueAfter)
	}
	return where, args
}

// taskColumns lists the columns of a task in the order in which taskRow reads them.
const taskColumns = `id, title, description, completed, priority, due_date, created_at, updated_at`

// taskRow reads tasks one after the other. It reuses its buffers, and allocates only the content of
// each task.
type taskRow struct {
	task             tasks.Task
	description, due sql.NullString
	rank, total      int64
	columns          []any
}

func newTaskRow() *taskRow {
	r := &taskRow{}
	r.columns = []any{
		&r.task.ID, &r.task.Title, &r.description, &r.task.Completed, &r.rank, &r.due,
		(*timeColumn)(&r.task.CreatedAt), (*timeColumn)(&r.task.UpdatedAt), &r.total,
	}
	return r
}

// scan reads the columns of a task, and the total after them if withTotal is set.
func (r *taskRow) scan(row scanner, withTotal bool) error {
	columns := r.columns
	if !withTotal {
		columns = columns[:len(columns)-1]
	}
	if err := row.Scan(columns...); err != nil {
		return err
	}
	r.task.Description, r.task.DueDate = textOrNil(r.description), textOrNil(r.due)
	r.task.Priority = priorityOf(r.rank)
	return nil
}

func scanUserTask(from scanner) (tasks.Task, error) {
	row := newTaskRow()
	err := row.scan(from, false)
	return row.task, err
}

func textOrNil(s sql.NullString) *string {
	if !s.Valid {
		return nil
	}
	return &s.String
}

// ranks lists the priorities in the order of their stored numbers, beginning with 1.
var ranks = [...]tasks.Priority{tasks.Low, tasks.Medium, tasks.High}

func rankOf(p tasks.Priority) int64 { return int64(slices.Index(ranks[:], p) + 1) }

func priorityOf(rank int64) tasks.Priority {
	if rank < 1 || rank > int64(len(ranks)) {
		return tasks.Medium // edited by hand
	}
	return ranks[rank-1]
}
