package source

import "strings"

// A token is a name, a number or a sign of code.
type token struct {
	start, end int32
	line       int32
	partner    int32 // of a bracket: the token that closes or opens it; -1 if there is none
}

// A scanner walks over the tokens of a file and gathers what they declare. All its steps go forward, so that the time is
// linear; where one looks ahead it looks only so far.
type scanner struct {
	code   string // without comments and strings
	tokens []token
	found  []Symbol
	depth  int
}

// deepest is how many declarations may be within each other.
const deepest = 100

func newScanner(language string, content []byte) *scanner {
	s := &scanner{code: string(blank(content, syntaxOf(language)))}
	s.split()
	s.pair()
	return s
}

// split cuts the code into tokens.
func (s *scanner) split() {
	line := int32(1)
	for i := 0; i < len(s.code); {
		switch c := s.code[i]; c {
		case '\n':
			line++
			i++
		case ' ', '\t', '\r', '\f', 0:
			i++
		default:
			end := i + signSize(s.code[i:])
			for isNameByte(c) && end < len(s.code) && isNameByte(s.code[end]) {
				end++
			}
			s.tokens = append(s.tokens, token{start: int32(i), end: int32(end), line: line, partner: -1})
			i = end
		}
	}
}

// signSize is 2 for the few signs of two bytes that would mean something else one by one.
func signSize(rest string) int {
	for _, sign := range [...]string{"=>", "->", "::"} {
		if strings.HasPrefix(rest, sign) {
			return 2
		}
	}
	return 1
}

// pair finds the partners of brackets. One that has none is passed over.
func (s *scanner) pair() {
	var open []int32
	braces := 0
	for i := range s.tokens {
		switch text := s.text(i); text {
		case "{":
			braces++
			open = append(open, int32(i))
		case "(", "[":
			open = append(open, int32(i))
		case "}":
			if braces == 0 {
				continue
			}
			for s.text(int(open[len(open)-1])) != "{" {
				open = open[:len(open)-1]
			}
			open = s.close(open, i)
			braces--
		case ")", "]":
			for len(open) > 0 && s.text(int(open[len(open)-1])) == otherBracket(text) {
				open = open[:len(open)-1]
			}
			if len(open) > 0 && s.text(int(open[len(open)-1])) != "{" {
				open = s.close(open, i)
			}
		}
	}
}

// close makes a token the partner of the bracket that was opened last.
func (s *scanner) close(open []int32, i int) []int32 {
	last := open[len(open)-1]
	s.tokens[i].partner, s.tokens[last].partner = last, int32(i)
	return open[:len(open)-1]
}

// otherBracket is the one that cannot be closed so.
func otherBracket(closing string) string {
	if closing == ")" {
		return "["
	}
	return "("
}

// text is that of a token; empty beyond the last.
func (s *scanner) text(i int) string {
	if i < 0 || i >= len(s.tokens) {
		return ""
	}
	return s.code[s.tokens[i].start:s.tokens[i].end]
}

// isName tells whether a token is a name or a keyword.
func (s *scanner) isName(i int) bool {
	text := s.text(i)
	return text != "" && isNameByte(text[0]) && (text[0] < '0' || text[0] > '9')
}

func (s *scanner) line(i int) int {
	if len(s.tokens) == 0 {
		return 1
	}
	return int(s.tokens[max(0, min(i, len(s.tokens)-1))].line)
}

// past gives the token after one, or after its partner if it opens a bracket. A brace that is never closed reaches to
// the end.
func (s *scanner) past(i int) int {
	switch partner := int(s.tokens[i].partner); {
	case partner > i:
		return partner + 1
	case s.text(i) == "{" && partner < 0:
		return len(s.tokens)
	}
	return i + 1
}

// farthest is how many tokens a scanner looks ahead for the end of what may be brackets.
const farthest = 200

// pastAngle gives the token after <...>; the same token if it is not that.
func (s *scanner) pastAngle(i int) int {
	if s.text(i) != "<" {
		return i
	}
	depth := 0
	for j, n := i, 0; j < len(s.tokens) && n < farthest; n++ {
		switch s.text(j) {
		case "<":
			depth++
		case ">":
			if depth--; depth == 0 {
				return j + 1
			}
		case ";", ")", "}":
			return i
		}
		j = s.past(j)
	}
	return i
}

// body gives the last token of a declaration whose head goes on at i: the brace that closes its body, or the end of
// the statement if it has none. open is the body's first token, -1 without.
//
// In a language where lines end statements, newlines is set. Where types can have braces, types is set.
func (s *scanner) body(i, to int, newlines, types bool) (open, last int) {
	for j := i; j < to; {
		switch s.text(j) {
		case "{":
			if !types || !s.isTypeAfter(j-1) {
				return j, min(s.past(j), to) - 1
			}
		case ";":
			return -1, j
		case "}":
			return -1, max(j-1, i-1)
		}
		if newlines && s.breaks(j-1, j) {
			return -1, j - 1
		}
		j = s.past(j)
	}
	return -1, to - 1
}

// isTypeAfter tells whether a brace behind this token begins a type, not a body.
func (s *scanner) isTypeAfter(i int) bool {
	switch s.text(i) {
	case ":", "|", "&", "<", ",", "=>", "?", "=", "is", "extends", "keyof":
		return true
	}
	return false
}

// end gives the last token of the statement that begins at i, in a language where lines end statements.
func (s *scanner) end(i, to int) int {
	for j := i; j < to; {
		if s.text(j) == ";" {
			return j
		}
		next := min(s.past(j), to)
		if next >= to || s.breaks(next-1, next) {
			return next - 1
		}
		j = next
	}
	return max(i, to-1)
}

// breaks tells whether a statement ends between two tokens that follow each other, because a line ends there and
// neither of them asks for more.
func (s *scanner) breaks(a, b int) bool {
	return s.line(a) != s.line(b) && !s.asksForMore(a) && !s.continues(b)
}

func (s *scanner) asksForMore(i int) bool {
	switch text := s.text(i); text {
	case ")", "]", "}", `"`, ">", ";", "":
		return false
	case "extends", "implements", "new", "typeof", "keyof", "in", "as", "await", "else":
		return true
	default:
		return !isNameByte(text[0])
	}
}

func (s *scanner) continues(i int) bool {
	switch text := s.text(i); text {
	case "@", `"`, "{", "#", "}", "":
		return false
	case "extends", "implements", "in", "instanceof", "as", "satisfies", "of", "is", "where", "else", "throws", "with":
		return true
	default:
		return !isNameByte(text[0])
	}
}

// add keeps a declaration whose name is that of a token.
func (s *scanner) add(kind, owner string, name, last int) {
	s.addNamed(kind, owner+s.text(name), name, last)
}

func (s *scanner) addNamed(kind, name string, at, last int) {
	s.found = append(s.found, Symbol{Kind: kind, Name: name, Line: s.line(at), End: max(s.line(at), s.line(last))})
}

// within runs walk on the tokens between a brace and its end, unless that is deeper than anybody nests.
func (s *scanner) within(open, last int, walk func(from, to int)) {
	if open < 0 || s.depth >= deepest {
		return
	}
	to := last
	if s.text(last) != "}" {
		to = last + 1
	}
	s.depth++
	walk(open+1, to)
	s.depth--
}
