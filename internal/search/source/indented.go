package source

import (
	"bytes"
	"strings"
)

// A block is a declaration whose end has not been seen.
type block struct {
	symbol int // its place among those found; -1 if it does not count
	indent int
	owner  string // of what is within it
	hides  bool   // what is within it does not count
}

// outlinePython outlines Python by its indentation.
func outlinePython(content []byte) []Symbol {
	p := pythonOutline{}
	s := newScanner("python", content)
	lineStarts := startsOf(s.code)
	for i := 0; i < len(s.tokens); {
		next := i
		for next < len(s.tokens) && (next == i || s.line(next) == s.line(next-1) || s.text(next-1) == `\`) { // one statement
			next = s.pastInPython(next)
		}
		next = min(next, len(s.tokens))
		p.statement(s, i, int(s.tokens[i].start)-lineStarts[s.line(i)-1])
		p.last = s.line(next - 1)
		i = next
	}
	p.close(0)
	return p.found
}

// pastInPython passes a bracket with what is in it, or a token; braces that are never closed are passed alone, so that one
// does not hide the rest of the file.
func (s *scanner) pastInPython(i int) int {
	return max(i, int(s.tokens[i].partner)) + 1
}

// startsOf gives where each line begins.
func startsOf(code string) []int {
	starts := []int{0}
	for i := range len(code) {
		if code[i] == '\n' {
			starts = append(starts, i+1)
		}
	}
	return starts
}

type pythonOutline struct {
	found []Symbol
	open  []block
	last  int // the last line of the statement before
}

// close ends what is indented as much as this or more.
func (p *pythonOutline) close(indent int) {
	for len(p.open) > 0 && p.open[len(p.open)-1].indent >= indent {
		top := p.open[len(p.open)-1]
		p.open = p.open[:len(p.open)-1]
		if top.symbol >= 0 {
			p.found[top.symbol].End = max(p.last, p.found[top.symbol].Line)
		}
	}
}

// statement looks at one that begins with this token.
func (p *pythonOutline) statement(s *scanner, i, indent int) {
	p.close(indent)
	if s.text(i) == "async" {
		i++
	}
	word := s.text(i)
	if (word != "def" && word != "class") || !s.isName(i+1) {
		return
	}
	inner := block{symbol: -1, indent: indent, hides: true}
	outer := block{}
	if len(p.open) > 0 {
		outer = p.open[len(p.open)-1]
	}
	if !outer.hides {
		inner.symbol = len(p.found)
		inner.hides = word == "def"
		inner.owner = cut(outer.owner+s.text(i+1)) + "."
		p.found = append(p.found, Symbol{Kind: pythonKind(word, outer.owner), Name: outer.owner + s.text(i+1), Line: s.line(i + 1)})
	}
	p.open = append(p.open, inner)
}

func pythonKind(word, owner string) string {
	switch {
	case word == "class":
		return "class"
	case owner != "":
		return "method"
	}
	return "function"
}

// outlineRuby outlines Ruby by the words that begin and end things at the same indentation.
func outlineRuby(content []byte) []Symbol {
	r := rubyOutline{}
	line := 0
	for text := range bytes.Lines(content) {
		line++
		if string(bytes.TrimRight(text, "\r\n")) == "__END__" {
			break
		}
		r.line(string(text[:min(len(text), longestRuby)]), line)
	}
	for len(r.open) > 0 {
		r.close(line)
	}
	return r.found
}

// longestRuby is how much of a line is looked at.
const longestRuby = 1000

type rubyOutline struct {
	found   []Symbol
	open    []block
	comment bool   // between =begin and =end
	until   string // the word that ends the text that is being passed
}

func (r *rubyOutline) line(text string, number int) {
	trimmed := strings.TrimSpace(text)
	indent := len(text) - len(strings.TrimLeft(text, " \t"))
	switch {
	case r.until != "":
		if trimmed == r.until {
			r.until = ""
		}
		return
	case strings.HasPrefix(text, "=begin"), r.comment:
		r.comment = !strings.HasPrefix(text, "=end")
		return
	case trimmed == "" || trimmed[0] == '#':
		return
	}
	if word, _ := firstWord([]byte(trimmed)); word == "end" {
		for len(r.open) > 0 && r.open[len(r.open)-1].indent >= indent {
			r.close(number)
		}
	}
	r.declaration(trimmed, indent, number)
	r.until = heredocWord(trimmed)
}

func (r *rubyOutline) close(line int) {
	top := r.open[len(r.open)-1]
	r.open = r.open[:len(r.open)-1]
	if top.symbol >= 0 {
		r.found[top.symbol].End = line
	}
}

func (r *rubyOutline) declaration(trimmed string, indent, number int) {
	fields := strings.FieldsFunc(trimmed, func(c rune) bool { return c == ' ' || c == '(' || c == ';' || c == '\t' })
	if len(fields) > 2 && (strings.HasPrefix(fields[0], "private") || fields[0] == "protected" || fields[0] == "module_function") {
		fields = fields[1:]
	}
	if len(fields) < 2 || fields[0] != "def" && fields[0] != "class" && fields[0] != "module" {
		return
	}
	outer := block{}
	if len(r.open) > 0 {
		outer = r.open[len(r.open)-1]
	}
	name := strings.TrimPrefix(fields[1], "self.")
	inner := block{symbol: -1, indent: indent, owner: outer.owner, hides: outer.hides || fields[0] == "def"}
	if !outer.hides && fields[1] != "<<" { // class << self is no class
		kind := fields[0]
		if kind == "def" {
			kind = map[bool]string{true: "function", false: "method"}[outer.owner == ""]
		}
		inner.symbol, inner.owner = len(r.found), cut(outer.owner+name)+"."
		r.found = append(r.found, Symbol{Kind: kind, Name: outer.owner + name, Line: number, End: number})
	}
	if !endsOnLine(trimmed, fields) {
		r.open = append(r.open, inner)
	}
}

// endsOnLine tells whether a declaration is whole: def a = 1, def a; end, class A < B; end.
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

// heredocWord reads the WORD of <<~WORD, <<-'WORD' or <<WORD; empty if a line has none.
func heredocWord(line string) string {
	_, rest, ok := strings.Cut(line, "<<")
	if !ok || rest == "" {
		return ""
	}
	rest = strings.TrimLeft(rest, "~-")
	rest = strings.TrimLeft(rest, `"'`)
	word, _ := firstWord([]byte(rest))
	if word == "" || strings.ToUpper(word) != word || rest[0] >= '0' && rest[0] <= '9' {
		return ""
	}
	return word
}
