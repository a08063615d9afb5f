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

// list makes the command that lists tasks. It has two names: the group itself, and
// the word for those who look for one.
func (t *taskCommands) list(use string) *cobra.Command {
	var all bool
	var limit int
	c := &cobra.Command{Use: use, Args: cobra.NoArgs}
	given := t.flags(c, taskFlag{"status", "only those that are open, or completed"},
		taskFlag{"priority", "only those of this priority: low, medium or high"},
		taskFlag{"search", "only those with this text in title or description"},
		taskFlag{"due-before", "only those due earlier than this day"}, taskFlag{"due-after", "only those due later than this day"})
	c.Flags().BoolVar(&all, "all", false, "completed tasks too")
	c.Flags().IntVar(&limit, "limit", 0, "how many tasks at the most; all if not given")
	c.RunE = t.run(func(cmd *cobra.Command, _ []string) error {
		status := cmd.Flags().Changed("status")
		arguments, err := given()
		switch {
		case cmd.Flags().Changed("limit") && limit < 1:
			err = fmt.Errorf("--limit must be at least 1, not %d", limit)
		case all && status:
			err = errors.New("--all and --status exclude each other: --all is every status")
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
			return t.told(cmd, err)
		}
		if t.asJSON {
			return writeJSON(t.Stdout, map[string]any{"tasks": tasks, "total": total})
		}
		if len(tasks) == 0 {
			t.printNothing(filtered, all)
			return nil
		}
		return t.printTasks(tasks, total.Text)
	})
	return c
}

// taskFlag is a flag whose text becomes an argument.
type taskFlag struct{ name, about string }

// argumentOf is the name that the contracts have for what a flag says.
func argumentOf(flag string) string {
	if flag == "due" {
		return "due_date"
	}
	return strings.ReplaceAll(flag, "-", "_")
}

// flags adds flags to a command, and returns what makes arguments of those that are given.
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
			arguments = append(arguments, jsontree.M(argumentOf(f.name), jsontree.Str(text)))
		}
		return arguments, nil
	}
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

func (t *taskCommands) printTasks(tasks []jsontree.Value, total string) error {
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
func (t *taskCommands) printNothing(filtered, all bool) {
	what := "no open tasks"
	if all {
		what = "no tasks"
	}
	if filtered {
		fmt.Fprintf(t.Stdout, "No task of %s fits. Run \"remit tasks --all\" without other filters for all there are.\n", approval.Plain(t.user))
		return
	}
	fmt.Fprintf(t.Stdout, "%s has %s. Add one: remit tasks add Buy milk --due tomorrow\n", approval.Plain(t.user), what)
}
