package markdown

import "strings"

const (
	// mostColumns is how many columns a table may have.
	mostColumns = 256
	// mostPadding is how many cells that are missing in a row a text gets in all: rows
	// of no cells would make pages of any size.
	mostPadding = 10_000
)

// splitTable cuts a table off the end of a paragraph, if a line of it tells how the
// columns are set. It is nil if there is none.
func splitTable(b *block) *block {
	for i := 1; i < len(b.lines); i++ {
		align := alignments(b.lines[i])
		if align == nil {
			continue
		}
		header := cells(b.lines[i-1])
		if len(header) != len(align) {
			return nil
		}
		t := &block{kind: table, closed: true, parent: b.parent, align: align, rows: [][]string{header}, blankEnd: b.blankEnd}
		for _, line := range b.lines[i+1:] {
			row := cells(line)
			t.rows = append(t.rows, row[:min(len(row), len(align))])
		}
		b.lines = b.lines[:i-1]
		return t
	}
	return nil
}

// alignments reads the line below the header: hyphens with colons, one a column. It is
// nil if the line is no such thing.
func alignments(line string) []string {
	if strings.Trim(line, " \t|:-") != "" || strings.Trim(line, "-") == "" {
		return nil
	}
	columns := strings.Split(line, "|")
	if strings.Trim(columns[0], " \t") == "" {
		columns = columns[1:]
	}
	if n := len(columns); n > 0 && strings.Trim(columns[n-1], " \t") == "" {
		columns = columns[:n-1]
	}
	if len(columns) > mostColumns {
		return nil
	}
	var align []string
	for _, column := range columns {
		column = strings.Trim(column, " \t")
		left, right := strings.HasPrefix(column, ":"), len(column) > 1 && strings.HasSuffix(column, ":")
		hyphens := strings.TrimSuffix(strings.TrimPrefix(column, ":"), ":")
		switch {
		case hyphens == "" || strings.Trim(hyphens, "-") != "":
			return nil
		case left && right:
			align = append(align, "center")
		case right:
			align = append(align, "right")
		case left:
			align = append(align, "left")
		default:
			align = append(align, "")
		}
	}
	return align
}

// cells cuts a row at its bars, but for those with a backslash before them, which they
// lose.
func cells(line string) []string {
	line = strings.Trim(line, " \t")
	line = strings.TrimPrefix(line, "|")
	if !strings.HasSuffix(line, `\|`) {
		line = strings.TrimSuffix(line, "|")
	}
	if line == "" {
		return nil
	}
	var found []string
	start := 0
	for i := 0; i <= len(line); i++ {
		if i < len(line) && (line[i] != '|' || i > 0 && line[i-1] == '\\') {
			continue
		}
		if len(found) > mostColumns {
			break
		}
		found = append(found, strings.ReplaceAll(strings.Trim(line[start:i], " \t"), `\|`, "|"))
		start = i + 1
	}
	return found
}
