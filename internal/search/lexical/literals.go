package lexical

import (
	"strings"
	"unicode/utf8"
)

// literal moves past a string or character described by the table, if one begins here, and reports
// whether it did.
func (s *Scanner) literal(c byte) bool {
	for _, quote := range s.long {
		if c == quote[0] && s.HasPrefix(quote) {
			s.longString(quote)
			return true
		}
	}
	if strings.IndexByte(s.quotes, c) >= 0 {
		return s.quoted()
	}
	return s.chars && c == '\'' && s.character()
}

// longString moves past a string that may span lines, up to the next quote.
func (s *Scanner) longString(quote string) {
	s.quote = quote[0]
	s.At += len(quote)
	if s.escapes {
		s.escaped(quote)
	} else {
		s.until(quote)
	}
}

// until moves past the next end. If there is none, that is an error at the line of the token.
func (s *Scanner) until(end string) {
	begin := s.Line
	s.from = s.At
	n := strings.Index(s.Src[s.At:], end)
	if n < 0 {
		s.Skip(len(s.Src))
		s.to = s.At
		s.Fail(begin, "string is not closed")
		return
	}
	s.Skip(n + len(end))
	s.to = s.At - len(end)
}

// escaped moves past the next end that is not preceded by a backslash.
func (s *Scanner) escaped(end string) {
	begin := s.Line
	s.from = s.At
	for i := s.At; i < len(s.Src); i++ {
		switch c := s.Src[i]; {
		case c == '\\':
			i++
		case c == end[0] && strings.HasPrefix(s.Src[i:], end):
			s.to = i
			s.Skip(i + len(end) - s.At)
			return
		}
	}
	s.Skip(len(s.Src))
	s.to = s.At
	s.Fail(begin, "string is not closed")
}

// quoted moves past a literal that begins and ends with the next byte, and ends on its line. A
// backslash escapes the next byte, also a line end. If the literal is not closed on its line,
// quoted leaves it and returns false.
func (s *Scanner) quoted() bool {
	quote := s.Src[s.At]
	unclosed := s.unclosedBefore(quote)
	if s.At < *unclosed {
		return false
	}
	i := s.At + 1
	for ; i < len(s.Src) && s.Src[i] != '\n'; i++ {
		switch s.Src[i] {
		case quote:
			s.from, s.to, s.quote = s.At+1, i, quote
			s.Skip(i + 1 - s.At)
			return true
		case '\\':
			i++
			if s.at(i) == '\r' && s.at(i+1) == '\n' {
				i++
			}
		}
	}
	*unclosed = i
	return false
}

// unclosedBefore returns the offset before which a quote is known to be unclosed on its line.
func (s *Scanner) unclosedBefore(quote byte) *int {
	return &s.unclosed[1+strings.IndexByte(`'"`, quote)]
}

// character moves past a character in single quotes: a single one, or an escape.
func (s *Scanner) character() bool {
	rest := s.Src[s.At+1:]
	_, size := utf8.DecodeRuneInString(rest)
	switch {
	case strings.HasPrefix(rest, `\`):
		n := strings.IndexByte(rest[min(2, len(rest)):min(14, len(rest))], '\'')
		if n < 0 {
			return false
		}
		s.At += 1 + 2 + n + 1
	case size > 0 && rest[0] != '\'' && rest[0] != '\n' && strings.HasPrefix(rest[size:], "'"):
		s.At += 1 + size + 1
	default:
		return false
	}
	return true
}

// A nesting is a literal, or code within one, that the scanner is in.
type nesting struct {
	open, closing byte // open is 0 if the literal cannot be nested
	depth         int
	code          bool
	plain         bool // contains no code
}

// interpolated moves past the rest of a literal that ends with the byte closing. begins is what
// starts code in the literal. Code extends to a closing brace and may contain literals of its own,
// and so on. open and closing may be nested in the literal, unless open is 0.
func (s *Scanner) interpolated(open, closing byte, begins string) {
	line := s.Line
	s.from = s.At
	stack := []nesting{{open: open, closing: closing, plain: begins == ""}}
	for s.At < len(s.Src) {
		top := &stack[len(stack)-1]
		c := s.Src[s.At]
		switch {
		case c == '\\' || top.code && c == '$': // $' does not begin a string
			s.Skip(1)
		case c == top.closing && top.depth == 0:
			if stack = stack[:len(stack)-1]; len(stack) == 0 {
				s.to, s.quote = s.At, closing
				s.At++
				return
			}
		case c == top.closing:
			top.depth--
		case c == top.open && c != 0:
			top.depth++
		case top.code:
			if inner, ok := s.literalInCode(); ok {
				stack = append(stack, inner)
			}
		case !top.plain && s.HasPrefix(begins):
			s.At += strings.IndexByte(begins, '{')
			stack = append(stack, nesting{open: '{', closing: '}', code: true})
		}
		s.Skip(1)
	}
	s.to = s.At
	s.Fail(line, "string is not closed")
}

// literalInCode returns the literal that begins here in the code of another one, and moves to the
// last byte of its opening delimiter.
func (s *Scanner) literalInCode() (nesting, bool) {
	switch c := s.Src[s.At]; {
	case c == '\'':
		return nesting{closing: c, plain: true}, true
	case c == '"' || c == '`':
		return nesting{closing: c}, true
	case c == '/' && strings.IndexByte("({[,=~|&", s.Src[s.At-1]) >= 0:
		return nesting{closing: c}, true
	case c == '%' && s.At+2 < len(s.Src) && strings.IndexByte("qQrwW", s.Src[s.At+1]) >= 0:
		open, closing := pair(s.Src[s.At+2])
		if open != 0 {
			s.At += 2
		}
		return nesting{open: open, closing: closing}, open != 0
	}
	return nesting{}, false
}

// pair returns the opening and closing delimiters of a literal that begins with c. open is 0 if
// they are the same.
func pair(c byte) (open, closing byte) {
	if i := strings.IndexByte("([{<", c); i >= 0 {
		return c, ")]}>"[i]
	}
	return 0, c
}

// hereDocuments moves past the pending here-documents, which begin on this line. If the end of one
// may be indented, its pending name begins with a space.
func (s *Scanner) hereDocuments() {
	begin := s.Line - 1
	for ; len(s.pending) > 0; s.pending = s.pending[1:] {
		name := strings.TrimLeft(s.pending[0], " ")
		for ; ; s.Skip(1) {
			if s.At >= len(s.Src) {
				s.Fail(begin, "heredoc "+name+" is not closed")
				s.pending = nil
				return
			}
			line := strings.TrimSuffix(s.restOfLine(), "\r")
			if line == name || name != s.pending[0] && strings.TrimLeft(line, " \t") == name {
				break
			}
		}
	}
}

// hereName reads the name of a here-document, quoted or not, and returns its length including
// quotes.
func hereName(text string) (name string, length int) {
	if text == "" || IsDigit(text[0]) {
		return "", 0
	}
	if c := text[0]; c == '\'' || c == '"' || c == '`' {
		n := strings.IndexByte(text[1:min(len(text), 200)], c)
		if n < 0 || strings.Contains(text[1:n+1], "\n") {
			return "", 0
		}
		return text[1 : n+1], n + 2
	}
	for length < len(text) && IsWordByte(text[length]) {
		length++
	}
	return text[:length], length
}
