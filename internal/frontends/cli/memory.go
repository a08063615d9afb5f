package cli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"remit/internal/toolsets/learning"
	"remit/internal/visible"
)

// memoryCommand returns the command that lists the entries of the memory files, with its
// subcommands.
func (p *Program) memoryCommand() *cobra.Command {
	m := &memoryCommands{Program: p}
	c := m.list("memory")
	runsWithoutSubcommand(c)
	c.PersistentFlags().BoolVar(&p.asJSON, "json", false, "print as JSON")
	c.AddCommand(m.list("list"), m.show(), m.search(), m.add(), m.undo())
	return c
}

// memoryCommands implements the commands for memory files.
type memoryCommands struct {
	*Program
	file, kind, since, until string
	all                      bool
}

// memoryShort are short names of the memory files.
func memoryShort() map[string]string {
	return map[string]string{"decisions": "decisions.jsonl", "progress": "progress_log.jsonl", "practices": "best_practices.md"}
}

// filters adds the flags that select entries.
func (m *memoryCommands) filters(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&m.file, "file", "", "only entries of this file: decisions, progress, practices, or its name")
	f.StringVar(&m.kind, "type", "", "only entries of this type, such as decision")
	f.StringVar(&m.since, "since", "", "only entries from this day on")
	f.StringVar(&m.until, "until", "", "only entries up to this day")
	f.BoolVar(&m.all, "all", false, "include entries that were superseded or taken back")
}

// list returns the command that lists entries. It is used for "memory" and for "memory list".
func (m *memoryCommands) list(use string) *cobra.Command {
	c := &cobra.Command{Use: use, Args: cobra.NoArgs}
	if use == "list" {
		c.Aliases = []string{"ls"}
	}
	m.filters(c)
	var limit int
	c.Flags().IntVarP(&limit, "limit", "n", 0, "list at most this many entries (default: all)")
	c.RunE = m.with(func(cmd *cobra.Command, w Workspace, _ []string) error {
		if cmd.Flags().Changed("limit") && limit < 1 {
			return usageError{fmt.Errorf("--limit must be at least 1, not %d", limit)}
		}
		chosen, total, err := m.chosen(cmd, w)
		if err != nil {
			return err
		}
		found := len(chosen)
		if limit > 0 {
			chosen = chosen[:min(limit, found)]
		}
		return m.Program.show(map[string]any{"entries": append([]learning.Record{}, chosen...), "total": found}, func() {
			switch {
			case total == 0:
				fmt.Fprintln(m.Stdout, m.hint(`There are no memory entries. Add one: remit memory add "PostgreSQL is our database"`))
			case found == 0:
				fmt.Fprintln(m.Stdout, m.hint(`No memory entry matches. Run "remit memory list --all" to list all entries.`))
			default:
				m.printEntries(chosen)
				if found > len(chosen) {
					fmt.Fprintf(m.Stdout, "Only the newest %d of %d are shown.\n", len(chosen), found)
				}
			}
		})
	})
	return c
}

// chosen returns the entries that the flags select, and how many there are at all.
func (m *memoryCommands) chosen(cmd *cobra.Command, w Workspace) (chosen []learning.Record, total int, err error) {
	journal := w.Journal()
	file, err := memoryFile(m.file, journal.Files)
	if err != nil {
		return nil, 0, err
	}
	since, until, err := m.period()
	if err != nil {
		return nil, 0, usageError{err}
	}
	list, err := journal.List(cmd.Context(), m.Now().Location())
	for _, r := range list {
		if file != "" && r.File != file || m.kind != "" && !strings.EqualFold(r.Type, m.kind) || !m.all && !r.Counts() ||
			!since.IsZero() && r.At.Before(since) || !until.IsZero() && (r.At.IsZero() || !r.At.Before(until)) {
			continue
		}
		chosen = append(chosen, r)
	}
	return chosen, len(list), err
}

// memoryFile returns the name of a memory file that a person has given, or "".
func memoryFile(name string, files []string) (string, error) {
	if long, ok := memoryShort()[name]; ok {
		name = long
	}
	if name != "" && !slices.Contains(files, name) {
		return "", unknownValue("memory file", name, append([]string{"decisions", "progress", "practices"}, files...))
	}
	return name, nil
}

// pastForms describes the accepted forms of a day in the past, for help and errors.
const pastForms = "YYYY-MM-DD, today, yesterday, or a number of days ago (3d)"

// period returns the times that --since and --until name, in the time zone of the user. The second
// one is the end of its day.
func (m *memoryCommands) period() (since, until time.Time, err error) {
	if m.since != "" {
		if since, err = pastDay(m.since, m.Now()); err != nil {
			return since, until, fmt.Errorf("--since: %w", err)
		}
	}
	if m.until != "" {
		if until, err = pastDay(m.until, m.Now()); err != nil {
			return since, until, fmt.Errorf("--until: %w", err)
		}
		until = until.AddDate(0, 0, 1)
	}
	if !since.IsZero() && !until.IsZero() && !since.Before(until) {
		err = errors.New("--since must not be after --until")
	}
	return since, until, err
}

// pastDay returns the beginning of a day in one of pastForms.
func pastDay(text string, now time.Time) (time.Time, error) {
	word := strings.ToLower(strings.TrimSpace(text))
	if day, err := time.ParseInLocation(time.DateOnly, word, now.Location()); err == nil {
		return day, nil
	}
	digits, isDays := strings.CutSuffix(strings.TrimPrefix(word, "-"), "d")
	ago, err := strconv.ParseUint(digits, 10, 16)
	switch {
	case word == "today":
		ago = 0
	case word == "yesterday":
		ago = 1
	case !isDays || err != nil:
		return time.Time{}, fmt.Errorf("%q is not a day; use %s", text, pastForms)
	}
	year, month, day := now.Date()
	return time.Date(year, month, day-int(ago), 0, 0, 0, 0, now.Location()), nil
}

func (m *memoryCommands) printEntries(list []learning.Record) {
	lines := table{shrink: 3}
	heading := []string{"ID", "DATE", "TYPE", "TEXT"}
	if m.all {
		heading = append(heading, "STATE")
	}
	lines.add(heading...)
	for _, r := range list {
		day := "-"
		if !r.At.IsZero() {
			day = r.At.Format(time.DateOnly)
		}
		first, _, _ := strings.Cut(strings.TrimSpace(r.Text), "\n")
		row := []string{r.ID, day, r.Type, first}
		if m.all {
			row = append(row, stateOf(&r))
		}
		lines.add(row...)
	}
	lines.write(m.Stdout)
}

// stateOf says whether an entry counts, and which one it gave way to.
func stateOf(r *learning.Record) string {
	return strings.TrimSpace(string(r.State) + " " + by(r.By))
}

func by(id string) string {
	if id == "" {
		return ""
	}
	return "by " + id
}

func (m *memoryCommands) show() *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Args: exactArgs(1),
		RunE: m.with(func(cmd *cobra.Command, w Workspace, args []string) error {
			r, err := m.find(cmd, w, args[0])
			if err != nil {
				return err
			}
			return m.Program.show(r, func() { m.printEntry(&r) })
		}),
	}
}

// find returns the entry that a person names.
func (m *memoryCommands) find(cmd *cobra.Command, w Workspace, ref string) (learning.Record, error) {
	list, err := w.Journal().List(cmd.Context(), m.Now().Location())
	if err != nil {
		return learning.Record{}, err
	}
	r, err := learning.Find(list, ref)
	if err != nil {
		return r, fmt.Errorf(`%w; "remit memory list --all" lists the IDs`, err)
	}
	return r, nil
}

func (m *memoryCommands) printEntry(r *learning.Record) {
	place := r.File
	if r.Line > 0 {
		place += ":" + strconv.Itoa(r.Line)
	}
	lines := [][2]string{{"ID", r.ID}, {"Place", place}, {"Type", r.Type}, {"Module", r.Module}}
	if !r.At.IsZero() {
		lines = append(lines, [2]string{"Time", r.At.Format(time.DateTime)})
	}
	lines = append(lines, [2]string{"State", stateOf(r)}, [2]string{"Supersedes", r.Supersedes})
	for _, line := range lines {
		if line[1] != "" {
			fmt.Fprintf(m.Stdout, "%-11s %s\n", line[0]+":", visible.Line(line[1]))
		}
	}
	fmt.Fprintf(m.Stdout, "\n%s\n", r.Text)
	if r.Text != r.Entry {
		fmt.Fprintf(m.Stdout, "\n%s\n", r.Entry)
	}
}

func (m *memoryCommands) search() *cobra.Command {
	c := &cobra.Command{
		Use: "search QUESTION", Aliases: []string{"find"},
		Args: atLeastOneArg("a question is missing; usage: remit memory search QUESTION"),
	}
	m.filters(c)
	var limit int
	c.Flags().IntVarP(&limit, "limit", "n", 5, "show at most this many entries, 1 to 100")
	c.RunE = m.with(func(cmd *cobra.Command, w Workspace, args []string) error {
		question := strings.TrimSpace(strings.Join(args, " "))
		if question == "" || limit < 1 || limit > 100 {
			return usageError{fmt.Errorf("the question must not be empty, and --limit must be from 1 to 100, not %d", limit)}
		}
		chosen, total, err := m.chosen(cmd, w)
		if err != nil {
			return err
		}
		found, matches, err := learning.Search(chosen, question, limit)
		if err != nil {
			return err
		}
		if m.asJSON {
			err = writeJSON(m.Stdout, map[string]any{"entries": append([]learning.Record{}, found...), "total": matches})
		} else if len(found) > 0 {
			m.printEntries(found)
		}
		switch {
		case err != nil || len(found) > 0:
			return err
		case total == 0:
			fmt.Fprintln(m.Stderr, m.hint(`remit: there are no memory entries; add one: remit memory add "PostgreSQL is our database"`))
		default:
			fmt.Fprintln(m.Stderr, m.hint(`remit: nothing found; ask in other words, or list the entries with "remit memory list"`))
		}
		return failure{ExitFailed}
	})
	return c
}
