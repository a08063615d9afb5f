package console

import (
	"fmt"
	"strings"

	"znkr.io/diff"

	"remit/internal/engine/approval"
	"remit/internal/visible"
)

// maxRows is the maximum number of lines of a diff that a page shows.
const maxRows = 4000

// comparison is a diff as a page shows it.
type comparison struct {
	Name           string
	Added, Removed int
	Rows           []diffRow
	Exact          bool // there is no smaller diff
	Omitted        int  // number of rows that are not shown
}

// diffRow is a row of the diff table.
type diffRow struct {
	Kind      string // same, add, del or gap
	Old, New  int    // line numbers; 0 for none
	Text      string
	NoNewline bool // the last line, without a line break
}

// Sign returns the sign of an added or removed line, for readers who do not see the colours.
func (r diffRow) Sign() string {
	return map[string]string{"add": "+", "del": "−"}[r.Kind]
}

// Word returns the same as text for screen readers.
func (r diffRow) Word() string {
	return map[string]string{"add": "added: ", "del": "removed: "}[r.Kind]
}

// comparisonOf builds the diff of a file: the changed lines with a few unchanged ones around them.
func comparisonOf(name, before, after string) comparison {
	a := approval.Lines(before)
	hunks, exact := approval.Hunks(a, approval.Lines(after))
	c := comparison{Name: visible.Line(name), Exact: exact}
	from := 0 // number of lines of before that are processed
	for _, h := range hunks {
		c.gap(h.PosX - from)
		from = h.PosX
		to := h.PosY
		for _, e := range h.Edits {
			row := diffRow{Kind: "same"}
			line := e.X
			switch e.Op {
			case diff.Insert:
				to++
				c.Added++
				row.Kind, row.New, line = "add", to, e.Y
			case diff.Delete:
				from++
				c.Removed++
				row.Kind, row.Old = "del", from
			default:
				from, to = from+1, to+1
				row.Old, row.New = from, to
			}
			row.Text, row.NoNewline = strings.TrimSuffix(line, "\n"), !strings.HasSuffix(line, "\n")
			c.add(row)
		}
	}
	c.gap(len(a) - from)
	return c
}

func (c *comparison) gap(skipped int) {
	switch {
	case skipped == 1:
		c.add(diffRow{Kind: "gap", Text: "1 unchanged line"})
	case skipped > 1:
		c.add(diffRow{Kind: "gap", Text: fmt.Sprintf("%d unchanged lines", skipped)})
	}
}

func (c *comparison) add(row diffRow) {
	if len(c.Rows) >= maxRows {
		c.Omitted++
		return
	}
	row.Text = visible.Text(row.Text) // only here: most lines are never shown
	c.Rows = append(c.Rows, row)
}
