package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
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
	if err == nil {
		err = s.findBlockers(ctx, s.db.reader(ctx), user, page.Tasks)
	}
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
	where, args := s.chosenBy(user, f)
	total := totalOfList
	if len(args) > 1 {
		total = `SELECT count(*) FROM tasks WHERE ` + where
	}
	n := len(args)
	// SQLite would prepare a plain LIMIT $n again for each value.
	query := `SELECT ` + s.columns() + `, (` + total + `) FROM tasks WHERE ` + where +
		` AND id < $` + strconv.Itoa(n+1) + ` ORDER BY id DESC LIMIT CAST($` + strconv.Itoa(n+2) + ` AS BIGINT)`
	row := newTaskRow(&page.Total)
	err = each(ctx, s.db.reader(ctx), query, func(from scanner) error {
		err := row.scan(from)
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
	where, args := s.chosenBy(user, f)
	found, row := tasks.Searcher(f.Search), newTaskRow()
	query := `SELECT ` + s.columns() + ` FROM tasks WHERE ` + where + ` ORDER BY id DESC`
	err = each(ctx, s.db.reader(ctx), query, func(from scanner) error {
		err := row.scan(from)
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
func (s taskLists) chosenBy(user string, f tasks.Filter) (where string, args []any) {
	where, args = `user_id = $1`, []any{user}
	and := func(condition string, value any) {
		args = append(args, value)
		where += ` AND ` + condition + ` $` + strconv.Itoa(len(args))
	}
	if !f.ReadyAt.IsZero() {
		where += ` AND ` + s.ready(`$2`)
		args = append(args, f.ReadyAt.UnixMicro())
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

// taskColumns lists the columns of a task in the order in which taskRow reads them. The last one
// holds a taskExtra, and is NULL for most tasks, so that reading them costs little.
const (
	baseColumns = `id, title, description, completed, priority, due_date, created_at, updated_at`
	taskColumns = baseColumns + `, CASE WHEN depends_on IS NULL AND fence = 0 THEN NULL ELSE `

	taskColumnsSQLite = taskColumns +
		`json_object('depends_on', json(depends_on), 'by', claimed_by, 'until', lease_until, 'fence', fence) END`

	taskColumnsPostgres = taskColumns +
		`json_build_object('depends_on', depends_on::json, 'by', claimed_by, 'until', lease_until, 'fence', fence)::text END`

	openDependenciesSQLite = `FROM json_each(tasks.depends_on) e JOIN tasks d ON d.user_id = tasks.user_id AND d.id = e.value
		WHERE NOT d.completed`

	openDependenciesPostgres = `FROM json_array_elements_text(tasks.depends_on::json) e (id)
		JOIN tasks d ON d.user_id = tasks.user_id AND d.id = e.id::bigint WHERE NOT d.completed`

	openTasks = `SELECT id FROM tasks WHERE user_id = $1 AND NOT completed AND id IN (`

	openTasksSQLite   = openTasks + `SELECT value FROM json_each($2))`
	openTasksPostgres = openTasks + `SELECT json_array_elements_text($2::json)::bigint)`

	ofUser = ` FROM tasks WHERE user_id = $1 AND id = $2`

	taskOfUserSQLite   = `SELECT ` + taskColumnsSQLite + ofUser
	taskOfUserPostgres = `SELECT ` + taskColumnsPostgres + ofUser
	storedTaskSQLite   = `SELECT ` + taskColumnsSQLite + `, ` + restColumns + ofUser
	storedTaskPostgres = `SELECT ` + taskColumnsPostgres + `, ` + restColumns + ofUser
)

// perEngine returns the text for the database.
func (s taskLists) perEngine(sqlite, postgres string) string {
	if s.db.shared {
		return postgres
	}
	return sqlite
}

// findBlockers sets which dependencies of tasks are open. It is a query of its own, because most
// tasks have none: as a part of the columns it would slow down each read.
func (s taskLists) findBlockers(ctx context.Context, on runner, user string, all []tasks.Task) error {
	var ids []int64
	for i := range all {
		ids = append(ids, all[i].DependsOn...)
	}
	if len(ids) == 0 {
		return nil
	}
	query := s.perEngine(openTasksSQLite, openTasksPostgres)
	open, err := collect(ctx, on, query, scanValue[int64], user, jsonText(ids))
	if err != nil {
		return err
	}
	for i := range all {
		t := &all[i]
		for _, id := range t.DependsOn {
			if slices.Contains(open, id) {
				t.BlockedBy = append(t.BlockedBy, id)
			}
		}
	}
	return nil
}

func (s taskLists) columns() string {
	return s.perEngine(taskColumnsSQLite, taskColumnsPostgres)
}

// ready returns the condition for tasks that are ready at the time that a parameter holds.
func (s taskLists) ready(at string) string {
	open := s.perEngine(openDependenciesSQLite, openDependenciesPostgres)
	return `NOT completed AND (lease_until IS NULL OR lease_until <= ` + at + `) AND (depends_on IS NULL OR NOT EXISTS (SELECT 1 ` + open + `))`
}

// taskExtra is what few tasks have.
type taskExtra struct {
	DependsOn []int64 `json:"depends_on"`
	By        *string `json:"by"`
	Until     int64   `json:"until"`
	Fence     int64   `json:"fence"`
}

// taskRow reads tasks one after the other. It reuses its buffers, and allocates only the content of
// each task.
type taskRow struct {
	task             tasks.Task
	description, due sql.NullString
	extra            []byte
	rank             int64
	columns          []any
}

// newTaskRow returns a row with the columns of a task, and more after them.
func newTaskRow(more ...any) *taskRow {
	r := &taskRow{}
	r.columns = append([]any{
		&r.task.ID, &r.task.Title, &r.description, &r.task.Completed, &r.rank, &r.due,
		(*timeColumn)(&r.task.CreatedAt), (*timeColumn)(&r.task.UpdatedAt), &r.extra,
	}, more...)
	return r
}

// scan reads the columns of a task.
func (r *taskRow) scan(row scanner) error {
	if err := row.Scan(r.columns...); err != nil {
		return err
	}
	r.task.Description, r.task.DueDate = textOrNil(r.description), textOrNil(r.due)
	r.task.Priority = priorityOf(r.rank)
	r.task.DependsOn, r.task.BlockedBy, r.task.Claim, r.task.Fence = nil, nil, nil, 0
	if r.extra == nil {
		return nil
	}
	return r.scanExtra()
}

func (r *taskRow) scanExtra() error {
	var e taskExtra
	if err := json.Unmarshal(r.extra, &e); err != nil {
		return fmt.Errorf("read dependencies and claim: %w", err)
	}
	r.task.DependsOn, r.task.Fence = e.DependsOn, e.Fence
	if e.By != nil {
		r.task.Claim = &tasks.Claim{By: *e.By, Until: timeOf(e.Until)}
	}
	return nil
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
