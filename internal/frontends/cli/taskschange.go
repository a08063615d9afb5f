package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"remit/internal/contract/jsontree"
	"remit/internal/toolsets/tasks"
)

func (t *taskCommands) add() *cobra.Command {
	c := &cobra.Command{
		Use:     "add TITLE",
		Aliases: []string{"new", "create"},
		Args:    atLeastOneArg("the title is missing: remit tasks add TITLE"),
	}
	given := t.flags(c, taskFlag{"description", "description of the task"},
		taskFlag{"priority", "low, medium or high (default medium)"}, taskFlag{"due", "due day"}, dependsFlag)
	c.RunE = t.run(func(cmd *cobra.Command, args []string) error {
		more, err := given()
		if err != nil {
			return usageError{err}
		}
		title := jsontree.M("title", jsontree.Str(strings.Join(args, " ")))
		return t.change(cmd, "Added", "add_task", append([]jsontree.Member{title}, more...)...)
	})
	return c
}

func (t *taskCommands) edit() *cobra.Command {
	var emptied []string
	var done, reopen bool
	c := &cobra.Command{
		Use: "edit ID", Aliases: []string{"update"}, Args: exactArgs(1), ValidArgsFunction: t.completeTask(1, ""),
	}
	given := t.flags(c, taskFlag{"title", "new title"}, taskFlag{"description", "new description"},
		taskFlag{"priority", "new priority: low, medium or high"}, taskFlag{"due", "new due day"}, dependsFlag)
	c.RunE = t.run(func(cmd *cobra.Command, args []string) error {
		if done && reopen {
			return usageError{errors.New("--done and --reopen cannot be combined")}
		}
		more, err := given()
		if err != nil {
			return usageError{err}
		}
		arguments := append([]jsontree.Member{jsontree.M("task_id", jsontree.Str(taskID(args[0])))}, more...)
		if done || reopen {
			arguments = append(arguments, jsontree.M("completed", jsontree.Boolean(done)))
		}
		if len(emptied) > 0 {
			arguments = append(arguments, jsontree.M("clear", fieldNames(emptied)))
		}
		return t.change(cmd, "Changed", "update_task", arguments...)
	})
	c.Flags().StringSliceVar(&emptied, "clear", nil, "fields to clear: due, description, or both separated by a comma")
	c.Flags().BoolVar(&done, "done", false, "mark the task as completed")
	c.Flags().BoolVar(&reopen, "reopen", false, "mark the task as open again")
	return c
}

// fieldNames converts the values of --clear to the field names of the contract.
func fieldNames(words []string) jsontree.Value {
	names := make([]jsontree.Value, len(words))
	for i, word := range words {
		if word = strings.ToLower(strings.TrimSpace(word)); word == "due" {
			word = "due_date"
		}
		names[i] = jsontree.Str(word)
	}
	return jsontree.Arr(names...)
}

// taskID removes a leading # from an id.
func taskID(text string) string { return strings.TrimPrefix(text, "#") }

// change calls a tool that returns a task, and prints the task.
func (t *taskCommands) change(cmd *cobra.Command, verb, tool string, arguments ...jsontree.Member) error {
	data, err := t.call(cmd.Context(), tool, arguments...)
	if err != nil {
		return t.reported(cmd, err)
	}
	if t.asJSON {
		return writeJSON(t.Stdout, data)
	}
	s, err := parseTask(data)
	if err != nil {
		return err
	}
	t.printChanged(verb, s)
	return nil
}

// printChanged prints a task that was changed, in one line.
func (t *taskCommands) printChanged(verb string, s taskView) {
	about := []string{s.status(), s.Priority}
	if s.Due != "" {
		about = append(about, "due "+s.due(t.Now()))
	}
	fmt.Fprintf(t.Stdout, "%s #%d: %s (%s)\n", verb, s.ID, s.Title, strings.Join(about, ", "))
}

// changed returns a function that prints the answer of a tool that returns a task.
func (t *taskCommands) changed(verb string) func(string, jsontree.Value) error {
	return func(_ string, data jsontree.Value) error {
		s, err := parseTask(data)
		if err == nil {
			t.printChanged(verb, s)
		}
		return err
	}
}

func (t *taskCommands) done() *cobra.Command {
	c := t.forEach("done", "complete_task", func(id string, data jsontree.Value) error {
		s, err := parseTask(data)
		if err == nil {
			fmt.Fprintf(t.Stdout, "Done #%s: %s\n", id, s.Title)
		}
		return err
	})
	c.Aliases, c.ValidArgsFunction = []string{"complete"}, t.completeTask(anyNumber, tasks.Open)
	return c
}

func (t *taskCommands) reopen() *cobra.Command {
	c := t.forEach("reopen", "update_task", t.changed("Reopened"), jsontree.M("completed", jsontree.Boolean(false)))
	c.ValidArgsFunction = t.completeTask(anyNumber, tasks.Completed)
	return c
}

func (t *taskCommands) release() *cobra.Command {
	var force bool
	say := func(id string, data jsontree.Value) error {
		s, err := parseTask(data)
		if err == nil {
			fmt.Fprintf(t.Stdout, "Released #%s: %s\n", id, s.Title)
		}
		return err
	}
	c := t.forEach("release", "release_task", say)
	c.ValidArgsFunction = t.completeTask(anyNumber, tasks.Open)
	c.RunE = t.run(func(cmd *cobra.Command, args []string) error {
		return t.each(cmd, args, "release_task", say, jsontree.M("force", jsontree.Boolean(force)))
	})
	c.Flags().BoolVar(&force, "force", false, "take the task away from an agent that works on it")
	return c
}

func (t *taskCommands) remove() *cobra.Command {
	c := t.forEach("rm", "delete_task", func(id string, _ jsontree.Value) error {
		fmt.Fprintf(t.Stdout, t.hint("Deleted #%[1]s (to restore it within 30 days: remit tasks restore %[1]s)\n"), id)
		return nil
	})
	c.Aliases, c.ValidArgsFunction = []string{"delete", "remove"}, t.completeTask(anyNumber, "")
	return c
}

// forEach returns a command that calls a tool for each id. Its error for a missing id mentions
// quotes, because a shell takes an unquoted #12 as a comment.
func (t *taskCommands) forEach(
	verb, tool string, say func(id string, data jsontree.Value) error, more ...jsontree.Member,
) *cobra.Command {
	return &cobra.Command{
		Use:  verb + " ID...",
		Args: atLeastOneArg("a task id is missing: remit tasks " + verb + " ID... (12, or '#12' in quotes)"),
		RunE: t.run(func(cmd *cobra.Command, args []string) error { return t.each(cmd, args, tool, say, more...) }),
	}
}

// each calls a tool for every id. It continues after a failure and reports all failures at the end.
func (t *taskCommands) each(
	cmd *cobra.Command, ids []string, tool string, say func(id string, data jsontree.Value) error, more ...jsontree.Member,
) error {
	answers := []jsontree.Value{}
	var failed []error
	for _, id := range ids {
		id = taskID(id)
		data, err := t.call(cmd.Context(), tool, append([]jsontree.Member{jsontree.M("task_id", jsontree.Str(id))}, more...)...)
		if err == nil && t.asJSON {
			answers = append(answers, data)
		} else if err == nil {
			err = say(id, data)
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("#%s: %w", id, err))
		}
	}
	if t.asJSON {
		if err := writeJSON(t.Stdout, answers); err != nil {
			return err
		}
	}
	if len(failed) == 0 {
		return nil
	}
	return t.reported(cmd, failed...)
}
