package source

import "strings"

// outlinePython outlines Python by its indentation.
func outlinePython(content []byte) []Symbol {
	p := pythonOutline{}
	s := newScanner("python", content)
	for i := 0; i < len(s.tokens); {
		next := i
		for next < len(s.tokens) && (next == i || s.line(next) == s.line(next-1) || s.text(next-1) == `\`) { // one statement
			next = s.pastInPython(next)
		}
		next = min(next, len(s.tokens))
		p.statement(s, i, s.column(i))
		p.last = s.line(next - 1)
		i = next
	}
	p.close(0, p.last)
	return p.found
}

// pastInPython passes a bracket with what is in it, or a token; braces that are never closed are passed alone, so that one
// does not hide the rest of the file.
func (s *scanner) pastInPython(i int) int {
	return max(i, int(s.tokens[i].partner)) + 1
}

// column gives how far a token is from the beginning of its line.
func (s *scanner) column(i int) int {
	start := int(s.tokens[i].start)
	return start - 1 - strings.LastIndexByte(s.code[:start], '\n')
}

type pythonOutline struct {
	indentedOutline
	last int // the last line of the statement before
}

// statement looks at one that begins with this token.
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
		p.found = append(p.found, Symbol{Kind: pythonKind(word, outer.owner), Name: outer.owner + s.text(i+1), Line: s.line(i + 1)})
	}
	p.open = append(p.open, inner)
}

func pythonKind(word, owner string) string {
	if word == "class" {
		return "class"
	}
	return functionKind(owner)
}
