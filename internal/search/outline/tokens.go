package outline

import (
	"strings"

	"remit/internal/search/lexical"
)

// A token is a name, a number or a symbol of code.
type token struct {
	start, end int32
	line       int32
	partner    int32 // of a bracket: the token that closes or opens it; -1 if there is none
}

// A scanner walks over the tokens of a file and collects their declarations. All its steps go
// forward and lookahead is limited, so that the time is linear.
type scanner struct {
	code   string
	tokens []token
	found  []Symbol
	depth  int
}

// maxDepth limits the nesting of declarations.
const maxDepth = 100

func newScanner(language string, content []byte) *scanner {
	s, _ := lexical.Read(language, content, readTokens)
	s.pair()
	return s
}

// literal is the partner of a token at the end of a literal.
const literal = -2

// readTokens reads the tokens of a file. A literal becomes two quote tokens at its ends.
func readTokens(l *lexical.Scanner) *scanner {
	s := &scanner{code: l.Src}
	l.Comments = l.Preprocessed // comments may be between directives
	for t := l.Next(); t.Kind != lexical.End; t = l.Next() {
		start, end, line := int32(t.Start), int32(t.End), int32(t.Line)
		switch t.Kind {
		case lexical.Text:
			s.tokens = append(s.tokens, token{start, start + 1, line, literal}, token{end - 1, end, int32(l.Line), literal})
			continue
		case lexical.Mark:
			if l.Preprocessed && t.FirstOnLine && t.Text == "#" {
				l.Skip(pastDirective(l.Src, t.Start) - l.At)
				continue
			}
			if last := len(s.tokens) - 1; last >= 0 && s.tokens[last].end == start && joins(s.text(last), t.Text) {
				s.tokens[last].end = end
				continue
			}
		case lexical.Comment:
			if l.Src[t.Start] == '#' {
				l.Skip(pastDirective(l.Src, t.Start) - l.At)
			}
			continue
		}
		s.tokens = append(s.tokens, token{start, end, line, -1})
	}
	return s
}

// joins reports whether two marks form one symbol that would mean something else separately.
func joins(before, mark string) bool {
	return before == "=" && mark == ">" || before == "-" && mark == ">" || before == ":" && mark == ":"
}

// pair finds the partners of brackets. It skips unmatched ones.
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

// close makes a token the partner of the last open bracket.
func (s *scanner) close(open []int32, i int) []int32 {
	last := open[len(open)-1]
	s.tokens[i].partner, s.tokens[last].partner = last, int32(i)
	return open[:len(open)-1]
}

// otherBracket returns the kind of bracket that cannot be closed by this token.
func otherBracket(closing string) string {
	if closing == ")" {
		return "["
	}
	return "("
}

// text returns the text of a token; "" beyond the last.
func (s *scanner) text(i int) string {
	if i < 0 || i >= len(s.tokens) {
		return ""
	}
	if s.tokens[i].partner == literal {
		return `"`
	}
	return s.code[s.tokens[i].start:s.tokens[i].end]
}

// isName reports whether a token is a name or a keyword.
func (s *scanner) isName(i int) bool {
	text := s.text(i)
	return text != "" && lexical.IsWordByte(text[0]) && (text[0] < '0' || text[0] > '9')
}

func (s *scanner) line(i int) int {
	if len(s.tokens) == 0 {
		return 1
	}
	return int(s.tokens[max(0, min(i, len(s.tokens)-1))].line)
}

// past returns the token after this one, or after its partner if it opens a bracket. A brace that
// is never closed extends to the end.
func (s *scanner) past(i int) int {
	switch partner := int(s.tokens[i].partner); {
	case partner > i:
		return partner + 1
	case s.text(i) == "{" && partner < 0:
		return len(s.tokens)
	}
	return i + 1
}

// maxLookahead is the number of tokens examined for the end of possible angle brackets.
const maxLookahead = 200

// pastAngle returns the token after <...>, or the same token if there are no angle brackets.
func (s *scanner) pastAngle(i int) int {
	if s.text(i) != "<" {
		return i
	}
	depth := 0
	for j, n := i, 0; j < len(s.tokens) && n < maxLookahead; n++ {
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

// body returns the last token of a declaration whose head continues at i: the brace that closes its
// body, or the end of the statement if it has none. open is the body's first token, or -1.
//
// newlines is set for a language where line ends end statements, types for one where types can
// contain braces.
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

// isTypeAfter reports whether a brace after this token begins a type, not a body.
func (s *scanner) isTypeAfter(i int) bool {
	switch s.text(i) {
	case ":", "|", "&", "<", ",", "=>", "?", "=", "is", "extends", "keyof":
		return true
	}
	return false
}

// end returns the last token of the statement that begins at i, in a language where line ends end
// statements.
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

// breaks reports whether a statement ends between two adjacent tokens, because a line ends there
// and neither of them requires continuation.
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
		return !lexical.IsWordByte(text[0])
	}
}

func (s *scanner) continues(i int) bool {
	switch text := s.text(i); text {
	case "@", `"`, "{", "#", "}", "":
		return false
	case "extends", "implements", "in", "instanceof", "as", "satisfies", "of", "is", "where", "else", "throws", "with":
		return true
	default:
		return !lexical.IsWordByte(text[0])
	}
}

// add adds a declaration whose name is that of a token.
func (s *scanner) add(kind, owner string, name, last int) {
	s.addNamed(kind, owner+s.text(name), name, last)
}

func (s *scanner) addNamed(kind, name string, at, last int) {
	s.found = append(s.found, Symbol{Kind: kind, Name: name, Line: s.line(at), End: max(s.line(at), s.line(last))})
}

// within runs walk on the tokens between a brace and its end, unless the nesting is too deep.
func (s *scanner) within(open, last int, walk func(from, to int)) {
	if open < 0 || s.depth >= maxDepth {
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

// pastDirective returns the end of the preprocessor line that begins at a position. Of several
// branches the first counts, or the second after #if 0, so that braces stay balanced: the others
// are skipped as well.
func pastDirective(src string, at int) int {
	end := directiveEnd(src, at)
	word, rest := firstWord([]byte(src[at+1 : rawLineEnd(src, at)]))
	switch word {
	case "else", "elif", "elifdef", "elifndef":
		return pastBranch(src, end, false)
	case "if":
		if condition := strings.TrimSpace(string(rest)); condition == "0" || condition == "false" {
			return pastBranch(src, end, true)
		}
	}
	return end
}

func rawLineEnd(src string, from int) int {
	if i := strings.IndexByte(src[from:], '\n'); i >= 0 {
		return from + i
	}
	return len(src)
}

// directiveEnd returns the end of a directive, which continues after a backslash at the end of a
// line.
func directiveEnd(src string, at int) int {
	for {
		end := rawLineEnd(src, at)
		line := strings.TrimRight(src[at:end], "\r")
		if end == len(src) || !strings.HasSuffix(line, `\`) {
			return end
		}
		at = end + 1
	}
}

// pastBranch skips the lines of a branch that does not count: up to the #endif that ends it or, if
// another branch may count, to the end of the line that begins that one.
func pastBranch(src string, at int, orElse bool) int {
	for depth := 0; at < len(src); {
		end := rawLineEnd(src, at+1)
		line, isDirective := strings.CutPrefix(strings.TrimLeft(src[at+1:end], " \t"), "#")
		at = end
		if !isDirective {
			continue
		}
		switch word, _ := firstWord([]byte(line)); word {
		case "if", "ifdef", "ifndef":
			depth++
		case "endif":
			if depth == 0 {
				return end
			}
			depth--
		case "else", "elif":
			if depth == 0 && orElse {
				return end
			}
		}
	}
	return len(src)
}
