package cli

import (
	"bufio"
	"errors"
	"io"
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
	bytes  int // number of bytes printed
}

func newOutput(w io.Writer, screen, colour bool) *output {
	return &output{buffer: bufio.NewWriterSize(unescaped(w), 64<<10), screen: screen, colour: colour}
}

// Write writes a text.
func (o *output) Write(text []byte) (int, error) {
	n, err := o.buffer.WriteString(o.text(string(text)))
	o.bytes += n
	return len(text), err
}

// Flush writes the buffered text.
func (o *output) Flush() error { return o.buffer.Flush() }

// print writes texts. The buffer keeps the first error, and broken returns it.
func (o *output) print(texts ...string) {
	for _, text := range texts {
		n, _ := o.buffer.WriteString(o.text(text))
		o.bytes += n
	}
}

// paint writes a text in a colour, if colours are on.
func (o *output) paint(text string, p paint) {
	text = o.text(text)
	if o.colour {
		text = p.on(text)
	}
	n, _ := o.buffer.WriteString(text) // as in print
	o.bytes += n
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

// tallyPrinter prints the names of files, and with count the number of lines or matches.
type tallyPrinter struct {
	*output
	count   bool
	noNames bool           // print only the numbers
	matches bool           // count matches, not lines
	held    codebase.Found // the search may report a file in several parts
}

func (p *tallyPrinter) file(f codebase.Found) bool {
	if f.Path != p.held.Path {
		p.release()
		p.held.Path = f.Path
	}
	for i := range f.Lines {
		if p.matches {
			f.Count += len(f.Lines[i].Spans) - 1
		}
	}
	p.held.Count += f.Count
	return p.broken() == nil
}

func (p *tallyPrinter) release() {
	switch name := p.held.Path; {
	case p.held.Count == 0:
	case !p.count:
		p.name(name)
		p.print("\n")
	case p.noNames:
		p.print(strconv.Itoa(p.held.Count), "\n")
	default:
		p.name(name)
		p.print(":", strconv.Itoa(p.held.Count), "\n")
	}
	p.held = codebase.Found{}
}

func (p *tallyPrinter) end(codebase.Summary) error {
	p.release()
	return p.Flush()
}

// quietPrinter prints nothing.
type quietPrinter struct {
	*output
	all bool // do not stop at the first match
}

func (p *quietPrinter) file(codebase.Found) bool   { return p.all }
func (p *quietPrinter) end(codebase.Summary) error { return p.Flush() }
