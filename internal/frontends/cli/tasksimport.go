package cli

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/toolsets/tasks"
	"remit/internal/visible"
)

// taskFile is what export writes and import reads.
type taskFile struct {
	Tasks []importedTask `json:"tasks"`

	ignored []string // the names of fields that tasks do not have
}

// importedTask is a task of another list. Its id only serves to find what others depend on.
type importedTask struct {
	ID        int64 `json:"id"`
	Completed bool  `json:"completed"`
	tasks.New
}

// maxTaskFile is the maximum size of a file of tasks.
const maxTaskFile = 64 << 20

func (t *taskCommands) export() *cobra.Command {
	return &cobra.Command{
		Use: "export",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError{fmt.Errorf("the tasks are printed; to write them to a file: remit tasks export > %s", args[0])}
			}
			return nil
		},
		RunE: t.run(func(cmd *cobra.Command, _ []string) error {
			all, total, err := t.pages(cmd.Context(), 0, nil)
			if err != nil {
				return t.reported(cmd, err)
			}
			return writeJSON(t.Stdout, map[string]any{"tasks": all, "total": total})
		}),
	}
}

func (t *taskCommands) importing() *cobra.Command {
	return &cobra.Command{
		Use: "import FILE", Args: exactArgs(1),
		RunE: t.run(func(cmd *cobra.Command, args []string) error {
			file, err := t.readTasks(args[0])
			if err != nil {
				return err
			}
			if len(file.ignored) > 0 {
				fmt.Fprintf(t.Stderr, "remit: ignored, because tasks have no such field: %s; the fields are %s\n",
					visible.Line(strings.Join(convert(file.ignored, strconv.Quote), ", ")), strings.Join(taskFields(), ", "))
			}
			added, before, failed := t.importAll(cmd.Context(), file)
			err = t.show(map[string]any{"imported": len(added), "new": len(added) - before, "already_there": before}, func() {
				fmt.Fprintf(t.Stdout, "Imported %d of %s for %s: %d new, %d already there.\n",
					len(added), contract.Count(len(file.Tasks), "task"), visible.Line(t.user), len(added)-before, before)
			})
			if err != nil || len(failed) == 0 {
				return err
			}
			return t.reported(cmd, failed...)
		}),
	}
}

// readTasks reads a file of tasks, or stdin if its name is "-".
func (t *taskCommands) readTasks(name string) (*taskFile, error) {
	from := t.Stdin
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, fmt.Errorf("read tasks: %w", err)
		}
		defer file.Close()
		from = file
	}
	data, err := io.ReadAll(io.LimitReader(from, maxTaskFile+1))
	if err != nil {
		return nil, fmt.Errorf("read tasks: %w", err)
	}
	file, err := parseTaskFile(data)
	if err != nil {
		return nil, fmt.Errorf("%s is not a file of tasks: %w; \"remit tasks export\" writes one", name, err)
	}
	return file, nil
}

// parseTaskFile parses what export writes, or only the list in it. The tools check the content. A
// task without an id gets one that no other task has.
func parseTaskFile(data []byte) (*taskFile, error) {
	if len(data) > maxTaskFile {
		return nil, fmt.Errorf("it is larger than %s", size(maxTaskFile))
	}
	// The byte order mark that Windows programs write.
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	var file taskFile
	var names struct {
		Tasks []map[string]json.RawMessage `json:"tasks"`
	}
	into, intoNames := any(&file), any(&names)
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("[")) {
		into, intoNames = &file.Tasks, &names.Tasks
	}
	err := json.Unmarshal(data, into)
	wrong, isWrong := errors.AsType[*json.UnmarshalTypeError](err)
	switch {
	case isWrong:
		field := wrong.Field[strings.LastIndexByte(wrong.Field, '.')+1:]
		return nil, fmt.Errorf("%s cannot be a JSON %s", cmp.Or(field, "a task"), wrong.Value)
	case err != nil:
		return nil, fmt.Errorf("it is not JSON: %w", err)
	case file.Tasks == nil:
		return nil, errors.New(`it has no "tasks"`)
	}
	for i := range file.Tasks {
		if file.Tasks[i].ID == 0 {
			file.Tasks[i].ID = -int64(i + 1)
		}
	}
	if err := json.Unmarshal(data, intoNames); err != nil {
		return nil, err
	}
	file.ignored = unknownFields(names.Tasks)
	return &file, nil
}

// unknownFields returns the names in tasks that are no fields of a task, sorted, at most 5 of them.
func unknownFields(list []map[string]json.RawMessage) []string {
	known, unknown := taskFields(), map[string]bool{}
	for _, task := range list {
		for name := range task {
			if !slices.ContainsFunc(known, func(k string) bool { return strings.EqualFold(k, name) }) {
				unknown[name] = true
			}
		}
	}
	all := slices.Sorted(maps.Keys(unknown))
	return all[:min(len(all), 5)]
}

// taskFields returns the names of the fields that export writes.
func taskFields() (names []string) {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[tasks.Task]()) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "-" {
			names = append(names, name)
		}
	}
	return names
}

// importAll adds the tasks, the oldest first, and then sets what they depend on. It goes on after a
// failure. Each call has a key that depends on the content, so that a repeated import adds nothing.
// before is the number of tasks in added that an earlier import has added.
func (t *taskCommands) importAll(ctx context.Context, file *taskFile) (added map[int64]jsontree.Value, before int, failed []error) {
	added = map[int64]jsontree.Value{}
	each := func(do func(task *importedTask) error) {
		for i := len(file.Tasks) - 1; i >= 0; i-- {
			task := &file.Tasks[i]
			if err := do(task); err != nil {
				failed = append(failed, fmt.Errorf("%s: %w", task, err))
			}
		}
	}
	each(func(task *importedTask) error {
		if _, twice := added[task.ID]; twice {
			return &refusal{message: "the id occurs twice"}
		}
		data, replayed, err := t.callOnce(ctx, task.key(t.user), "add_task", task.arguments()...)
		id := data.Field("id")
		if err == nil && replayed {
			err = t.stillThere(ctx, id.Text)
		}
		if err == nil {
			added[task.ID] = id
			if replayed {
				before++
			}
		}
		return err
	})
	each(func(task *importedTask) error {
		id, ok := added[task.ID]
		if !ok {
			return nil // reported already
		}
		return t.finish(ctx, task, id, added)
	})
	return added, before, failed
}

// stillThere returns an error if a task that was imported before has been deleted since.
func (t *taskCommands) stillThere(ctx context.Context, id string) error {
	_, err := t.read(ctx, id)
	if r, ok := errors.AsType[*refusal](err); ok && r.kind == contract.NotFound {
		return &refusal{message: fmt.Sprintf("it was imported before as #%[1]s and deleted; run \"remit tasks restore %[1]s\"", id)}
	}
	return err
}

// finish sets what a task depends on, if that was imported too, and whether it is completed.
func (t *taskCommands) finish(ctx context.Context, task *importedTask, id jsontree.Value, added map[int64]jsontree.Value) error {
	arguments := []jsontree.Member{jsontree.M("task_id", id)}
	var dependsOn []jsontree.Value
	for _, other := range task.DependsOn {
		if id, ok := added[other]; ok {
			dependsOn = append(dependsOn, id)
		}
	}
	if len(dependsOn) > 0 {
		arguments = append(arguments, jsontree.M("depends_on", jsontree.Arr(dependsOn...)))
	}
	if task.Completed {
		arguments = append(arguments, jsontree.M("completed", jsontree.Boolean(true)))
	}
	if len(arguments) == 1 {
		return nil
	}
	_, err := t.call(ctx, "update_task", arguments...)
	return err
}

// String names the task in messages.
func (task *importedTask) String() string {
	if task.ID < 0 {
		return fmt.Sprintf("task %d of the list (%.60q)", -task.ID, task.Title)
	}
	return fmt.Sprintf("task %d of the file (%.60q)", task.ID, task.Title)
}

// key returns the idempotency key with which a task is imported for a user.
func (task *importedTask) key(user string) string {
	content, _ := json.Marshal([]any{user, task}) // texts and numbers never fail
	sum := sha256.Sum256(content)
	return "import-" + hex.EncodeToString(sum[:16])
}

// arguments returns the arguments of add_task.
func (task *importedTask) arguments() []jsontree.Member {
	arguments := []jsontree.Member{jsontree.M("title", jsontree.Str(task.Title))}
	if task.Description != nil {
		arguments = append(arguments, jsontree.M("description", jsontree.Str(*task.Description)))
	}
	if task.Priority != "" {
		arguments = append(arguments, jsontree.M("priority", jsontree.Str(string(task.Priority))))
	}
	if task.DueDate != nil {
		arguments = append(arguments, jsontree.M("due_date", jsontree.Str(*task.DueDate)))
	}
	return arguments
}
