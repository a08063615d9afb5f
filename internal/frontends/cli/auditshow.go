package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"remit/internal/contract/jsontree"
	"remit/internal/engine/approval"
	"remit/internal/engine/audit"
	"remit/internal/engine/audit/auditindex"
)

// tracedCall is what audit show prints: the records that belong together, and the approval request
// they are about.
type tracedCall struct {
	Records  []jsontree.Value `json:"records"`
	Approval *approval.View   `json:"approval,omitempty"`
}

func (p *Program) auditShow() *cobra.Command {
	return p.withJSON("print as JSON", &cobra.Command{
		Use:  "show ID",
		Args: exactArgs(1),
		RunE: p.with(func(c *cobra.Command, w Workspace, args []string) error {
			records, err := w.CallIndex().Trace(c.Context(), args[0])
			if err != nil {
				return err
			}
			traced := tracedCall{Records: records, Approval: approvalOf(c.Context(), w, records)}
			return p.show(traced, func() { p.printTraced(&traced) })
		}),
	})
}

// approvalOf returns the approval request of records, or nil if there is none, or none that is
// still stored.
func approvalOf(ctx context.Context, w Workspace, records []jsontree.Value) *approval.View {
	for i := range records {
		if id := auditindex.RequestOf(&records[i]); id != "" {
			if r, err := request(ctx, w.Desk(), id); err == nil && r.ID == id {
				view := viewOf(r)
				return &view
			}
		}
	}
	return nil
}

func (p *Program) printTraced(t *tracedCall) {
	for i := range t.Records {
		if i > 0 {
			fmt.Fprintln(p.Stdout)
		}
		p.printRecord(&t.Records[i])
	}
	if a := t.Approval; a != nil {
		rows := table{}
		fmt.Fprintln(p.Stdout)
		rows.add("Approval", a.ID)
		rows.add("State", a.State)
		addRow(&rows, "Decided by", a.DecidedBy)
		addRow(&rows, "Reason", a.Reason)
		rows.write(p.Stdout)
	}
}

// addRow adds a row unless its value is empty.
func addRow(rows *table, name, value string) {
	if value != "" {
		rows.add(name, value)
	}
}

// printRecord prints one record, a line for each fact.
func (p *Program) printRecord(r *jsontree.Value) {
	text := func(key string) string {
		field := r.Field(key)
		return field.Text
	}
	whole := func(key string) string {
		field := r.Field(key)
		if field.Kind == jsontree.Null {
			return ""
		}
		return string(field.Append(nil))
	}
	rows := table{}
	rows.add("Record", text("id"))
	rows.add("What", auditindex.PartOf(r))
	rows.add("Time", p.moment(text("time")))
	rows.add("Caller", text("principal"))
	rows.add("Via", strings.TrimSpace(audit.FrontendOf(r)+" "+text("client")))
	addRow(&rows, "Session", text("session"))
	rows.add("Tool", strings.TrimSpace(audit.CurrentTool(text("tool"))+" "+text("version")))
	rows.add("Outcome", text("outcome"))
	addRow(&rows, "Error", strings.TrimSpace(text("code")+" "+text("message")))
	addRow(&rows, "Approved", text("approved"))
	addRow(&rows, "Rule", text("rule"))
	addRow(&rows, "Request", text("request"))
	addRow(&rows, "Key", text("key"))
	addRow(&rows, "Call", text("call"))
	addRow(&rows, "Changes", whole("effect"))
	addRow(&rows, "Made", whole("made"))
	addRow(&rows, "Not made", whole("undone"))
	addRow(&rows, "Unknown", whole("unknown"))
	rows.add("Took", took(text("micros")))
	rows.add("Arguments", whole("arguments"))
	rows.write(p.Stdout)
}
