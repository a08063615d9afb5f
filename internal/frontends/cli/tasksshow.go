package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine"
	"remit/internal/visible"
)

// showing returns the command that shows tasks in full.
func (t *taskCommands) showing() *cobra.Command {
	return &cobra.Command{
		Use: "show ID...", Aliases: []string{"view", "get"}, ValidArgsFunction: t.completeTask(anyNumber, ""),
		Args: atLeastOneArg("a task id is missing: remit tasks show ID... (12, or '#12' in quotes)"),
		RunE: t.run(func(cmd *cobra.Command, args []string) error {
			found := []jsontree.Value{}
			var failed []error
			for _, id := range args {
				task, err := t.read(cmd.Context(), taskID(id))
				if err != nil {
					failed = append(failed, fmt.Errorf("#%s: %w", taskID(id), err))
					continue
				}
				found = append(found, task)
			}
			if err := t.printShown(found); err != nil || len(failed) == 0 {
				return err
			}
			return t.reported(cmd, failed...)
		}),
	}
}

// read returns a task, which is a resource.
func (t *taskCommands) read(ctx context.Context, id string) (jsontree.Value, error) {
	if n, err := strconv.ParseInt(id, 10, 64); err != nil || n < 1 {
		return jsontree.Value{}, &refusal{kind: contract.Invalid, message: "Task ID must be a positive integer"}
	}
	w, err := t.session.workspace(ctx)
	if err != nil {
		return jsontree.Value{}, err
	}
	who := engine.Requester{Principal: LocalPrincipal, Frontend: "cli", Client: "remit/" + t.Version, Peer: terminal{t.Program}}
	contents, err := w.Engine().Read(ctx, who, "task://"+url.PathEscape(t.user)+"/"+id)
	if e, ok := errors.AsType[*contract.Error](err); ok && e.Kind == contract.NotFound {
		return jsontree.Value{}, &refusal{kind: contract.NotFound, message: "Task not found"}
	}
	if err != nil {
		return jsontree.Value{}, err
	}
	task, err := jsontree.ParseTrusted([]byte(contents[0].Text))
	if err != nil {
		return task, fmt.Errorf("read a task: %w", err)
	}
	return task, nil
}

func (t *taskCommands) printShown(found []jsontree.Value) error {
	if t.asJSON {
		return writeJSON(t.Stdout, found)
	}
	for i, task := range found {
		s, err := parseTask(task)
		if err != nil {
			return err
		}
		if i > 0 {
			fmt.Fprintln(t.Stdout)
		}
		t.printTask(s)
	}
	return nil
}

// printTask prints all fields of a task.
func (t *taskCommands) printTask(s taskView) {
	fmt.Fprintf(t.Stdout, "#%d %s\n", s.ID, s.Title)
	field := func(name, value string) {
		if value != "" {
			fmt.Fprintf(t.Stdout, "%-12s%s\n", name+":", value)
		}
	}
	field("Status", s.status())
	field("Priority", s.Priority)
	field("Due", s.due(t.Now()))
	field("Depends on", numbered(s.DependsOn))
	field("Blocked by", numbered(s.BlockedBy))
	if s.Claim != nil {
		field("Claimed by", visible.Line(s.Claim.By)+" until "+t.moment(s.Claim.Until.Format(time.RFC3339)))
	}
	field("Created", t.moment(s.Created))
	field("Changed", t.moment(s.Updated))
	if s.Description != "" {
		fmt.Fprintf(t.Stdout, "\n%s\n", s.Description)
	}
}

// numbered returns ids as a text.
func numbered(ids []int64) string {
	return strings.Join(convert(ids, func(id int64) string { return "#" + strconv.FormatInt(id, 10) }), ", ")
}

// restore returns the command that restores deleted tasks, or lists them.
func (t *taskCommands) restore() *cobra.Command {
	return &cobra.Command{
		Use: "restore [ID...]", Aliases: []string{"trash"},
		RunE: t.run(func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return t.each(cmd, args, "restore_task", t.changed("Restored"))
			}
			data, err := t.call(cmd.Context(), "list_deleted_tasks")
			if err != nil {
				return t.reported(cmd, err)
			}
			if t.asJSON {
				return writeJSON(t.Stdout, data)
			}
			return t.printDeleted(data.Field("tasks"))
		}, undoTools),
	}
}

func (t *taskCommands) printDeleted(deleted jsontree.Value) error {
	lines := table{shrink: 1, empty: cmp.Or(visible.Line(t.user), "The user") + " has deleted no task in the last 30 days."}
	lines.add("ID", "TITLE", "PRIORITY", "DUE", "DELETED")
	for _, m := range deleted.Members {
		s, err := parseTask(m.Value)
		if err != nil {
			return err
		}
		lines.add(strconv.FormatInt(s.ID, 10), s.Title, s.Priority, s.Due, t.moment(s.Deleted))
	}
	lines.write(t.Stdout)
	return nil
}

// undo returns the command that takes back the last change of tasks.
func (t *taskCommands) undo() *cobra.Command {
	say := t.changed("Undone:")
	c := t.forEach("undo", "undo_task", say)
	c.RunE = t.run(func(cmd *cobra.Command, args []string) error { return t.each(cmd, args, "undo_task", say) }, undoTools)
	c.ValidArgsFunction = t.completeTask(anyNumber, "")
	return c
}
