package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"unicode"

	"remit/internal/visible"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	"golang.org/x/text/width"
)

// table prints rows in columns. On a terminal it is truncated to the width.
type table struct {
	width  int    // number of columns without a terminal; 0 is no limit
	shrink int    // column to shrink first; 0 is the last one
	colour bool   // print colours
	empty  string // text to print if there is no row below the heading
	rows   [][]string
	paints map[cell]paint
}

// cell is the position of a text in a table.
type cell struct{ row, column int }

// paint is the ANSI code of a colour.
type paint string

// on returns a text in the colour. The text must have been escaped.
func (p paint) on(text string) string { return "\x1b[" + string(p) + "m" + text + "\x1b[0m" }

const (
	red    paint = "31"
	yellow paint = "1;33" // bold as well
)

// add adds a row. Each cell stays on its line: its hidden characters are escaped.
func (t *table) add(cells ...string) { t.rows = append(t.rows, convert(cells, visible.Line)) }

// paint sets the colour of a cell in the last row.
func (t *table) paint(column int, p paint) {
	if t.paints == nil {
		t.paints = map[cell]paint{}
	}
	t.paints[cell{len(t.rows) - 1, column}] = p
}

func (t *table) write(w io.Writer) {
	if len(t.rows) < 2 && t.empty != "" {
		fmt.Fprintln(w, t.empty)
		return
	}
	t.writeWithin(unescaped(w), cmp.Or(widthOf(w), t.width)) // add has escaped the cells
}

// writeWithin writes lines of at most maxWidth columns. 0 means no limit.
func (t *table) writeWithin(w io.Writer, maxWidth int) {
	if maxWidth <= 0 {
		maxWidth = math.MaxInt
	}
	widths := t.widths(maxWidth)
	for i := range t.rows {
		fmt.Fprintln(w, t.line(i, widths, maxWidth))
	}
}

const (
	gap      = 2 // columns between two cells
	minWidth = 8 // minimum width of the shrunk column
)

// widths returns the width of each column.
func (t *table) widths(maxWidth int) []int {
	var widths []int
	for _, row := range t.rows {
		for i, text := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], columns(text))
		}
	}
	over := gap*(len(widths)-1) - maxWidth
	for _, n := range widths {
		over += n
	}
	if over > 0 && t.shrink > 0 {
		widths[t.shrink] = max(widths[t.shrink]-over, min(widths[t.shrink], minWidth))
	}
	return widths
}

// line formats a row, truncated to maxWidth columns.
func (t *table) line(row int, widths []int, maxWidth int) string {
	var b strings.Builder
	cells := t.rows[row]
	for i, text := range cells {
		text = cut(text, min(widths[i], maxWidth))
		maxWidth -= widths[i] + gap
		b.WriteString(t.coloured(cell{row, i}, text))
		if i < len(cells)-1 && maxWidth > 0 {
			b.WriteString(strings.Repeat(" ", widths[i]-columns(text)+gap))
		}
	}
	return b.String()
}

func (t *table) coloured(at cell, text string) string {
	p, ok := t.paints[at]
	if !ok || !t.colour || text == "" {
		return text
	}
	return p.on(text)
}

// widthOf returns the number of columns of a terminal, 80 if the terminal does not report it, and 0
// for any other writer, whose lines are never truncated.
func widthOf(w io.Writer) int {
	f, ok := unescaped(w).(*os.File)
	if !ok || !isTerminal(f) {
		return 0
	}
	if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 {
		return columns
	}
	return 80
}

func isTerminal(stream any) bool {
	if w, ok := stream.(*visible.Writer); ok {
		stream = w.Terminal
	}
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// escaping returns a writer that escapes hidden characters if w is a terminal, so that nothing a
// command prints can control it. Other writers get every byte unchanged.
func escaping(w io.Writer) io.Writer {
	if _, done := w.(*visible.Writer); done || !isTerminal(w) {
		return w
	}
	return &visible.Writer{Terminal: w}
}

// unescaped returns the writer beneath escaping, for control sequences of our own, such as colours.
// Data must be escaped before it is written there.
func unescaped(w io.Writer) io.Writer {
	if escaped, ok := w.(*visible.Writer); ok {
		return escaped.Terminal
	}
	return w
}

// colours reports whether stdout shows colours and the user has not switched them off.
func (p *Program) colours() bool {
	unwanted, _ := p.Env("NO_COLOR")
	kind, _ := p.Env("TERM")
	return isTerminal(p.Stdout) && unwanted == "" && kind != "dumb"
}

// withJSON adds the flag --json to a command. With the flag, Program.show prints JSON.
func (p *Program) withJSON(about string, c *cobra.Command) *cobra.Command {
	c.Flags().BoolVar(&p.asJSON, "json", false, about)
	return c
}

// show prints v as JSON with --json, and calls print otherwise.
func (p *Program) show(v any, print func()) error {
	if p.asJSON {
		return writeJSON(p.Stdout, v)
	}
	print()
	return nil
}

// convert maps a slice of one type to another.
func convert[From, To any](list []From, as func(From) To) []To {
	made := make([]To, len(list))
	for i := range list {
		made[i] = as(list[i])
	}
	return made
}

// writeJSON writes a value as indented JSON.
func writeJSON(w io.Writer, v any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(v)
}

// columns returns how many columns text takes on a terminal.
func columns(text string) int {
	n := 0
	for _, r := range text {
		n += columnsOf(r)
	}
	return n
}

func columnsOf(r rune) int {
	switch {
	case r < 0x300: // Latin needs no table lookup
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	default:
		return 1
	}
}

// cut truncates text to maxWidth columns, with an ellipsis at the end.
func cut(text string, maxWidth int) string {
	if maxWidth < 1 {
		return ""
	}
	if len(text) <= maxWidth || columns(text) <= maxWidth {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if maxWidth -= columnsOf(r); maxWidth < 1 { // one is for the ellipsis
			break
		}
		b.WriteRune(r)
	}
	return b.String() + "…"
}
