package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"remit/internal/contract/jsontree"
	"remit/internal/engine/audit"
	"remit/internal/engine/audit/auditindex"
)

// auditListing implements the command audit list.
type auditListing struct {
	*Program
	auditindex.Filter
	limit                int
	since, until, format string
	follow               bool
}

func (p *Program) auditList() *cobra.Command {
	l := &auditListing{Program: p}
	c := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Args:    cobra.NoArgs,
		RunE: p.with(func(c *cobra.Command, w Workspace, _ []string) error {
			if err := l.parse(); err != nil {
				return usageError{err}
			}
			return l.run(c.Context(), w.CallIndex())
		}),
	}
	f := c.Flags()
	f.IntVar(&l.limit, "limit", 50, "list at most this many calls")
	f.StringVar(&l.Tool, "tool", "", "only calls of this tool")
	f.StringVar(&l.Caller, "caller", "", "only calls of this caller, such as agent:bot")
	f.StringVar(&l.Outcome, "outcome", "", "only this outcome, such as ok, denied or unavailable")
	f.StringVar(&l.Text, "text", "", "only calls with this text in an argument or in the error, in upper or lower case")
	f.StringVar(&l.Session, "session", "", "only calls of this session, by its id in the records")
	f.StringVar(&l.since, "since", "", "only calls from this time on: 30m, 12h, 7d, today, yesterday, 2026-01-31, \"2026-01-31 15:04\" or RFC 3339")
	f.StringVar(&l.until, "until", "", "only calls before this time, or up to the end of this day")
	f.BoolVarP(&l.follow, "follow", "f", false, "go on with new calls until Ctrl-C, oldest first")
	f.StringVar(&l.format, "format", "table", "table, json or csv; with --follow json is one object per line")
	return p.withJSON("the same as --format json", c)
}

// parse checks the flags.
func (l *auditListing) parse() (err error) {
	if l.asJSON {
		l.format = "json"
	}
	if l.limit < 1 {
		return fmt.Errorf("--limit must be at least 1, not %d", l.limit)
	}
	if !slices.Contains([]string{"table", "json", "csv"}, l.format) {
		return fmt.Errorf("--format must be table, json or csv, not %q", l.format)
	}
	if err := checkOutcome(l.Outcome); err != nil {
		return err
	}
	if l.From, err = pastTime("--since", l.since, l.Now()); err == nil {
		l.To, err = pastTime("--until", l.until, l.Now())
	}
	if err == nil && l.follow && l.until != "" {
		err = errors.New("--follow and --until cannot be combined; give one of them")
	}
	return err
}

// pastTime parses a time: a duration before now, a day, a local time, or RFC 3339. A day is its
// beginning, and its end for --until. An empty text is the zero time.
func pastTime(flag, text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if length, err := parseDuration(text); err == nil {
		return now.Add(-length), nil
	}
	if day, err := pastDay(text, now); err == nil {
		if flag == "--until" {
			day = day.AddDate(0, 0, 1)
		}
		return day, nil
	}
	for _, layout := range []string{"2006-01-02 15:04", time.DateTime, time.RFC3339} {
		if at, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return at, nil
		}
	}
	return time.Time{}, fmt.Errorf("%s: %q is not a time; use a value such as 30m, 12h, 7d, today, yesterday, 2026-01-31 or \"2026-01-31 15:04\"",
		flag, text)
}

// run prints the latest calls and, with --follow, those that come.
func (l *auditListing) run(ctx context.Context, index *auditindex.Index) error {
	ends, err := index.Ends(ctx) // before the list, so that no record is left out
	if err != nil {
		return err
	}
	records, err := index.Latest(ctx, l.Filter, l.limit)
	if err != nil {
		return err
	}
	if !l.follow {
		return l.print(records)
	}
	slices.Reverse(records)
	row, printed := l.rowPrinter(), map[string]bool{}
	once := func(r jsontree.Value) error {
		id := r.Field("id")
		if printed[id.Text] {
			return nil
		}
		return row(r)
	}
	for i := range records {
		if err := once(records[i]); err != nil {
			return err
		}
		id := records[i].Field("id")
		printed[id.Text] = true
	}
	ticker := time.NewTicker(followInterval)
	defer ticker.Stop()
	if err := index.Watch(ctx, l.Filter, ends, ticker.C, once); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil // Ctrl-C
}

// followInterval is how often --follow looks for new calls.
const followInterval = 500 * time.Millisecond

func (l *auditListing) print(records []jsontree.Value) error {
	switch l.format {
	case "json":
		return writeJSON(l.Stdout, records)
	case "csv":
		row := l.rowPrinter()
		for i := range records {
			if err := row(records[i]); err != nil {
				return err
			}
		}
		return nil
	}
	t := table{empty: "No calls are on record."}
	if l.Filter != (auditindex.Filter{}) {
		t.empty = "No call matches."
	}
	t.add(auditColumns...)
	for i := range records {
		t.add(l.cells(&records[i])...)
	}
	t.write(l.Stdout)
	return nil
}

// auditColumns begins with the id, because a narrow terminal cuts the end of a line.
var auditColumns = []string{"ID", "TIME", "CALLER", "FRONTEND", "TOOL", "OUTCOME", "APPROVAL", "TOOK", "ARGUMENTS"}

// cells returns a record as a row of the table.
func (p *Program) cells(r *jsontree.Value) []string {
	at, micros, args, id := r.Field("time"), r.Field("micros"), r.Field("arguments"), r.Field("id")
	caller, tool, outcome := r.Field("principal"), r.Field("tool"), r.Field("outcome")
	approved := r.Field("approved")
	approval := approved.Text
	if approval == "" {
		approval = auditindex.RequestOf(r)
	}
	if made := r.Field("made"); made.Kind != jsontree.Null {
		outcome.Text += " (changed)" // it failed after that
	}
	return []string{
		id.Text, p.moment(at.Text), caller.Text, audit.FrontendOf(r), audit.CurrentTool(tool.Text), outcome.Text, approval,
		took(micros.Text), string(args.Append(nil)),
	}
}

// took formats a number of microseconds with two or three digits.
func took(micros string) string {
	n, err := strconv.ParseInt(micros, 10, 64)
	if err != nil {
		return micros
	}
	d := time.Duration(n) * time.Microsecond
	switch {
	case d >= time.Minute:
		d = d.Round(time.Second)
	case d >= time.Second:
		d = d.Round(100 * time.Millisecond)
	case d >= 10*time.Millisecond:
		d = d.Round(time.Millisecond)
	case d >= time.Millisecond:
		d = d.Round(100 * time.Microsecond)
	}
	return d.String()
}

// rowPrinter returns a function that prints one record at a time.
func (l *auditListing) rowPrinter() func(jsontree.Value) error {
	switch l.format {
	case "json":
		return auditindex.LinePrinter(l.Stdout)
	case "csv":
		return auditindex.CSVPrinter(l.Stdout)
	}
	return func(r jsontree.Value) error {
		t := table{}
		t.add(l.cells(&r)...)
		t.write(l.Stdout)
		return nil
	}
}
