package source

import (
	"bytes"
	"strings"

	"remit/internal/search/lexical"
)

// longestLine is how much of a line is looked at, in bytes.
const longestLine = 2000

// eachLine gives the lines of a content in order, as far as they are looked at, until look has seen enough. It returns the
// number of the last.
func eachLine(content []byte, look func(text string, number int) bool) (last int) {
	for line := range bytes.Lines(content) {
		last++
		if !look(string(line[:min(len(line), longestLine)]), last) {
			break
		}
	}
	return last
}

// eachCodeLine gives the lines of a content that begin with code, without what is blank at their ends: none that is part of a
// comment, a string or a here-document. It returns the number of the last line.
func eachCodeLine(language string, content []byte, look func(line string, indent, number int)) (last int) {
	l := lexical.New(language, content)
	for t := l.Next(); t.Kind != lexical.End; t = l.Next() {
		if t.Fresh {
			start := strings.LastIndexByte(l.Src[:t.Start], '\n') + 1
			line := l.Src[t.Start:min(rawLineEnd(l.Src, t.Start), start+longestLine)]
			look(strings.TrimSpace(line), t.Start-start, t.Line)
		}
	}
	return LineCount(content)
}

// An indentedOutline gathers declarations that stand within each other as their indentation says.
type indentedOutline struct {
	found []Symbol
	open  []block
}

// A block is a declaration whose end has not been seen.
type block struct {
	symbol int // its place among those found; -1 if it does not count
	indent int
	owner  string // of what is within it
	hides  bool   // what is within it does not count
}

// outer is the innermost block that is open; empty if none is.
func (o *indentedOutline) outer() block {
	if len(o.open) == 0 {
		return block{}
	}
	return o.open[len(o.open)-1]
}

// close ends the blocks that are indented as much as this or more. line is their last.
func (o *indentedOutline) close(indent, line int) {
	for len(o.open) > 0 && o.outer().indent >= indent {
		if symbol := o.outer().symbol; symbol >= 0 {
			o.found[symbol].End = max(line, o.found[symbol].Line)
		}
		o.open = o.open[:len(o.open)-1]
	}
}

// functionKind tells functions that belong to a type from others.
func functionKind(owner string) string {
	if owner == "" {
		return "function"
	}
	return "method"
}
