package console

import (
	"fmt"
	"slices"
	"strings"

	"znkr.io/diff"

	"remit/internal/engine/approval"
)

const (
	// maxComparisons is how many pairs of lines the search for the fewest changes may compare,
	// beyond each line once. 2,000 changes need half as many.
	maxComparisons = 1 << 23
	// around is how many unchanged lines are shown next to a change.
	around = 3
	// maxRows is how much of a comparison a page shows.
	maxRows = 4000
)

// compare finds the lines to remove and to add that make after of before. They are the
// fewest if exact is true: finding those may take too long.
func compare(before, after []string) (hunks []diff.Hunk[string], exact bool) {
	if hunks, exact = fewest(before, after); exact {
		return hunks, true
	}
	return diff.Hunks(before, after, diff.Context(around), diff.Fast()), false
}

// fewest finds the fewest changes, unless that takes too many comparisons. Only a panic can
// stop the library.
func fewest(before, after []string) (hunks []diff.Hunk[string], ok bool) {
	type tooMany struct{}
	limit := maxComparisons + len(before) + len(after)
	defer func() {
		if r := recover(); r != nil && r != (tooMany{}) {
			panic(r)
		}
	}()
	equal := func(a, b string) bool {
		if limit--; limit < 0 {
			panic(tooMany{})
		}
		return a == b
	}
	return diff.HunksFunc(before, after, equal, diff.Context(around), diff.Minimal()), true
}

// lines cuts a text into its lines; the last one may have no line break.
func lines(text string) []string { return slices.Collect(strings.Lines(text)) }

// comparison is a diff as a page shows it.
type comparison struct {
	Name           string
	Added, Removed int
	Rows           []diffRow
	Exact          bool // the fewest changes were found
	Cut            int  // rows that are not shown
}

// diffRow is a line of the table.
type diffRow struct {
	Kind     string // same, add, del or gap
	Old, New int    // numbers of lines; 0 is none
	Text     string
	Unended  bool // the last line of its text, and it has no line break
}

// Sign and Word tell what becomes of a line to those who see no colours, and to those
// who see nothing.
func (r diffRow) Sign() string {
	return map[string]string{"add": "+", "del": "−"}[r.Kind]
}

// Word is the sign as it is read out.
func (r diffRow) Word() string {
	return map[string]string{"add": "added: ", "del": "removed: "}[r.Kind]
}

// comparisonOf lays out what changes: changed lines with a few around them.
func comparisonOf(name, before, after string) comparison {
	a := lines(before)
	hunks, exact := compare(a, lines(after))
	c := comparison{Name: approval.Plain(name), Exact: exact}
	from := 0 // lines of the text before that are dealt with
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
			row.Text, row.Unended = strings.TrimSuffix(line, "\n"), !strings.HasSuffix(line, "\n")
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
		c.Cut++
		return
	}
	row.Text = spelt(row.Text) // no sooner: most lines are never shown
	c.Rows = append(c.Rows, row)
}

// spelt spells out what does not show itself in a text of several lines.
func spelt(text string) string {
	rows := strings.Split(text, "\n")
	for i, row := range rows {
		cells := strings.Split(row, "\t")
		for j, cell := range cells {
			cells[j] = approval.Plain(cell)
		}
		rows[i] = strings.Join(cells, "\t")
	}
	return strings.Join(rows, "\n")
}
