package cli

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"remit/internal/engine/approval"
	"remit/internal/toolsets/codebase"
)

// grepPrinter prints matches while the search runs.
type grepPrinter interface {
	// file prints the matches in a file. It returns false if the output can no longer be written.
	file(f codebase.Found) bool
	// end prints what is left when the search is complete.
	end(s codebase.Summary) error
	Flush() error
}

const (
	magenta paint = "35"
	green   paint = "32"
	boldRed paint = "1;31"
)

// output is a buffered writer that knows whether it writes to a terminal.
type output struct {
	*bufio.Writer
	screen bool // it is a terminal
	colour bool
}

func newOutput(w io.Writer, screen, colour bool) *output {
	return &output{Writer: bufio.NewWriterSize(w, 64<<10), screen: screen, colour: colour}
}

// print writes texts. The writer keeps the first error, and broken returns it.
func (o *output) print(texts ...string) {
	for _, text := range texts {
		_, _ = o.WriteString(text)
	}
}

// broken returns the error of an earlier write.
func (o *output) broken() error {
	if o.screen {
		return o.Flush()
	}
	_, err := o.Write(nil)
	return err
}

// coloured returns text in a colour, if colours are on.
func (o *output) coloured(text string, p paint) string {
	if !o.colour {
		return text
	}
	return "\x1b[" + string(p) + "m" + text + "\x1b[0m"
}

// name returns a path for printing, quoted if it contains control characters.
func (o *output) name(path string) string { return o.coloured(quotePath(path), magenta) }

// text returns text from a file for printing: unchanged for scripts, and without control characters
// for a terminal.
func (o *output) text(text string) string {
	if !o.screen || !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsGraphic(r) && r != '\t' }) {
		return text
	}
	parts := strings.Split(text, "\t")
	for i := range parts {
		parts[i] = approval.Plain(parts[i])
	}
	return strings.Join(parts, "\t")
}

// quotePath returns a path, quoted if it has invisible characters.
func quotePath(path string) string {
	hasHidden := strings.ContainsFunc(path, func(r rune) bool { return !unicode.IsGraphic(r) })
	if utf8.ValidString(path) && !strings.HasPrefix(path, `"`) && !hasHidden {
		return path
	}
	return strconv.Quote(path)
}

// isBrokenPipe reports whether the reader of the output has ended.
func isBrokenPipe(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe)
}

// linePrinter prints matching lines: grouped under the name of their file on a terminal, otherwise
// with the name on each line.
type linePrinter struct {
	*output
	columns bool                      // print columns
	around  int                       // number of context lines
	marks   func(line string) [][]int // finds the matches to highlight; nil highlights nothing

	path string
	last int            // number of the last printed line of the file; 0 for none
	held *codebase.Line // its context lines after it are not printed yet: they may match too
	any  bool           // something was printed
}

func (p *linePrinter) file(f codebase.Found) bool {
	if f.Path != p.path || !p.any {
		p.release(math.MaxInt)
		p.begin(f.Path)
	}
	for i := range f.Lines {
		p.release(f.Lines[i].Number)
		p.line(&f.Lines[i])
	}
	return p.broken() == nil
}

func (p *linePrinter) end(codebase.Summary) error {
	p.release(math.MaxInt)
	return p.Flush()
}

// begin prints the heading of a file.
func (p *linePrinter) begin(path string) {
	switch {
	case p.screen && p.any:
		p.print("\n")
	case p.any && p.around > 0:
		p.print("--\n")
	}
	if p.screen {
		p.print(p.name(path), "\n")
	}
	p.path, p.last, p.any = path, 0, true
}

// line prints a matching line and the context lines before it that were not printed yet.
func (p *linePrinter) line(l *codebase.Line) {
	first := max(l.Number-len(l.Before), p.last+1)
	if p.around > 0 && p.last > 0 && first > p.last+1 {
		p.print("--\n")
	}
	for n := first; n < l.Number; n++ {
		p.contextLine(n, l.Before[len(l.Before)-(l.Number-n)])
	}
	p.start(l.Number, ":")
	if p.columns {
		p.print(strconv.Itoa(l.Column), ":")
	}
	p.print(p.highlighted(l.Text))
	if l.Cut && p.screen {
		p.print(" […]")
	}
	p.print("\n")
	p.last, p.held = l.Number, l
}

// release prints the held context lines up to the next matching line.
func (p *linePrinter) release(next int) {
	if p.held == nil {
		return
	}
	for i, text := range p.held.After {
		if n := p.held.Number + 1 + i; n < next {
			p.contextLine(n, text)
			p.last = n
		}
	}
	p.held = nil
}

// contextLine prints a context line.
func (p *linePrinter) contextLine(number int, text string) {
	p.start(number, "-")
	p.print(p.text(text), "\n")
}

// start prints the prefix of a line: its path and number.
func (p *linePrinter) start(number int, sign string) {
	if !p.screen {
		p.print(p.name(p.path), sign)
	}
	p.print(p.coloured(strconv.Itoa(number), green), sign)
}

// highlighted returns a line with its matches highlighted.
func (p *linePrinter) highlighted(line string) string {
	if p.marks == nil {
		return p.text(line)
	}
	var b strings.Builder
	at := 0
	for _, m := range p.marks(line) {
		if m[1] > m[0] {
			b.WriteString(p.text(line[at:m[0]]) + p.coloured(p.text(line[m[0]:m[1]]), boldRed))
			at = m[1]
		}
	}
	return b.String() + p.text(line[at:])
}

// tallyPrinter prints the names of files, and with count the number of matching lines.
type tallyPrinter struct {
	*output
	count bool
	held  codebase.Found // the search may report a file in several parts
}

func (p *tallyPrinter) file(f codebase.Found) bool {
	if f.Path != p.held.Path {
		p.release()
		p.held.Path = f.Path
	}
	p.held.Count += f.Count
	return p.broken() == nil
}

func (p *tallyPrinter) release() {
	switch {
	case p.held.Count == 0:
	case p.count:
		p.print(p.name(p.held.Path), ":", strconv.Itoa(p.held.Count), "\n")
	default:
		p.print(p.name(p.held.Path), "\n")
	}
	p.held = codebase.Found{}
}

func (p *tallyPrinter) end(codebase.Summary) error {
	p.release()
	return p.Flush()
}

// jsonPrinter prints one JSON object per line.
type jsonPrinter struct {
	*output
	tally bool
}

// jsonLine is the JSON form of a matching line.
type jsonLine struct {
	File   string   `json:"file"`
	Line   int      `json:"line"`
	Column int      `json:"column"`
	Text   string   `json:"text"`
	Cut    bool     `json:"cut,omitempty"`
	Before []string `json:"before"`
	After  []string `json:"after"`
}

// jsonCount is the JSON form of a file with its number of matches.
type jsonCount struct {
	File  string `json:"file"`
	Count int    `json:"count"`
}

// jsonSummary is the last object of the output.
type jsonSummary struct {
	Matches  int    `json:"matches"`
	Searched int    `json:"files_searched"`
	Matched  int    `json:"files_matched"`
	Complete bool   `json:"complete"`
	Reason   string `json:"reason,omitempty"`
}

func (p *jsonPrinter) file(f codebase.Found) bool {
	if p.tally {
		p.object(jsonCount{f.Path, f.Count})
	}
	for _, l := range f.Lines {
		p.object(jsonLine{
			File: f.Path, Line: l.Number, Column: l.Column, Text: l.Text, Cut: l.Cut,
			Before: append([]string{}, l.Before...), After: append([]string{}, l.After...),
		})
	}
	return p.broken() == nil
}

func (p *jsonPrinter) end(s codebase.Summary) error {
	p.object(jsonSummary{Matches: s.Matches, Searched: s.Files, Matched: s.Matched, Complete: !s.Incomplete, Reason: s.Reason})
	return p.Flush()
}

func (p *jsonPrinter) object(v any) {
	encoder := json.NewEncoder(p)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(v) // the output keeps the error
}
