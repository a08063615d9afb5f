package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	"golang.org/x/text/width"
)

// table writes rows in columns. On a terminal it is cut to fit.
type table struct {
	gives  int    // the column that is cut first; 0 is the last one
	colour bool   // show what is painted
	none   string // what is written if there is nothing below the first row
	rows   [][]string
	paints map[cell]paint
}

// cell is the place of a text in a table.
type cell struct{ row, column int }

// paint is how a terminal is told of a colour.
type paint string

const (
	red    paint = "31"
	yellow paint = "1;33" // bold as well
)

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// paint gives a cell of the row that was added last a colour.
func (t *table) paint(column int, p paint) {
	if t.paints == nil {
		t.paints = map[cell]paint{}
	}
	t.paints[cell{len(t.rows) - 1, column}] = p
}

func (t *table) write(w io.Writer) {
	if len(t.rows) < 2 && t.none != "" {
		fmt.Fprintln(w, t.none)
		return
	}
	t.writeWithin(w, widthOf(w))
}

// writeWithin writes lines of so many columns at most; 0 is as many as it takes.
func (t *table) writeWithin(w io.Writer, room int) {
	if room <= 0 {
		room = math.MaxInt
	}
	widths := t.widths(room)
	for i := range t.rows {
		fmt.Fprintln(w, t.line(i, widths, room))
	}
}

const (
	gap     = 2 // columns between two cells
	atLeast = 8 // columns that the one that gives keeps
)

// widths works out how wide each column is.
func (t *table) widths(room int) []int {
	var widths []int
	for _, row := range t.rows {
		for i, text := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], columns(text))
		}
	}
	over := gap*(len(widths)-1) - room
	for _, n := range widths {
		over += n
	}
	if over > 0 && t.gives > 0 {
		widths[t.gives] = max(widths[t.gives]-over, min(widths[t.gives], atLeast))
	}
	return widths
}

// line puts the cells of a row side by side, as far as there is room.
func (t *table) line(row int, widths []int, room int) string {
	var b strings.Builder
	cells := t.rows[row]
	for i, text := range cells {
		text = cut(text, min(widths[i], room))
		room -= widths[i] + gap
		b.WriteString(t.painted(cell{row, i}, text))
		if i < len(cells)-1 && room > 0 {
			b.WriteString(strings.Repeat(" ", widths[i]-columns(text)+gap))
		}
	}
	return b.String()
}

func (t *table) painted(at cell, text string) string {
	p, ok := t.paints[at]
	if !ok || !t.colour || text == "" {
		return text
	}
	return "\x1b[" + string(p) + "m" + text + "\x1b[0m"
}

// widthOf is how many columns a terminal has, 80 if it does not tell; 0 for anything
// else, which is never cut.
func widthOf(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok || !isTerminal(f) {
		return 0
	}
	if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 {
		return columns
	}
	return 80
}

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// colours tells whether the person who reads stdout sees colours, and wants them.
func (p *Program) colours() bool {
	unwanted, _ := p.Env("NO_COLOR")
	kind, _ := p.Env("TERM")
	return isTerminal(p.Stdout) && unwanted == "" && kind != "dumb"
}

// withJSON gives a command the flag that has show print for scripts.
func (p *Program) withJSON(about string, c *cobra.Command) *cobra.Command {
	c.Flags().BoolVar(&p.asJSON, "json", false, about)
	return c
}

// show prints a value for scripts, or has it printed for people.
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

// writeJSON writes a value for scripts.
func writeJSON(w io.Writer, v any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(v)
}

// columns is how many columns of a terminal a text takes.
func columns(text string) int {
	n := 0
	for _, r := range text {
		n += columnsOf(r)
	}
	return n
}

func columnsOf(r rune) int {
	switch {
	case r < 0x300: // Latin, without a look at any table
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

// cut shortens a text to so many columns, and shows that it did.
func cut(text string, room int) string {
	if room < 1 {
		return ""
	}
	if len(text) <= room || columns(text) <= room {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if room -= columnsOf(r); room < 1 { // one is for the ellipsis
			break
		}
		b.WriteRune(r)
	}
	return b.String() + "…"
}
