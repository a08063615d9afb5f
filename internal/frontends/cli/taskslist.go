package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"remit/internal/contract/jsontree"
	"remit/internal/visible"
)

// list returns the command that lists tasks. It is used twice: for "tasks" and for "tasks list".
func (t *taskCommands) list(use string) *cobra.Command {
	var all bool
	var limit int
	c := &cobra.Command{Use: use, Args: cobra.NoArgs}
	if use == "list" {
		c.Aliases, c.SuggestFor = []string{"ls"}, []string{"show"}
	}
	given := t.flags(c, taskFlag{"status", "only tasks with this status: open or completed"},
		taskFlag{"priority", "only tasks with this priority: low, medium or high"},
		taskFlag{"search", "only tasks with this text in the title or description"},
		taskFlag{"due-before", "only tasks due before this day"}, taskFlag{"due-after", "only tasks due after this day"})
	c.Flags().BoolVar(&all, "all", false, "include completed tasks")
	c.Flags().IntVar(&limit, "limit", 0, "list at most this many tasks (default: all)")
	c.RunE = t.run(func(cmd *cobra.Command, _ []string) error {
		status := cmd.Flags().Changed("status")
		arguments, err := given()
		switch {
		case cmd.Flags().Changed("limit") && limit < 1:
			err = fmt.Errorf("--limit must be at least 1, not %d", limit)
		case all && status:
			err = errors.New("--all and --status cannot be combined: --all lists every status")
		}
		if err != nil {
			return usageError{err}
		}
		filtered := len(arguments) > 0 || limit > 0
		if !all && !status {
			arguments = slices.Insert(arguments, 0, jsontree.M("status", jsontree.Str("open")))
		}
		tasks, total, err := t.pages(cmd.Context(), limit, arguments)
		if err != nil {
			return t.reported(cmd, err)
		}
		if t.asJSON {
			return writeJSON(t.Stdout, map[string]any{"tasks": tasks, "total": total})
		}
		if len(tasks) == 0 {
			t.printNoTasks(filtered, all)
			return nil
		}
		return t.printTasks(tasks, total.Text)
	})
	return c
}

// taskFlag is a flag whose value becomes an argument of a tool.
type taskFlag struct{ name, about string }

// argumentName returns the name of the tool argument for a flag.
func argumentName(flag string) string {
	if flag == "due" {
		return "due_date"
	}
	return strings.ReplaceAll(flag, "-", "_")
}

// flags adds flags to a command. It returns a function that converts the given flags to arguments.
func (t *taskCommands) flags(c *cobra.Command, flags ...taskFlag) func() ([]jsontree.Member, error) {
	for _, f := range flags {
		c.Flags().String(f.name, "", f.about)
	}
	return func() (arguments []jsontree.Member, err error) {
		for _, f := range flags {
			text, _ := c.Flags().GetString(f.name) // it was just added
			switch {
			case !c.Flags().Changed(f.name):
				continue
			case f.name == "status":
				text = strings.ToLower(text)
			case f.name == "priority":
				text = asPriority(text)
			case strings.HasPrefix(f.name, "due"):
				if text, err = parseDay(text, t.Now()); err != nil {
					return nil, fmt.Errorf("--%s: %w", f.name, err)
				}
			}
			arguments = append(arguments, jsontree.M(argumentName(f.name), jsontree.Str(text)))
		}
		return arguments, nil
	}
}

// asPriority changes the case of a priority to that of the contract.
func asPriority(word string) string {
	_, first := utf8.DecodeRuneInString(word)
	return strings.ToUpper(word[:first]) + strings.ToLower(word[first:])
}

// pages reads pages of tasks until there are no more or limit is reached. A limit of 0 reads all.
func (t *taskCommands) pages(
	ctx context.Context, limit int, arguments []jsontree.Member,
) (tasks []jsontree.Value, total jsontree.Value, err error) {
	tasks = []jsontree.Value{}
	page := arguments
	for {
		data, err := t.call(ctx, "list_tasks", page...)
		if err != nil {
			return nil, total, err
		}
		total = data.Field("total")
		for _, m := range data.Field("tasks").Members {
			if tasks = append(tasks, m.Value); len(tasks) == limit {
				return tasks, total, nil
			}
		}
		cursor := data.Field("nextCursor")
		if cursor.Text == "" {
			return tasks, total, nil
		}
		page = slices.Concat(arguments, []jsontree.Member{jsontree.M("cursor", cursor)})
	}
}

func (t *taskCommands) printTasks(tasks []jsontree.Value, total string) error {
	now := t.Now()
	lines := table{shrink: 1, colour: t.colours()}
	lines.add("ID", "TITLE", "PRIORITY", "DUE", "STATUS")
	for _, task := range tasks {
		s, err := parseTask(task)
		if err != nil {
			return err
		}
		lines.add(strconv.FormatInt(s.ID, 10), s.Title, s.Priority, s.due(now), s.status())
		if s.Priority == "High" && !s.Completed {
			lines.paint(2, yellow)
		}
		if s.overdue(now) {
			lines.paint(3, red)
		}
	}
	lines.write(t.Stdout)
	if strconv.Itoa(len(tasks)) != total {
		fmt.Fprintf(t.Stdout, "Only the newest %d of %s are shown.\n", len(tasks), total)
	}
	return nil
}

// printNoTasks prints that there are no tasks, and what to do next.
func (t *taskCommands) printNoTasks(filtered, all bool) {
	what := "no open tasks"
	if all {
		what = "no tasks"
	}
	if filtered {
		fmt.Fprintf(t.Stdout, "No task of %s matches. Run \"remit tasks --all\" to list all tasks.\n", visible.Line(t.user))
		return
	}
	fmt.Fprintf(t.Stdout, "%s has %s. Add one: remit tasks add Buy milk --due tomorrow\n", visible.Line(t.user), what)
}
