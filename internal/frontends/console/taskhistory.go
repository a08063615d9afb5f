package console

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"remit/internal/contract/jsontree"
	"remit/internal/visible"
)

// taskHistory is the data of the history of a task.
type taskHistory struct {
	ID         string
	Back       string // the page of the task
	Changes    []pastChange
	Unreadable bool
}

// pastChange is one change of a task.
type pastChange struct {
	origin
	What string
}

// taskHistory responds with who changed a task, and what allowed it. The page of the task loads it
// as a part, because that may take long.
func (v *visit) taskHistory() error {
	user, id := v.taskUser(), v.r.PathValue("id")
	t, err := v.readTask(user, id)
	if err != nil {
		return err
	}
	history := taskHistory{ID: id, Back: v.board().At("/", id)}
	text := `"table":"tasks","id":` + strconv.FormatInt(t.ID, 10) + ","
	found, err := v.origins(t.CreatedAt, text, func(effect *jsontree.Value) bool {
		return textOf(effect, "table") == "tasks" && textOf(effect, "id") == strconv.FormatInt(t.ID, 10)
	})
	history.Unreadable = err != nil
	for _, o := range slices.Backward(found) {
		history.Changes = append(history.Changes, pastChange{o, describeTaskCall(&o.record)})
	}
	if v.r.Header.Get("HX-Request") != "" {
		return v.part("taskhistory", "history", history)
	}
	return v.page("taskhistory", "tasks", "History of task "+id, history)
}

// describeTaskCall says what a call did to a task, as its record has it.
func describeTaskCall(r *jsontree.Value) string {
	_, tool, _ := strings.Cut(textOf(r, "tool"), "/")
	args := r.Field("arguments")
	switch tool {
	case "add_task":
		return "added it"
	case "complete_task":
		return "completed it"
	case "delete_task":
		return "deleted it"
	case "restore_task":
		return "restored it"
	case "undo_task":
		return "took the last change back"
	case "claim_task", "next_task":
		return "claimed it"
	case "release_task":
		return "released the claim"
	case "update_task":
		return describeUpdate(&args)
	}
	return visible.Line(tool)
}

// describeUpdate names the fields that a call of update_task has set.
func describeUpdate(args *jsontree.Value) string {
	var parts []string
	for _, m := range args.Members {
		value := clip(visible.Line(m.Value.Text), 80)
		switch m.Key {
		case "title":
			parts = append(parts, fmt.Sprintf("title: %q", value))
		case "description":
			parts = append(parts, "description")
		case "priority":
			parts = append(parts, "priority: "+value)
		case "due_date":
			parts = append(parts, "due: "+value)
		case "completed":
			parts = append(parts, map[string]string{"true": "completed it", "false": "reopened it"}[value])
		case "depends_on":
			parts = append(parts, "depends on: "+strings.Join(listed(&m.Value), ", "))
		case "clear":
			for _, name := range listed(&m.Value) {
				parts = append(parts, "cleared "+strings.ReplaceAll(visible.Line(name), "_", " "))
			}
		}
	}
	if len(parts) == 0 {
		return "changed it"
	}
	return strings.Join(parts, ", ")
}

// listed returns the elements of a list as texts.
func listed(list *jsontree.Value) []string {
	texts := make([]string, len(list.Members))
	for i := range list.Members {
		texts[i] = list.Members[i].Value.Text
	}
	return texts
}
