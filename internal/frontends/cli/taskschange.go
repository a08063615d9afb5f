package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"remit/internal/contract/jsontree"
)

func (t *taskCommands) add() *cobra.Command {
	c := &cobra.Command{Use: "add TITLE", Args: some("a task needs a title: remit tasks add TITLE")}
	given := t.flags(c, taskFlag{"description", "what there is to say about it"},
		taskFlag{"priority", "low, medium or high; medium if not given"}, taskFlag{"due", "the day it is due"})
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
	c := &cobra.Command{Use: "edit ID", Args: exactly(1)}
	given := t.flags(c, taskFlag{"title", "a new title"}, taskFlag{"description", "a new description"},
		taskFlag{"priority", "low, medium or high"}, taskFlag{"due", "the day it is due"})
	c.RunE = t.run(func(cmd *cobra.Command, args []string) error {
		if done && reopen {
			return usageError{errors.New("--done and --reopen exclude each other")}
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
	c.Flags().StringSliceVar(&emptied, "clear", nil, "what to empty: due, description or both, separated by a comma")
	c.Flags().BoolVar(&done, "done", false, "complete it")
	c.Flags().BoolVar(&reopen, "reopen", false, "open it again")
	return c
}

// fieldNames are the names that the contract has for what is to be emptied.
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

// taskID takes the sign off that people write before a number.
func taskID(text string) string { return strings.TrimPrefix(text, "#") }

// change calls a tool that answers with a task, and says what became of it.
func (t *taskCommands) change(cmd *cobra.Command, verb, tool string, arguments ...jsontree.Member) error {
	data, err := t.call(cmd.Context(), tool, arguments...)
	if err != nil {
		return t.told(cmd, err)
	}
	if t.asJSON {
		return writeJSON(t.Stdout, data)
	}
	s, err := shown(data)
	if err != nil {
		return err
	}
	about := []string{s.status(), s.Priority}
	if s.Due != "" {
		about = append(about, "due "+s.due(t.Now()))
	}
	fmt.Fprintf(t.Stdout, "%s #%d: %s (%s)\n", verb, s.ID, s.Title, strings.Join(about, ", "))
	return nil
}

func (t *taskCommands) done() *cobra.Command {
	return t.forEach("done", "complete_task", func(id string, data jsontree.Value) error {
		s, err := shown(data)
		if err == nil {
			fmt.Fprintf(t.Stdout, "Done #%s: %s\n", id, s.Title)
		}
		return err
	})
}

func (t *taskCommands) remove() *cobra.Command {
	return t.forEach("rm", "delete_task", func(id string, _ jsontree.Value) error {
		fmt.Fprintf(t.Stdout, "Deleted #%s\n", id)
		return nil
	})
}

// forEach makes a command that calls a tool for one id or more. A shell takes #12 for a
// comment, so that none arrives.
func (t *taskCommands) forEach(verb, tool string, say func(id string, data jsontree.Value) error) *cobra.Command {
	return &cobra.Command{
		Use:  verb + " ID...",
		Args: some("name at least one task: remit tasks " + verb + " ID... (12, or '#12' in quotes)"),
		RunE: t.run(func(cmd *cobra.Command, args []string) error { return t.each(cmd, args, tool, say) }),
	}
}

// each calls a tool for every id, whatever became of the one before, and tells
// each failure.
func (t *taskCommands) each(cmd *cobra.Command, ids []string, tool string, say func(id string, data jsontree.Value) error) error {
	answers := []jsontree.Value{}
	var failed []error
	for _, id := range ids {
		id = taskID(id)
		data, err := t.call(cmd.Context(), tool, jsontree.M("task_id", jsontree.Str(id)))
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
	return t.told(cmd, failed...)
}
