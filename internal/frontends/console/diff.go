package console

import (
	"slices"
	"strings"

	"znkr.io/diff"

	"remit/internal/contract"
	"remit/internal/engine/approval"
	"remit/internal/visible"
)

// maxRows is the maximum number of lines of a diff that a page shows at once.
const maxRows = 4000

// comparison is a diff as a page shows it.
type comparison struct {
	Name           string
	Added, Removed int
	Rows           []diffRow
	Exact          bool // there is no smaller diff
	Omitted        int  // number of rows that are not shown
	Outline        []heading
	Lines          string // the address of folded lines; "" if nothing is folded
}

// diffRow is a row of the diff table.
type diffRow struct {
	Kind      string // same, add, del, gap or fold
	Old, New  int    // line numbers; 0 for none
	Text      string
	Parts     []piece // the text, if only some of its words have changed
	NoNewline bool    // the last line, without a line break
	From, To  int     // of a fold: the lines of the diff that it hides
	Cut       int     // number of characters at the end that are not shown
}

// Sign returns the sign of an added or removed line, for readers who do not see the colours.
func (r diffRow) Sign() string {
	return map[string]string{"add": "+", "del": "−"}[r.Kind]
}

// Word returns the same as text for screen readers.
func (r diffRow) Word() string {
	return map[string]string{"add": "added: ", "del": "removed: "}[r.Kind]
}

// diffLine is a line of a diff: one of the lines before, one of the lines after, or both.
type diffLine struct {
	kind     string // same, add or del
	old, new int    // line numbers; 0 for none
	text     string // with its line break
	// Index of the removed line that this added one replaces, or the other way; -1 for none.
	pair int
	near bool // it has changed, or a line near it has
}

// allLines are all lines of a diff, in order.
type allLines struct {
	list           []diffLine
	added, removed int
	exact          bool // there is no smaller diff
	// The parts of removed lines and of those that replace them, by the index of the removed line,
	// and how many more tokens may be compared for them.
	words  map[int][2][]piece
	budget int
}

// maxTokens bounds the tokens of one diff that are compared to find changed words.
const maxTokens = 100_000

// diffLines compares two texts line by line.
func diffLines(before, after string) allLines {
	a := approval.Lines(before)
	hunks, exact := approval.Hunks(a, approval.Lines(after))
	all := allLines{exact: exact, words: map[int][2][]piece{}, budget: maxTokens}
	from, to := 0, 0 // number of lines of before and after that are processed
	same := func(text string, near bool) {
		from, to = from+1, to+1
		all.list = append(all.list, diffLine{kind: "same", old: from, new: to, text: text, pair: -1, near: near})
	}
	for _, h := range hunks {
		for _, line := range a[from:h.PosX] {
			same(line, false)
		}
		var added []diffLine // after the lines that they replace
		flush := func() { all.list = append(all.list, added...); added = nil }
		for _, e := range h.Edits {
			switch e.Op {
			case diff.Insert:
				to++
				all.added++
				added = append(added, diffLine{kind: "add", new: to, text: e.Y, pair: -1, near: true})
			case diff.Delete:
				from++
				all.removed++
				all.list = append(all.list, diffLine{kind: "del", old: from, text: e.X, pair: -1, near: true})
			default:
				flush()
				same(e.X, true)
			}
		}
		flush()
	}
	for _, line := range a[from:] {
		same(line, false)
	}
	all.match()
	return all
}

// match finds the lines that replace each other: in each block of changes, the first removed line
// and the first added one, and so on.
func (all *allLines) match() {
	for i := 0; i < len(all.list); {
		removed := all.run(i, "del")
		added := all.run(i+removed, "add")
		for k := range min(removed, added) {
			all.list[i+k].pair, all.list[i+removed+k].pair = i+removed+k, i+k
		}
		i += max(1, removed+added)
	}
}

// run returns the number of lines of a kind from a position on.
func (all *allLines) run(from int, kind string) (n int) {
	for from+n < len(all.list) && all.list[from+n].kind == kind {
		n++
	}
	return n
}

// row returns a line as a page shows it. Most lines are never shown, so only this escapes invisible
// characters.
func (all *allLines) row(i int) diffRow {
	l := &all.list[i]
	text := strings.TrimSuffix(l.text, "\n")
	row := diffRow{Kind: l.kind, Old: l.old, New: l.new, NoNewline: !strings.HasSuffix(l.text, "\n")}
	switch {
	case l.pair > i:
		row.Parts = all.wordsOf(i, l.pair)[0]
	case l.pair >= 0:
		row.Parts = all.wordsOf(l.pair, i)[1]
	}
	if row.Parts == nil {
		row.Text = visible.Text(text)
	}
	return row
}

// wordsOf returns the parts of a removed line and of the added one that replaces it.
func (all *allLines) wordsOf(removed, added int) [2][]piece {
	if parts, ok := all.words[removed]; ok {
		return parts
	}
	a, b := wordTokens(all.list[removed].text), wordTokens(all.list[added].text)
	if all.budget -= len(a) + len(b); all.budget < 0 {
		return [2][]piece{}
	}
	before, after := changedWords(a, b)
	all.words[removed] = [2][]piece{before, after}
	return all.words[removed]
}

// comparisonOf builds the diff of a file: the changed lines with a few unchanged ones around them.
func comparisonOf(name, before, after string) comparison {
	all := diffLines(before, after)
	c := comparison{Name: visible.Line(name), Exact: all.exact, Added: all.added, Removed: all.removed}
	for i := 0; i < len(all.list); {
		if all.list[i].near {
			c.add(func() diffRow { return all.row(i) })
			i++
			continue
		}
		skipped := slices.IndexFunc(all.list[i:], func(l diffLine) bool { return l.near })
		if skipped < 0 {
			skipped = len(all.list) - i
		}
		c.add(func() diffRow { return diffRow{Kind: "gap", Text: contract.Count(skipped, "unchanged line")} })
		i += skipped
	}
	return c
}

func (c *comparison) add(row func() diffRow) {
	if len(c.Rows) >= maxRows {
		c.Omitted++
		return
	}
	c.Rows = append(c.Rows, row())
}
