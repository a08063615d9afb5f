package cli

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine/approval"
	"remit/internal/engine/audit"
)

func (p *Program) auditCommand() *cobra.Command {
	return group("audit", "See who called what, and verify the record",
		"Every call leaves one hash-chained record. Contents, secrets and whatever is long stand in it as size and hash.",
		p.auditList(), p.auditVerify())
}

func (p *Program) auditList() *cobra.Command {
	var o auditFilter
	var asJSON bool
	c := &cobra.Command{
		Use:     "list",
		Short:   "List the latest calls, newest first",
		Example: "  remit audit list\n  remit audit list --tool write_memory_entry --outcome denied\n  remit audit list --limit 1000 --json",
		Args:    cobra.NoArgs,
		RunE: p.with(func(_ *cobra.Command, w Workspace, _ []string) error {
			if o.limit < 1 {
				return usageError{fmt.Errorf("--limit must be at least 1, not %d", o.limit)}
			}
			if err := checkOutcome(o.outcome); err != nil {
				return usageError{err}
			}
			records, err := latest(w.AuditFiles(), o)
			if err != nil {
				return err
			}
			if asJSON {
				return writeJSON(p.Stdout, records)
			}
			p.printRecords(records)
			return nil
		}),
	}
	c.Flags().IntVar(&o.limit, "limit", 50, "how many calls at the most")
	c.Flags().StringVar(&o.tool, "tool", "", "only calls of this tool")
	c.Flags().StringVar(&o.outcome, "outcome", "", "only calls that ended so: ok, invalid, denied, ...")
	c.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return c
}

type auditFilter struct {
	limit         int
	tool, outcome string
}

func checkOutcome(outcome string) error {
	known := []string{"ok", "replayed", "asked"}
	for _, kind := range contract.Kinds() {
		known = append(known, string(kind))
	}
	if outcome == "" || slices.Contains(known, outcome) {
		return nil
	}
	return fmt.Errorf("there is no outcome %q; there are %s", outcome, strings.Join(known, ", "))
}

func (o *auditFilter) wants(record *jsontree.Value) bool {
	tool, outcome := record.Field("tool"), record.Field("outcome")
	_, name, _ := bytes.Cut([]byte(tool.Text), []byte("/"))
	return (o.tool == "" || o.tool == tool.Text || o.tool == string(name)) && (o.outcome == "" || o.outcome == outcome.Text)
}

// latest reads the day files from the newest on, until there are enough.
func latest(dir fs.FS, o auditFilter) ([]jsontree.Value, error) {
	names, err := audit.Files(dir)
	if err != nil {
		return nil, err
	}
	found := []jsontree.Value{}
	for _, name := range slices.Backward(names) {
		data, err := fs.ReadFile(dir, name)
		if err != nil {
			return nil, fmt.Errorf("read audit file: %w", err)
		}
		var day []jsontree.Value
		lines := bufio.NewScanner(bytes.NewReader(data))
		lines.Buffer(nil, len(data)+1)
		for lines.Scan() {
			if record, err := jsontree.Parse(bytes.Clone(lines.Bytes())); err == nil && o.wants(&record) {
				day = append(day, record)
			}
		}
		slices.Reverse(day)
		if found = append(found, day...); len(found) >= o.limit {
			return found[:o.limit], nil
		}
	}
	return found, nil
}

func (p *Program) printRecords(records []jsontree.Value) {
	if len(records) == 0 {
		fmt.Fprintln(p.Stdout, "No calls are on record.")
		return
	}
	var t table
	t.add("TIME", "CALLER", "FACE", "TOOL", "OUTCOME", "TOOK", "ARGUMENTS")
	for _, r := range records {
		at, micros, args := r.Field("time"), r.Field("micros"), r.Field("arguments")
		caller, face, tool, outcome := r.Field("principal"), r.Field("face"), r.Field("tool"), r.Field("outcome")
		t.add(localTime(at.Text), caller.Text, face.Text, tool.Text, outcome.Text, micros.Text+"µs", approval.Plain(string(args.Append(nil))))
	}
	t.write(p.Stdout)
}

func localTime(text string) string {
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return text
	}
	return at.Local().Format(time.DateTime)
}

func (p *Program) auditVerify() *cobra.Command {
	return &cobra.Command{
		Use:   "verify",
		Short: "Check that no record was altered, removed or put in",
		Long: "Follow the chain of hashes through all records and name the first that does not fit.\n" +
			"Records cut off the very end cannot be missed by the rest: keep a copy elsewhere if that matters.",
		Example: "  remit audit verify",
		Args:    cobra.NoArgs,
		RunE: p.with(func(_ *cobra.Command, w Workspace, _ []string) error {
			count, err := audit.Verify(w.AuditFiles())
			var broken *audit.BrokenError
			if errors.As(err, &broken) {
				return fmt.Errorf("the audit record is broken at %w (%d records before it hold)", broken, count)
			}
			if err != nil {
				return err
			}
			fmt.Fprintf(p.Stdout, "%d records: the chain holds.\n", count)
			return nil
		}),
	}
}
