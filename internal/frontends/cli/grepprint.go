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

	"remit/internal/toolsets/codebase"
	"remit/internal/visible"
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

// output is a buffered writer that knows whether it writes to a terminal. There it escapes the
// hidden characters of all text.
type output struct {
	buffer *bufio.Writer
	screen bool // it is a terminal
	colour bool
}

func newOutput(w io.Writer, screen, colour bool) *output {
	return &output{buffer: bufio.NewWriterSize(unescaped(w), 64<<10), screen: screen, colour: colour}
}

// Write writes a text.
func (o *output) Write(text []byte) (int, error) {
	_, err := o.buffer.WriteString(o.text(string(text)))
	return len(text), err
}

// Flush writes the buffered text.
func (o *output) Flush() error { return o.buffer.Flush() }

// print writes texts. The buffer keeps the first error, and broken returns it.
func (o *output) print(texts ...string) {
	for _, text := range texts {
		_, _ = o.buffer.WriteString(o.text(text))
	}
}

// paint writes a text in a colour, if colours are on.
func (o *output) paint(text string, p paint) {
	text = o.text(text)
	if o.colour {
		text = p.on(text)
	}
	_, _ = o.buffer.WriteString(text) // as in print
}

// text returns a text with hidden characters escaped for a terminal, and unchanged for scripts.
func (o *output) text(text string) string {
	if o.screen {
		return visible.Text(text)
	}
	return text
}

// broken returns the error of an earlier write.
func (o *output) broken() error {
	if o.screen {
		return o.Flush()
	}
	_, err := o.buffer.Write(nil)
	return err
}

// name prints a path, quoted if it contains control characters.
func (o *output) name(path string) { o.paint(quotePath(path), magenta) }

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
		p.name(path)
		p.print("\n")
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
	p.highlighted(l.Text)
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
	p.print(text, "\n")
}

// start prints the prefix of a line: its path and number.
func (p *linePrinter) start(number int, sign string) {
	if !p.screen {
		p.name(p.path)
		p.print(sign)
	}
	p.paint(strconv.Itoa(number), green)
	p.print(sign)
}

// highlighted prints a line with its matches highlighted.
func (p *linePrinter) highlighted(line string) {
	at := 0
	if p.marks != nil {
		for _, m := range p.marks(line) {
			if m[1] > m[0] {
				p.print(line[at:m[0]])
				p.paint(line[m[0]:m[1]], boldRed)
				at = m[1]
			}
		}
	}
	p.print(line[at:])
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
	if p.held.Count > 0 {
		p.name(p.held.Path)
		if p.count {
			p.print(":", strconv.Itoa(p.held.Count))
		}
		p.print("\n")
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
