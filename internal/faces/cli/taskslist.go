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
	"remit/internal/engine/approval"
)

// tasksFilter is which tasks a person wants to see.
type tasksFilter struct {
	all                                           bool
	status, priority, dueBefore, dueAfter, search string
	limit                                         int
}

// list makes the command that lists tasks. It has two names: the group itself, and
// the word for those who look for one.
func (t *taskCommands) list(use string) *cobra.Command {
	var f tasksFilter
	c := &cobra.Command{
		Use:   use,
		Short: "List tasks, newest first",
		Long:  "List tasks, newest first: the open ones, if nothing else is asked for.\nA day is " + dayForms + ".",
		Example: "  remit tasks list\n" +
			"  remit tasks list --priority high --due-before +7d\n" +
			"  remit tasks list --all --search milk --json",
		Args: cobra.NoArgs,
	}
	c.RunE = t.run(func(cmd *cobra.Command, _ []string) error {
		arguments, err := t.filterArguments(cmd, f)
		if err != nil {
			return usageError{err}
		}
		tasks, total, err := t.pages(cmd.Context(), f.limit, arguments)
		if err != nil {
			return t.told(cmd, err)
		}
		if t.asJSON {
			return writeJSON(t.Stdout, struct {
				Tasks []jsontree.Value `json:"tasks"`
				Total jsontree.Value   `json:"total"`
			}{tasks, total})
		}
		return t.printTasks(tasks, total.Text, f)
	})
	flags := c.Flags()
	flags.BoolVar(&f.all, "all", false, "completed tasks too")
	flags.StringVar(&f.status, "status", "", "only those that are open, or completed")
	flags.StringVar(&f.priority, "priority", "", "only those of this priority: low, medium or high")
	flags.StringVar(&f.dueBefore, "due-before", "", "only those due earlier than this day")
	flags.StringVar(&f.dueAfter, "due-after", "", "only those due later than this day")
	flags.StringVar(&f.search, "search", "", "only those with this text in title or description")
	flags.IntVar(&f.limit, "limit", 0, "how many tasks at the most; all if not given")
	return c
}

// filterArguments turns what a person asked for into what list_tasks takes.
func (t *taskCommands) filterArguments(cmd *cobra.Command, f tasksFilter) ([]jsontree.Member, error) {
	given := cmd.Flags().Changed
	if given("limit") && f.limit < 1 {
		return nil, fmt.Errorf("--limit must be at least 1, not %d", f.limit)
	}
	if f.all && given("status") {
		return nil, errors.New("--all and --status exclude each other: --all is every status")
	}
	var arguments []jsontree.Member
	put := func(flag, name, text string) {
		if given(flag) {
			arguments = append(arguments, jsontree.M(name, jsontree.Str(text)))
		}
	}
	if !f.all && !given("status") {
		arguments = append(arguments, jsontree.M("status", jsontree.Str("open")))
	}
	put("status", "status", strings.ToLower(f.status))
	put("priority", "priority", asPriority(f.priority))
	put("search", "search", f.search)
	days, err := t.days(cmd, flagged{"due-before", "due_before", f.dueBefore}, flagged{"due-after", "due_after", f.dueAfter})
	return append(arguments, days...), err
}

// flagged is the value of a flag, and the argument that it becomes.
type flagged struct{ flag, argument, text string }

// days reads the flags that name a day, those that are given.
func (t *taskCommands) days(cmd *cobra.Command, flags ...flagged) ([]jsontree.Member, error) {
	var arguments []jsontree.Member
	for _, f := range flags {
		if !cmd.Flags().Changed(f.flag) {
			continue
		}
		day, err := parseDay(f.text, t.Now())
		if err != nil {
			return nil, fmt.Errorf("--%s: %w", f.flag, err)
		}
		arguments = append(arguments, jsontree.M(f.argument, jsontree.Str(day)))
	}
	return arguments, nil
}

// asPriority spells a priority as the contract does, whatever a person typed.
func asPriority(word string) string {
	_, first := utf8.DecodeRuneInString(word)
	return strings.ToUpper(word[:first]) + strings.ToLower(word[first:])
}

// pages reads one page after the other, until there are no more or there are
// enough. Limit 0 is all.
func (t *taskCommands) pages(ctx context.Context, limit int, arguments []jsontree.Member) (tasks []jsontree.Value, total jsontree.Value, err error) {
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

func (t *taskCommands) printTasks(tasks []jsontree.Value, total string, f tasksFilter) error {
	if len(tasks) == 0 {
		t.printNothing(f)
		return nil
	}
	now := t.Now()
	lines := table{gives: 1, colour: t.colours()}
	lines.add("ID", "TITLE", "PRIORITY", "DUE", "STATUS")
	for _, task := range tasks {
		s, err := shown(task)
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

// printNothing says what to do when there is nothing to see.
func (t *taskCommands) printNothing(f tasksFilter) {
	what := "no open tasks"
	switch f {
	case tasksFilter{}:
	case tasksFilter{all: true}:
		what = "no tasks"
	default:
		fmt.Fprintf(t.Stdout, "No task of %s fits. Run \"remit tasks --all\" without other filters for all there are.\n", approval.Plain(t.user))
		return
	}
	fmt.Fprintf(t.Stdout, "%s has %s. Add one: remit tasks add Buy milk --due tomorrow\n", approval.Plain(t.user), what)
}
