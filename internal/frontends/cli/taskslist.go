package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"remit/internal/contract/jsontree"
	"remit/internal/visible"
)

// list returns the command that lists tasks. It is used twice: for "tasks" and for "tasks list".
func (t *taskCommands) list(use string) *cobra.Command {
	var all bool
	var limit int
	var due dueFilter
	c := &cobra.Command{Use: use, Args: cobra.NoArgs}
	if use == "list" {
		c.Aliases = []string{"ls"}
	}
	given := t.flags(c, taskFlag{"status", "only tasks with this status: open or completed"},
		taskFlag{"priority", "only tasks with this priority: low, medium or high"},
		taskFlag{"search", "only tasks with this text in the title or description"},
		taskFlag{"text", "the same as --search"},
		taskFlag{"due-before", "only tasks due before this day"}, taskFlag{"due-after", "only tasks due after this day"})
	due.addFlags(c)
	c.Flags().BoolVar(&all, "all", false, "include completed tasks")
	c.Flags().IntVar(&limit, "limit", 0, "list at most this many tasks (default: all)")
	c.RunE = t.run(func(cmd *cobra.Command, _ []string) error {
		status := cmd.Flags().Changed("status")
		arguments, err := given()
		if err == nil {
			arguments, err = due.apply(cmd, arguments, t.Now())
		}
		switch {
		case err != nil:
		case cmd.Flags().Changed("limit") && limit < 1:
			err = fmt.Errorf("--limit must be at least 1, not %d", limit)
		case all && status:
			err = errors.New("--all and --status cannot be combined: --all lists every status")
		case cmd.Flags().Changed("text") && cmd.Flags().Changed("search"):
			err = errors.New("--text and --search cannot be combined: they are the same")
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
			t.printNoTasks(filtered, all, cmd.Flags().Changed("user"))
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
	switch flag {
	case "due":
		return "due_date"
	case "text":
		return "search"
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
			case f == dependsFlag:
				ids, err := parseIDs(text)
				if err != nil {
					return nil, err
				}
				arguments = append(arguments, jsontree.M("depends_on", ids))
				continue
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

// dependsFlag names the tasks that must be completed first.
var dependsFlag = taskFlag{"depends-on", "ids of the tasks that must be completed first, such as 12,14"}

// parseIDs converts a list of ids to an array. An empty text is an empty array.
func parseIDs(text string) (jsontree.Value, error) {
	ids := []jsontree.Value{}
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ',' || r == ' ' }) {
		id, err := strconv.ParseInt(taskID(word), 10, 64)
		if err != nil {
			return jsontree.Value{}, fmt.Errorf("--depends-on: %q is not the id of a task; use 12 or 12,14", word)
		}
		ids = append(ids, jsontree.Int(id))
	}
	return jsontree.Arr(ids...), nil
}

// dueFilter holds the flags that select tasks by their due day, seen from today.
type dueFilter struct{ overdue, today bool }

func (f *dueFilter) addFlags(c *cobra.Command) {
	c.Flags().BoolVar(&f.overdue, "overdue", false, "only open tasks whose due day has passed")
	c.Flags().BoolVar(&f.today, "today", false, "only tasks due today")
}

// apply adds the arguments for the flags. Both flags together select what is due by today.
func (f *dueFilter) apply(cmd *cobra.Command, arguments []jsontree.Member, now time.Time) ([]jsontree.Member, error) {
	if !f.overdue && !f.today {
		return arguments, nil
	}
	for _, other := range []string{"due-before", "due-after"} {
		if cmd.Flags().Changed(other) {
			return nil, fmt.Errorf("--%s cannot be combined with --overdue and --today", other)
		}
	}
	if f.overdue && (cmd.Flags().Changed("status") || cmd.Flags().Changed("all")) {
		return nil, errors.New("--overdue cannot be combined with --status and --all: only open tasks are overdue")
	}
	day := func(n int) jsontree.Value { return jsontree.Str(dayAfter(now, n)) }
	if !f.today {
		return append(arguments, jsontree.M("due_before", day(0))), nil
	}
	if !f.overdue {
		arguments = append(arguments, jsontree.M("due_after", day(-1)))
	}
	return append(arguments, jsontree.M("due_before", day(1))), nil
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
	if t.isNew { // reading creates no database
		return tasks, jsontree.Int(0), nil
	}
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

// printNoTasks prints that there are no tasks, and what to do next. named is set if --user was
// given.
func (t *taskCommands) printNoTasks(filtered, all, named bool) {
	what, flag := "no open tasks", ""
	if named {
		flag = " --user " + visible.Line(t.user)
	}
	if all {
		what = "no tasks"
	}
	if filtered {
		fmt.Fprintf(t.Stdout, t.hint("No task of %s matches. Run \"remit tasks --all%s\" to list all tasks.\n"), visible.Line(t.user), flag)
		return
	}
	fmt.Fprintf(t.Stdout, t.hint("%s has %s. Add one: remit tasks add Buy milk --due tomorrow%s\n"), visible.Line(t.user), what, flag)
}
