package console

import (
	"fmt"
	"slices"
	"strings"

	"remit/internal/engine/approval"
)

// edit is a line of a comparison: kept, removed or added. A line holds its line break.
type edit struct {
	op   byte // ' ', '-' or '+'
	line string
}

// mostChanges is how many lines may differ before a comparison gives up on finding the
// fewest: what takes longer nobody would read.
const mostChanges = 2000

// mostSteps is how many equal lines may be passed to find them: texts can be made in
// which each change means to go through all of the text again.
const mostSteps = 1 << 26

// compare finds the fewest lines to remove and to add that make after of before. If
// those are more than mostChanges, or take more than mostSteps to find, it removes and adds everything between the first and
// the last difference, and is not exact.
func compare(before, after string) (edits []edit, exact bool) {
	a, b := lines(before), lines(after)
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	edits = appendEdits(edits, ' ', a[:head])
	middle, exact := shortest(a[head:len(a)-tail], b[head:len(b)-tail], mostSteps)
	edits = append(edits, middle...)
	return appendEdits(edits, ' ', a[len(a)-tail:]), exact
}

// lines cuts a text into its lines; the last one may have no line break.
func lines(text string) []string {
	if text == "" {
		return nil
	}
	cut := strings.SplitAfter(text, "\n")
	if cut[len(cut)-1] == "" {
		cut = cut[:len(cut)-1]
	}
	return cut
}

func appendEdits(edits []edit, op byte, lines []string) []edit {
	for _, line := range lines {
		edits = append(edits, edit{op, line})
	}
	return edits
}

// shortest is the algorithm of Myers (An O(ND) Difference Algorithm, 1986): with d
// changes, how far along each diagonal k = x-y can one get? The first d that reaches
// the end is the fewest, and the way back through what was reached tells which.
func shortest(a, b []string, most int) (edits []edit, exact bool) {
	x, y := numbered(a, b)
	reach := make([]int32, 2*mostChanges+3) // by diagonal, which may be negative
	const zero = mostChanges + 1
	var trace [][]int32 // what was reached with each d, on every second diagonal from -d to d
	steps := 0
	for d := 0; d <= min(mostChanges, len(a)+len(b)); d++ {
		for k := -d; k <= d; k += 2 {
			at := reach[zero+k-1] + 1 // remove a line
			if k == -d || k != d && reach[zero+k-1] < reach[zero+k+1] {
				at = reach[zero+k+1] // add a line
			}
			for int(at) < len(x) && int(at)-k < len(y) && x[at] == y[int(at)-k] {
				at++
				steps++
			}
			reach[zero+k] = at
			if k == len(x)-len(y) && int(at) == len(x) {
				return wayBack(a, b, trace, d), true
			}
			if steps > most {
				return replaced(a, b), false
			}
		}
		row := make([]int32, 0, d+1)
		for k := -d; k <= d; k += 2 {
			row = append(row, reach[zero+k])
		}
		trace = append(trace, row)
	}
	return replaced(a, b), false
}

// replaced removes everything and adds everything.
func replaced(a, b []string) []edit {
	return appendEdits(appendEdits(nil, '-', a), '+', b)
}

// wayBack goes from the end of both texts to their beginnings.
func wayBack(a, b []string, trace [][]int32, d int) []edit {
	var edits []edit
	x, y := len(a), len(b)
	for ; d > 0; d-- {
		k := x - y
		row := trace[d-1] // diagonal j of it is at (j+d-1)/2
		get := func(j int) int { return int(row[(j+d-1)/2]) }
		add := k == -d || k != d && get(k-1) < get(k+1)
		var startX int // where the unchanged lines begin that follow the change
		if add {
			startX = get(k + 1)
		} else {
			startX = get(k-1) + 1
		}
		for ; x > startX; x, y = x-1, y-1 {
			edits = append(edits, edit{' ', a[x-1]})
		}
		if add {
			y--
			edits = append(edits, edit{'+', b[y]})
		} else {
			x--
			edits = append(edits, edit{'-', a[x]})
		}
	}
	for ; x > 0; x-- {
		edits = append(edits, edit{' ', a[x-1]})
	}
	slices.Reverse(edits)
	return edits
}

// numbered gives equal lines equal numbers, so that they compare at once.
func numbered(a, b []string) (x, y []int32) {
	numbers := map[string]int32{}
	number := func(lines []string) []int32 {
		out := make([]int32, len(lines))
		for i, line := range lines {
			n, ok := numbers[line]
			if !ok {
				n = int32(len(numbers))
				numbers[line] = n
			}
			out[i] = n
		}
		return out
	}
	return number(a), number(b)
}

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
	switch r.Kind {
	case "add":
		return "+"
	case "del":
		return "−"
	}
	return ""
}

// Word is the sign as it is read out.
func (r diffRow) Word() string {
	return map[string]string{"add": "added: ", "del": "removed: "}[r.Kind]
}

// around is how many unchanged lines are shown next to a change.
const around = 3

// maxRows is how much of a comparison a page shows.
const maxRows = 2 * mostChanges

// comparisonOf lays out what changes: changed lines with a few around them.
func comparisonOf(name, before, after string) comparison {
	edits, exact := compare(before, after)
	c := comparison{Name: approval.Plain(name), Exact: exact}
	shown := nearChanges(edits)
	from, to, skipped := 0, 0, 0
	for i, e := range edits {
		row := diffRow{Kind: "same", Text: strings.TrimSuffix(e.line, "\n"), Unended: !strings.HasSuffix(e.line, "\n")}
		switch e.op {
		case '+':
			to++
			c.Added++
			row.Kind, row.New = "add", to
		case '-':
			from++
			c.Removed++
			row.Kind, row.Old = "del", from
		default:
			from, to = from+1, to+1
			row.Old, row.New = from, to
		}
		if !shown[i] {
			skipped++
			continue
		}
		c.gap(skipped)
		skipped = 0
		c.add(row)
	}
	c.gap(skipped)
	return c
}

// nearChanges marks the lines that changed or stand close to one that did.
func nearChanges(edits []edit) []bool {
	near := make([]bool, len(edits))
	for i, e := range edits {
		if e.op != ' ' {
			for j := max(0, i-around); j <= min(len(edits)-1, i+around); j++ {
				near[j] = true
			}
		}
	}
	return near
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
