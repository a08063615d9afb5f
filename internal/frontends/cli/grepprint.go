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

// A grepPrinter shows what is found while it is found.
type grepPrinter interface {
	// file shows a file, and tells whether there is still somebody who reads.
	file(f codebase.Found) bool
	// end shows what is left to show when all is found.
	end(s codebase.Summary) error
	Flush() error
}

const (
	magenta paint = "35"
	green   paint = "32"
	boldRed paint = "1;31"
)

// output is where lines go.
type output struct {
	*bufio.Writer
	screen bool // a person looks at it
	colour bool
}

func newOutput(w io.Writer, screen, colour bool) *output {
	return &output{Writer: bufio.NewWriterSize(w, 64<<10), screen: screen, colour: colour}
}

// print writes texts. An error stays, and is what broken tells.
func (o *output) print(texts ...string) {
	for _, text := range texts {
		_, _ = o.WriteString(text)
	}
}

// broken is the error of whatever was written before.
func (o *output) broken() error {
	if o.screen {
		return o.Flush()
	}
	_, err := o.Write(nil)
	return err
}

// painted is a text in a colour, if there are any.
func (o *output) painted(text string, p paint) string {
	if !o.colour {
		return text
	}
	return "\x1b[" + string(p) + "m" + text + "\x1b[0m"
}

// name shows a path, in quotes if it would do something to a terminal or a line.
func (o *output) name(path string) string { return o.painted(quotedName(path), magenta) }

// text shows what stands in a file. Scripts get it as it is; to a terminal it does nothing.
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

// quotedName is a path as it is, or in quotes if it has characters that do not show themselves.
func quotedName(path string) string {
	plain := utf8.ValidString(path) && !strings.HasPrefix(path, `"`) && !strings.ContainsFunc(path, func(r rune) bool { return !unicode.IsGraphic(r) })
	if plain {
		return path
	}
	return strconv.Quote(path)
}

// isBrokenPipe tells whether nobody reads any more.
func isBrokenPipe(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe)
}

// linePrinter shows lines: beneath the name of their file on a screen, elsewhere each with it.
type linePrinter struct {
	*output
	columns bool                      // are shown
	around  int                       // lines around each are shown
	marks   func(line string) [][]int // finds what is painted; nil paints nothing

	path string
	last int            // the line of the file that was shown last; 0 if none was
	held *codebase.Line // the lines after it are not shown yet: the first of them may match
	any  bool           // something was shown
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

// begin starts a file.
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

// line shows a line that matches, and those before it that were not shown yet.
func (p *linePrinter) line(l *codebase.Line) {
	first := max(l.Number-len(l.Before), p.last+1)
	if p.around > 0 && p.last > 0 && first > p.last+1 {
		p.print("--\n")
	}
	for n := first; n < l.Number; n++ {
		p.beside(n, l.Before[len(l.Before)-(l.Number-n)])
	}
	p.start(l.Number, ":")
	if p.columns {
		p.print(strconv.Itoa(l.Column), ":")
	}
	p.print(p.marked(l.Text))
	if l.Cut && p.screen {
		p.print(" […]")
	}
	p.print("\n")
	p.last, p.held = l.Number, l
}

// release shows the lines after the one that was shown last, up to the next that matches.
func (p *linePrinter) release(next int) {
	if p.held == nil {
		return
	}
	for i, text := range p.held.After {
		if n := p.held.Number + 1 + i; n < next {
			p.beside(n, text)
			p.last = n
		}
	}
	p.held = nil
}

// beside shows a line that is there for those around it.
func (p *linePrinter) beside(number int, text string) {
	p.start(number, "-")
	p.print(p.text(text), "\n")
}

// start shows what stands before a line.
func (p *linePrinter) start(number int, sign string) {
	if !p.screen {
		p.print(p.name(p.path), sign)
	}
	p.print(p.painted(strconv.Itoa(number), green), sign)
}

// marked is a line with its matches painted.
func (p *linePrinter) marked(line string) string {
	if p.marks == nil {
		return p.text(line)
	}
	var b strings.Builder
	at := 0
	for _, m := range p.marks(line) {
		if m[1] > m[0] {
			b.WriteString(p.text(line[at:m[0]]) + p.painted(p.text(line[m[0]:m[1]]), boldRed))
			at = m[1]
		}
	}
	return b.String() + p.text(line[at:])
}

// tallyPrinter shows names, and how many lines there are.
type tallyPrinter struct {
	*output
	count bool
	held  codebase.Found // whose next piece may be coming
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

// jsonPrinter prints an object a line.
type jsonPrinter struct {
	*output
	tally bool
}

// jsonLine is a line for scripts.
type jsonLine struct {
	File   string   `json:"file"`
	Line   int      `json:"line"`
	Column int      `json:"column"`
	Text   string   `json:"text"`
	Cut    bool     `json:"cut,omitempty"`
	Before []string `json:"before"`
	After  []string `json:"after"`
}

// jsonCount is a file for scripts.
type jsonCount struct {
	File  string `json:"file"`
	Count int    `json:"count"`
}

// jsonSummary comes last.
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
	_ = encoder.Encode(v) // an error stays with the output
}
