package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"remit/internal/contract"
	"remit/internal/engine/audit"
	"remit/internal/visible"
)

// outcomes returns the outcomes of calls in the audit log.
func outcomes() []string {
	known := []string{"ok", "replayed", "asked", audit.Begun, audit.Undone, audit.Partly, audit.Doubt}
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

// Proof compares tasks, memory files and books with the records.
type Proof interface {
	// Add reads the next record.
	Add(record []byte) error
	// Compare compares the stores with the records.
	Compare(ctx context.Context, report func(Progress)) (Proved, error)
}

// Proved is the result of a Proof.
type Proved struct {
	Records int `json:"records"`
	Changes int `json:"changes"` // of tasks, memory files and books, as recorded
	Running int `json:"running"` // calls that have begun and not ended
	audit.Comparison
}

// printCut says which records were dropped because of their age.
func (p *Program) printCut(ctx context.Context, records audit.Reader) error {
	retained, ok := records.(*audit.Retained)
	if !ok {
		return nil
	}
	cut, err := retained.Cut(ctx)
	if err == nil && cut.Through != "" {
		fmt.Fprintf(p.Stdout, "Dropped (--audit-keep): %s, up to %s.\n", contract.Count(cut.Records, "older record"), cut.Through)
	}
	return err
}

func (p *Program) auditVerify() *cobra.Command {
	return p.withJSON("print as JSON", &cobra.Command{
		Use:     "verify",
		Aliases: []string{"check"},
		Args:    cobra.NoArgs,
		RunE: p.with(func(c *cobra.Command, w Workspace, _ []string) error {
			bar := p.bar("Verifying")
			proved, err := verify(c.Context(), w, bar.update)
			bar.end()
			if err != nil {
				return err
			}
			err = p.show(proved, func() {
				p.printProved(&proved)
				err = p.printCut(c.Context(), w.AuditRecords())
			})
			if err != nil || len(proved.Problems) == 0 {
				return err
			}
			return failure{ExitFailed}
		}),
	})
}

// verify checks the hash chain, its end, and that the records say what was changed.
func verify(ctx context.Context, w Workspace, report func(Progress)) (proved Proved, err error) {
	proof, err := w.NewProof(ctx)
	if err != nil {
		return proved, err
	}
	read := int64(0)
	count, err := audit.Verify(ctx, w.AuditRecords(), w.RecordCheck(ctx), proof.Add, func([]byte) error {
		read++
		report(Progress{Done: read, Unit: "records"})
		return nil
	})
	if broken, ok := errors.AsType[*audit.BrokenError](err); ok {
		return proved, fmt.Errorf("the audit log is broken at %w (intact before it: %s)", broken, contract.Count(count, "record"))
	}
	if err != nil {
		return proved, err
	}
	if err := w.CheckTip(ctx); err != nil {
		return proved, fmt.Errorf("the hash chain of %s is intact, but its end is not: %w", contract.Count(count, "record"), err)
	}
	proved, err = proof.Compare(ctx, report)
	proved.Records = count
	return proved, err
}

// maxProblems is how many problems are printed for people.
const maxProblems = 20

func (p *Program) printProved(r *Proved) {
	fmt.Fprintf(p.Stdout, "%s: the hash chain is intact.\n", contract.Count(r.Records, "record"))
	if r.Changes > 0 && len(r.Problems) == 0 {
		fmt.Fprintf(p.Stdout, "%s of tasks, memory files and books: each has its record, and each record its change.\n", contract.Count(r.Changes, "change"))
	}
	if r.Running > 0 {
		fmt.Fprintf(p.Stdout, "%s in progress.\n", contract.Count(r.Running, "call"))
	}
	for _, note := range r.Notes {
		fmt.Fprintf(p.Stdout, "Note: %s\n", visible.Line(note))
	}
	for _, problem := range r.Problems[:min(len(r.Problems), maxProblems)] {
		fmt.Fprintf(p.Stdout, "Problem: %s\n", visible.Line(problem))
	}
	if more := len(r.Problems) - maxProblems; more > 0 {
		fmt.Fprintf(p.Stdout, "%s more; list them with --json.\n", contract.Count(more, "problem"))
	}
}
