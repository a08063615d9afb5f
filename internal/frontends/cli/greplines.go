package cli

import (
	"math"
	"strconv"
	"strings"

	"remit/internal/toolsets/codebase"
)

// A lineSink prints matching lines and the lines around them, in order.
type lineSink interface {
	begin(path string, first bool) // begins a file
	gap()                          // lines of the file are left out
	match(l *codebase.Line)
	contextLine(number int, offset int64, text string)
	endFile()
	broken() error
}

// A lineWalker passes each line to a sink once, although the context lines of matches overlap.
type lineWalker struct {
	sink lineSink

	path string
	last int            // number of the last line of the file that was passed on; 0 for none
	held *codebase.Line // its context lines after it are not passed on yet: they may match too
	any  bool
}

func (w *lineWalker) file(f codebase.Found) bool {
	if f.Path != w.path || !w.any {
		w.endFile()
		w.sink.begin(f.Path, !w.any)
		w.path, w.last, w.any = f.Path, 0, true
	}
	for i := range f.Lines {
		w.release(f.Lines[i].Number)
		w.line(&f.Lines[i])
	}
	return w.sink.broken() == nil
}

// endFile passes on what is left of the current file.
func (w *lineWalker) endFile() {
	if w.any {
		w.release(math.MaxInt)
		w.sink.endFile()
	}
}

// line passes on a match and the context lines before it that were not passed on yet.
func (w *lineWalker) line(l *codebase.Line) {
	first := max(l.Number-len(l.Before), w.last+1)
	if w.last > 0 && first > w.last+1 {
		w.sink.gap()
	}
	before := l.Before[len(l.Before)-(l.Number-first):]
	offset := l.Offset - int64(len(strings.Join(before, "")))
	for i, text := range before {
		w.sink.contextLine(first+i, offset, text)
		offset += int64(len(text))
	}
	w.sink.match(l)
	w.last, w.held = l.Number+lineCount(l.Text)-1, l
}

// lineCount returns the number of lines of a text, the last of which may lack its line end.
func lineCount(text string) int {
	return max(1, strings.Count(strings.TrimSuffix(text, "\n"), "\n")+1)
}

// release passes on the held context lines up to the next match.
func (w *lineWalker) release(next int) {
	if w.held == nil {
		return
	}
	offset := w.held.Offset + int64(len(w.held.Text))
	for _, text := range w.held.After {
		if w.last+1 < next {
			w.last++
			w.sink.contextLine(w.last, offset, text)
			offset += int64(len(text))
		}
	}
	w.held = nil
}

// linePrinter prints matching lines: grouped under the name of their file on a terminal, otherwise
// with the name on each line.
type linePrinter struct {
	*output
	lineWalker
	columns            bool // print columns
	context            bool // context lines are wanted
	onlyMatching       bool // print the matches, each on a line of its own
	noNames, noNumbers bool

	path string
}

func newLinePrinter(p linePrinter) *linePrinter {
	p.sink = &p
	return &p
}

func (p *linePrinter) end(codebase.Summary) error {
	p.lineWalker.endFile()
	return p.Flush()
}

// begin prints the heading of a file.
func (p *linePrinter) begin(path string, first bool) {
	p.path = path
	switch {
	case first:
	case p.screen && !p.noNames:
		p.print("\n")
	case p.context:
		p.print("--\n")
	}
	if p.screen && !p.noNames {
		p.name(path)
		p.print("\n")
	}
}

func (p *linePrinter) gap() {
	if p.context {
		p.print("--\n")
	}
}

func (p *linePrinter) endFile() {}

// match prints a matching line. A match across lines is printed line by line.
func (p *linePrinter) match(l *codebase.Line) {
	if p.onlyMatching && len(l.Spans) > 0 {
		for _, s := range l.Spans {
			p.lines(l, s[0], s[1])
		}
		return
	}
	p.lines(l, 0, len(l.Text))
}

// lines prints the part of a match's lines between two offsets.
func (p *linePrinter) lines(l *codebase.Line, from, to int) {
	number := l.Number + strings.Count(l.Text[:from], "\n")
	for at := from; at < to; number++ {
		end := at + strings.IndexByte(l.Text[at:to]+"\n", '\n')
		if p.onlyMatching && end == at && len(l.Spans) > 0 {
			at++
			continue
		}
		p.start(number, ":")
		marks := clip(l.Spans, at, end)
		if p.columns && len(l.Spans) > 0 { // lines that do not match have no column, as in ripgrep
			column := 1
			if len(marks) > 0 {
				column = marks[0][0] - strings.LastIndexByte(l.Text[:at], '\n')
			}
			p.print(strconv.Itoa(column), ":")
		}
		p.highlighted(l.Text[:end], at, marks)
		at = end + 1
	}
}

// clip returns the parts of spans between two offsets.
func clip(spans [][]int, from, to int) (parts [][]int) {
	for _, s := range spans {
		if start, end := max(s[0], from), min(s[1], to); start < end {
			parts = append(parts, []int{start, end})
		}
	}
	return parts
}

// contextLine prints a context line.
func (p *linePrinter) contextLine(number int, _ int64, text string) {
	p.start(number, "-")
	p.highlighted(strings.TrimSuffix(text, "\n"), 0, nil)
}

// start prints the prefix of a line: its path and number.
func (p *linePrinter) start(number int, sign string) {
	if !p.screen && !p.noNames {
		p.name(p.path)
		p.print(sign)
	}
	if !p.noNumbers {
		p.paint(strconv.Itoa(number), green)
		p.print(sign)
	}
}

// maxScreenLine is the number of bytes that a terminal shows of a line, and maxScreenLead how many
// of them precede the first match.
const maxScreenLine, maxScreenLead = 1000, 200

// highlighted prints a line from an offset on, with its matches highlighted, and its end. A
// terminal shows only a part of a very long line.
func (p *linePrinter) highlighted(line string, at int, marks [][]int) {
	ending := "\n"
	if p.screen {
		line = strings.TrimSuffix(line, "\r")
		if len(line)-at > maxScreenLine {
			if len(marks) > 0 {
				at = max(at, marks[0][0]-maxScreenLead)
			}
			line, ending = line[:min(len(line), at+maxScreenLine)], " […]\n"
		}
	}
	for _, m := range marks {
		if m[1] <= len(line) && p.colour {
			p.print(line[at:m[0]])
			p.paint(line[m[0]:m[1]], boldRed)
			at = m[1]
		}
	}
	p.print(line[at:], ending)
}
