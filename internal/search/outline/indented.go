package outline

import (
	"bytes"
	"strings"

	"remit/internal/search/lexical"
)

// maxLine is the number of bytes of a line that are examined.
const maxLine = 2000

// eachLine calls look with the lines of a content, cut to maxLine, until look returns false. It
// returns the number of the last line.
func eachLine(content []byte, look func(text string, number int) bool) (last int) {
	for line := range bytes.Lines(content) {
		last++
		if !look(string(line[:min(len(line), maxLine)]), last) {
			break
		}
	}
	return last
}

// A codeLine is a line that begins with code, trimmed of white space.
type codeLine struct {
	text           string
	indent, number int
}

// codeLines returns the lines of a content that begin with code, not those within a comment, a
// string or a here-document. If one of these has no end, it is more likely something else, and
// every line counts.
func codeLines(language string, content []byte) []codeLine {
	var lines []codeLine
	add := func(line string, indent, number int) {
		if text := strings.TrimSpace(line[:min(len(line), maxLine)]); text != "" {
			lines = append(lines, codeLine{text, indent, number})
		}
	}
	l := lexical.New(language, content)
	for t := l.Next(); t.Kind != lexical.End; t = l.Next() {
		if t.FirstOnLine {
			add(l.Src[t.Start:rawLineEnd(l.Src, t.Start)], t.Start-1-strings.LastIndexByte(l.Src[:t.Start], '\n'), t.Line)
		}
	}
	if l.Err != nil {
		lines = nil
		eachLine(content, func(text string, number int) bool {
			line := strings.TrimLeft(text, " \t")
			add(line, len(text)-len(line), number)
			return true
		})
	}
	return lines
}

// An indentedOutline collects declarations that are nested by their indentation.
type indentedOutline struct {
	found []Symbol
	open  []block
}

// A block is a declaration whose end has not been reached.
type block struct {
	symbol int // index of its symbol; -1 if it does not count
	indent int
	owner  string // of what is within it
	hides  bool   // whether its contents are ignored
}

// outer returns the innermost open block, or an empty one.
func (o *indentedOutline) outer() block {
	if len(o.open) == 0 {
		return block{}
	}
	return o.open[len(o.open)-1]
}

// close ends the blocks that are indented as much as indent or more. line is their last line.
func (o *indentedOutline) close(indent, line int) {
	for len(o.open) > 0 && o.outer().indent >= indent {
		if symbol := o.outer().symbol; symbol >= 0 {
			o.found[symbol].End = max(line, o.found[symbol].Line)
		}
		o.open = o.open[:len(o.open)-1]
	}
}

// functionKind distinguishes methods from functions.
func functionKind(owner string) string {
	if owner == "" {
		return "function"
	}
	return "method"
}

// outlinePython outlines Python by its indentation.
func outlinePython(content []byte) []Symbol {
	p := pythonOutline{}
	s := newScanner("python", content)
	for i := 0; i < len(s.tokens); {
		next := i
		// One statement.
		for next < len(s.tokens) && (next == i || s.line(next) == s.line(next-1) || s.text(next-1) == `\`) {
			// A bracket with its contents, or a token. Brackets that are never closed are skipped
			// alone, so that they do not hide the rest of the file.
			next = max(next, int(s.tokens[next].partner)) + 1
		}
		next = min(next, len(s.tokens))
		p.statement(s, i, s.column(i))
		p.last = s.line(next - 1)
		i = next
	}
	p.close(0, p.last)
	return p.found
}

// column returns the distance of a token from the beginning of its line.
func (s *scanner) column(i int) int {
	start := int(s.tokens[i].start)
	return start - 1 - strings.LastIndexByte(s.code[:start], '\n')
}

type pythonOutline struct {
	indentedOutline
	last int // the last line of the previous statement
}

// statement reads a statement that begins with this token.
func (p *pythonOutline) statement(s *scanner, i, indent int) {
	p.close(indent, p.last)
	if s.text(i) == "async" {
		i++
	}
	word := s.text(i)
	if (word != "def" && word != "class") || !s.isName(i+1) {
		return
	}
	inner := block{symbol: -1, indent: indent, hides: true}
	if outer := p.outer(); !outer.hides {
		inner.symbol = len(p.found)
		inner.hides = word == "def"
		inner.owner = cut(outer.owner+s.text(i+1)) + "."
		kind := "class"
		if word == "def" {
			kind = functionKind(outer.owner)
		}
		p.found = append(p.found, Symbol{Kind: kind, Name: outer.owner + s.text(i+1), Line: s.line(i + 1)})
	}
	p.open = append(p.open, inner)
}

// outlineRuby outlines Ruby by the keywords that begin and end blocks at the same indentation.
func outlineRuby(content []byte) []Symbol {
	r := rubyOutline{}
	for _, line := range codeLines("ruby", content) {
		if word, _ := firstWord([]byte(line.text)); word == "end" {
			r.close(line.indent, line.number)
		}
		r.declaration(line.text, line.indent, line.number)
	}
	r.close(0, LineCount(content))
	return r.found
}

type rubyOutline struct{ indentedOutline }

func (r *rubyOutline) declaration(trimmed string, indent, number int) {
	fields := strings.FieldsFunc(trimmed, func(c rune) bool { return c == ' ' || c == '(' || c == ';' || c == '\t' })
	if len(fields) > 2 && (strings.HasPrefix(fields[0], "private") || fields[0] == "protected" || fields[0] == "module_function") {
		fields = fields[1:]
	}
	if len(fields) < 2 || fields[0] != "def" && fields[0] != "class" && fields[0] != "module" {
		return
	}
	outer := r.outer()
	name := strings.TrimPrefix(fields[1], "self.")
	inner := block{symbol: -1, indent: indent, owner: outer.owner, hides: outer.hides || fields[0] == "def"}
	if !outer.hides && fields[1] != "<<" { // class << self is not a class
		kind := fields[0]
		if kind == "def" {
			kind = functionKind(outer.owner)
		}
		inner.symbol, inner.owner = len(r.found), cut(outer.owner+name)+"."
		r.found = append(r.found, Symbol{Kind: kind, Name: outer.owner + name, Line: number, End: number})
	}
	if !endsOnLine(trimmed, fields) {
		r.open = append(r.open, inner)
	}
}

// endsOnLine reports whether a declaration ends on its line: def a = 1, def a; end, class A < B;
// end.
func endsOnLine(trimmed string, fields []string) bool {
	if fields[len(fields)-1] == "end" {
		return true
	}
	rest := strings.TrimSpace(strings.TrimPrefix(trimmed, "def "+fields[1]))
	if strings.HasPrefix(rest, "(") {
		_, rest, _ = strings.Cut(rest, ")")
	}
	return fields[0] == "def" && strings.HasPrefix(strings.TrimSpace(rest), "= ")
}

// outlineShell outlines the functions of a shell script. A function ends with the bracket at the
// indentation of its name.
func outlineShell(content []byte) []Symbol {
	s := shellOutline{}
	for _, line := range codeLines("shell", content) {
		switch {
		case s.open && line.indent <= s.indent && (line.text[0] == '}' || line.text[0] == ')'):
			s.end(line.number)
		case !s.open:
			s.declaration(line.text, line.indent, line.number)
		}
	}
	s.end(LineCount(content))
	return s.found
}

type shellOutline struct {
	found  []Symbol
	open   bool
	indent int
}

func (s *shellOutline) end(number int) {
	if s.open {
		s.found[len(s.found)-1].End = number
		s.open = false
	}
}

// declaration reads name() { and function name {.
func (s *shellOutline) declaration(trimmed string, indent, number int) {
	rest, keyword := strings.CutPrefix(trimmed, "function ")
	rest = strings.TrimLeft(rest, " ")
	n := strings.IndexAny(rest, " \t(){;=$\"'`|&<>")
	if n < 0 {
		n = len(rest)
	}
	name, rest := rest[:n], strings.TrimSpace(rest[n:])
	rest, parens := strings.CutPrefix(strings.ReplaceAll(rest, "( )", "()"), "()")
	rest = strings.TrimSpace(rest)
	if name == "" || !keyword && !parens {
		return
	}
	if rest != "" && rest[0] != '{' && rest[0] != '(' && rest[0] != '#' && rest[0] != '[' {
		return
	}
	s.found = append(s.found, Symbol{Kind: "function", Name: name, Line: number, End: number})
	s.indent = indent
	closed := strings.HasSuffix(rest, "}") || strings.HasPrefix(rest, "(") && strings.HasSuffix(rest, ")")
	s.open = !closed
}
