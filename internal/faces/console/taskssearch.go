package console

import (
	"fmt"

	"remit/internal/toolsets/tasks"
)

// searchTasks fills the board with the tasks that have a text. Each question for a text
// looks through all tasks of the user, so there is one for the whole board, and not one
// a column.
func (v *visit) searchTasks(b *taskBoard) error {
	const most = 200
	cursor := v.r.URL.Query().Get("after")
	page, err := v.listTasks(arguments{"user_id": b.User, "priority": b.Filter.Priority, "search": b.Filter.Search}, most, cursor)
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
	if cursor != "" {
		b.First, err = query(v.boardURL(), "after", "")
	}
	if page.NextCursor != "" && err == nil {
		b.Pager.Next, err = query(v.boardURL(), "after", page.NextCursor)
	}
	if b.First != "" || b.Pager.Next != "" {
		b.Pager.Note = fmt.Sprintf("%d of %d that fit, the newest first", len(page.Tasks), page.Total)
	}
	return err
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
