package console

import (
	"strings"
	"unicode/utf8"

	"remit/internal/contract"
	"remit/internal/visible"
)

// Limits of what the review of a request shows before somebody unfolds more.
const (
	foldAbove   = 40   // lines of one kind in a row
	foldKeeps   = 16   // of them are shown
	maxFold     = 1000 // lines of one fold
	maxHeadings = 80   // of an outline
	maxLine     = 4000 // characters of a line
)

// heading is a heading of a new file, with the line that it is in.
type heading struct {
	Level int
	Text  string
	Line  int
}

// foldedComparison is comparisonOf for a review: long parts are folded, and lines is the address
// from which a page gets them. So everything can be read, however long it is.
func foldedComparison(name, before, after, lines string) comparison {
	all := diffLines(before, after)
	c := comparison{Name: visible.Line(name), Exact: all.exact, Added: all.added, Removed: all.removed, Lines: lines}
	cuts := map[int]heading{} // folds that begin at a heading, by line number
	if before == "" && isMarkdown(name) {
		c.Outline = headings(all.list)
		for _, h := range c.Outline {
			cuts[h.Line] = h
		}
	}
	for i := 0; i < len(all.list); {
		if len(c.Rows) >= maxRows {
			c.fold(&all, i, len(all.list), cuts)
			break
		}
		n := 0
		for kind := all.list[i].kind; i+n < len(all.list) && all.list[i+n].kind == kind && all.list[i+n].near == all.list[i].near; {
			n++
		}
		shown := n
		switch {
		case !all.list[i].near && n > 2:
			shown = 0
		case n > foldAbove:
			shown = foldKeeps
		}
		for k := range shown {
			c.Rows = append(c.Rows, all.reviewRow(i+k))
		}
		c.fold(&all, i+shown, i+n, cuts)
		i += n
	}
	return c
}

// fold adds the folds that hide the lines from..to.
func (c *comparison) fold(all *allLines, from, to int, cuts map[int]heading) {
	for from < to {
		end := from + 1
		for end < to && end-from < maxFold && (all.list[end].kind != "add" || cuts[all.list[end].new].Line == 0) {
			end++
		}
		words := map[string]string{"same": "unchanged line", "add": "added line", "del": "removed line"}[all.list[from].kind]
		text := contract.Count(end-from, words)
		if h, ok := cuts[all.list[from].new]; ok {
			text += ": " + h.Text
		}
		c.Rows = append(c.Rows, diffRow{Kind: "fold", Text: text, New: all.list[from].new, From: from, To: end})
		from = end
	}
}

// reviewRow is row, but shows only the beginning of a very long line.
func (all *allLines) reviewRow(i int) diffRow {
	row := all.row(i)
	if n := utf8.RuneCountInString(row.Text); n > maxLine {
		row.Text, row.Cut, row.From, row.To = string([]rune(row.Text)[:maxLine]), n-maxLine, i, i+1
	}
	return row
}

// headings returns the headings of a new Markdown file. If there are too many, it leaves out the
// lower levels.
func headings(lines []diffLine) (list []heading) {
	fence := ""
	for _, l := range lines {
		text := strings.TrimRight(l.text, " \t\r\n")
		bare := strings.TrimLeft(text, " ")
		switch {
		case fence != "":
			if strings.HasPrefix(bare, fence) {
				fence = ""
			}
			continue
		case strings.HasPrefix(bare, "```"), strings.HasPrefix(bare, "~~~"):
			fence = bare[:3]
			continue
		}
		level := len(text) - len(strings.TrimLeft(text, "#"))
		if level == 0 || level > 6 || len(text) == level || text[level] != ' ' {
			continue
		}
		list = append(list, heading{level, visible.Clip(visible.Line(strings.Trim(text, "# ")), 80), l.new})
	}
	for deepest := 5; len(list) > maxHeadings && deepest > 0; deepest-- {
		kept := list[:0]
		for _, h := range list {
			if h.Level <= deepest {
				kept = append(kept, h)
			}
		}
		list = kept
	}
	if len(list) > maxHeadings {
		return nil
	}
	return list
}
