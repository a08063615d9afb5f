package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine/audit"
	"remit/internal/engine/audit/auditindex"
)

func (p *Program) auditList() *cobra.Command {
	var f auditindex.Filter
	var limit int
	c := &cobra.Command{
		Use:        "list",
		Aliases:    []string{"ls"},
		SuggestFor: []string{"show"},
		Args:       cobra.NoArgs,
		RunE: p.with(func(c *cobra.Command, w Workspace, _ []string) error {
			if limit < 1 {
				return usageError{fmt.Errorf("--limit must be at least 1, not %d", limit)}
			}
			if err := checkOutcome(f.Outcome); err != nil {
				return usageError{err}
			}
			records, err := w.CallIndex().Latest(c.Context(), f, limit)
			if err != nil {
				return err
			}
			return p.show(records, func() { p.printRecords(records) })
		}),
	}
	c.Flags().IntVar(&limit, "limit", 50, "list at most this many calls")
	c.Flags().StringVar(&f.Tool, "tool", "", "only calls of this tool")
	c.Flags().StringVar(&f.Outcome, "outcome", "", "only this outcome: "+strings.Join(outcomes(), ", "))
	return p.withJSON("print as JSON", c)
}

// outcomes returns the outcomes of calls in the audit log.
func outcomes() []string {
	known := []string{"ok", "replayed", "asked"}
	for _, kind := range contract.Kinds() {
		known = append(known, string(kind))
	}
	return known
}

func checkOutcome(outcome string) error {
	known := outcomes()
	if outcome == "" || slices.Contains(known, outcome) {
		return nil
	}
	return fmt.Errorf("unknown outcome %q; use one of %s", outcome, strings.Join(known, ", "))
}

func (p *Program) printRecords(records []jsontree.Value) {
	t := table{empty: "No calls are on record."}
	t.add("TIME", "CALLER", "FRONTEND", "TOOL", "OUTCOME", "APPROVED", "TOOK", "ARGUMENTS")
	for _, r := range records {
		at, micros, args := r.Field("time"), r.Field("micros"), r.Field("arguments")
		caller, tool, outcome, approved := r.Field("principal"), r.Field("tool"), r.Field("outcome"), r.Field("approved")
		t.add(p.moment(at.Text), caller.Text, audit.FrontendOf(&r), audit.CurrentTool(tool.Text), outcome.Text, approved.Text,
			micros.Text+"µs", string(args.Append(nil)))
	}
	t.write(p.Stdout)
}

// printCut says which records were dropped because of their age.
func (p *Program) printCut(ctx context.Context, records audit.Reader) error {
	retained, ok := records.(*audit.Retained)
	if !ok {
		return nil
	}
	cut, err := retained.Cut(ctx)
	if err == nil && cut.Through != "" {
		fmt.Fprintf(p.Stdout, "%d older records, up to %s, were dropped (--audit-keep).\n", cut.Records, cut.Through)
	}
	return err
}

func (p *Program) auditVerify() *cobra.Command {
	return &cobra.Command{
		Use:     "verify",
		Aliases: []string{"check"},
		Args:    cobra.NoArgs,
		RunE: p.with(func(c *cobra.Command, w Workspace, _ []string) error {
			records := w.AuditRecords()
			count, err := audit.Verify(c.Context(), records, w.RecordCheck(c.Context()))
			if broken, ok := errors.AsType[*audit.BrokenError](err); ok {
				return fmt.Errorf("the audit log is broken at %w (the %d records before it are intact)", broken, count)
			}
			if err != nil {
				return err
			}
			if err := w.CheckTip(c.Context()); err != nil {
				return fmt.Errorf("the hash chain of %d records is intact, but its end is not: %w", count, err)
			}
			fmt.Fprintf(p.Stdout, "%d records: the hash chain is intact.\n", count)
			return p.printCut(c.Context(), records)
		}),
	}
}
