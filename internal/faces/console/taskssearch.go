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
