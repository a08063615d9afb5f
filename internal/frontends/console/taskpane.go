package console

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine"
	"remit/internal/toolsets/tasks"
)

// taskPane is the task that is open beside the list, with the form that edits it.
type taskPane struct {
	Task     tasks.Task
	Fields   []taskField
	Seen     string // the state of the task that the form is about
	Requests []requestRow
	Problem  string // why the last form was not accepted
	Approval string // the approval request that the last form waits for
	Fresh    bool   // the form holds what was sent, and the task as it is now
	Clashes  int    // fields that somebody else has changed meanwhile
}

// taskField is a field of a task in the form.
type taskField struct {
	Name, Label, Kind string // Kind is line, text, date, choice
	Was               string // the stored value when the person began
	Value             string // what the person wants
	Theirs            string // what somebody else stored meanwhile, if Clash is set
	Clash             bool
	Hint              string
}

// Changed reports whether the person has changed the field.
func (f taskField) Changed() bool { return f.Value != f.Was }

// fieldsOf returns the fields of a task.
func fieldsOf(t *tasks.Task) []taskField {
	text := func(p *string) string {
		if p == nil {
			return ""
		}
		return *p
	}
	ids := make([]string, len(t.DependsOn))
	for i, id := range t.DependsOn {
		ids[i] = strconv.FormatInt(id, 10)
	}
	fields := []taskField{
		{Name: "title", Label: "Title", Kind: "line", Was: t.Title},
		{Name: "due_date", Label: "Due", Kind: "date", Was: text(t.DueDate)},
		{Name: "priority", Label: "Priority", Kind: "choice", Was: string(t.Priority)},
		{Name: "description", Label: "Description", Kind: "text", Was: newlines(text(t.Description))},
		{Name: "depends_on", Label: "Depends on", Kind: "line", Was: strings.Join(ids, ", "), Hint: "numbers of tasks that must be done first, such as 12, 15"},
	}
	for i := range fields {
		fields[i].Value = fields[i].Was
	}
	return fields
}

// readTask returns a task of a user.
func (v *visit) readTask(user, id string) (t tasks.Task, err error) {
	number, err := strconv.ParseInt(id, 10, 64)
	if err != nil || number < 1 {
		return t, contract.Errorf(contract.NotFound, "Task not found")
	}
	who := engine.Requester{Principal: v.person.Principal(), Frontend: frontendPage}
	contents, err := v.Pages.Read(v.r.Context(), who, fmt.Sprintf("task://%s/%d", url.PathEscape(user), number))
	if err != nil && contract.AsError(err).Kind == contract.NotFound {
		return t, contract.Errorf(contract.NotFound, "Task not found").Because(err)
	}
	if err != nil {
		return t, err
	}
	if err := json.Unmarshal([]byte(contents[0].Text), &t); err != nil {
		return t, fmt.Errorf("read a task: %w", err)
	}
	t.UserID = user
	return t, nil
}

// taskPane returns the task of the URL.
func (v *visit) taskPane(b *taskBoard) (*taskPane, error) {
	t, err := v.readTask(b.User, v.r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	return &taskPane{Task: t, Fields: fieldsOf(&t), Seen: tasks.ReadState(&t)}, nil
}

// maxTaskRequests is how many open requests are searched for those about tasks.
const maxTaskRequests = 1000

// findTaskRequests finds the open requests about the tasks of the board's user.
func (v *visit) findTaskRequests(b *taskBoard) {
	requests, err := v.waiting(v.r.Context(), maxTaskRequests)
	if err != nil {
		v.Log.Debug("reading the requests about tasks failed", "error", err)
		return
	}
	b.waiting = map[int64][]requestRow{}
	for _, r := range requests {
		set, _, _ := strings.Cut(r.Tool, "/")
		args, err := jsontree.Parse(r.Arguments)
		if err != nil || !slices.Contains([]string{"tasks", "tasks-undo"}, set) || textOf(&args, "user_id") != b.User {
			continue
		}
		if id, err := strconv.ParseInt(textOf(&args, "task_id"), 10, 64); err == nil {
			b.waiting[id] = append(b.waiting[id], rowOf(r, v.Now()))
		}
	}
	if b.Open != nil {
		b.Open.Requests = b.waiting[b.Open.Task.ID]
	}
}

// fillTrash lists the deleted tasks that can be restored.
func (v *visit) fillTrash(b *taskBoard) error {
	if v.Own == nil {
		return contract.Errorf(contract.NotFound, "Deleted tasks are not kept here")
	}
	result, err := v.own(frontendPage, "list_deleted_tasks", "", arguments{"user_id": b.User})
	if err != nil {
		return err
	}
	var found tasks.DeletedOut
	err = decode(&result, &found)
	b.Trash = found.Tasks
	return err
}

// sent puts what a form sent into the fields, with what the task was when the person began.
func (p *taskPane) sent(form url.Values) {
	for i := range p.Fields {
		f := &p.Fields[i]
		if !form.Has(f.Name) {
			continue
		}
		f.Value = newlines(form.Get(f.Name))
		if form.Has("was." + f.Name) {
			f.Was = newlines(form.Get("was." + f.Name))
		}
	}
}

// clash finds the fields that both the person and somebody else have changed, and returns their
// number. The form is then about the task as it is now.
func (p *taskPane) clash() int {
	for i, now := range fieldsOf(&p.Task) {
		f := &p.Fields[i]
		f.Clash = f.Changed() && now.Was != f.Was && now.Was != f.Value
		if f.Clash {
			p.Clashes++
			f.Theirs = now.Was
		} else if !f.Changed() {
			f.Value = now.Was
		}
		f.Was = now.Was
	}
	p.Fresh, p.Seen = true, tasks.ReadState(&p.Task)
	return p.Clashes
}

// changes returns the arguments of update_task for the fields that the person has changed.
func (p *taskPane) changes() (arguments, error) {
	args := arguments{}
	var clear []string
	for _, f := range p.Fields {
		switch {
		case !f.Changed():
		case f.Name == "depends_on":
			ids, err := parseTaskIDs(f.Value)
			if err != nil {
				return nil, err
			}
			args[f.Name] = ids
		case f.Value == "" && f.Name != "title" && f.Name != "priority":
			clear = append(clear, f.Name)
		default:
			args[f.Name] = new(f.Value)
		}
	}
	if len(clear) > 0 {
		args["clear"] = clear
	}
	return args, nil
}

// parseTaskIDs parses the numbers of tasks, separated by commas or spaces.
func parseTaskIDs(text string) ([]int64, error) {
	ids := []int64{}
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ',' || r == ' ' }) {
		id, err := strconv.ParseInt(strings.TrimPrefix(word, "#"), 10, 64)
		if err != nil || id < 1 {
			return nil, contract.Errorf(contract.Invalid, "%q is not the number of a task; separate several by commas: 12, 15", clip(word, 40)).
				With("field", "depends_on")
		}
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// failed puts an error into the pane, if people can do something about it; otherwise it returns it.
func (p *taskPane) failed(err error) error {
	failure := contract.AsError(err)
	switch p.Approval = pendingApproval(failure); {
	case p.Approval != "":
	case slices.Contains([]contract.Kind{contract.Invalid, contract.Conflict, contract.NotFound}, failure.Kind):
		p.Problem = cmp.Or(failure.Message, "The change was refused.")
	default:
		return err
	}
	p.Fresh = true
	return nil
}

// Choices returns the values of a field with the kind choice.
func (taskField) Choices() []string { return (*taskBoard)(nil).Priorities() }
