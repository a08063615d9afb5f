package lexical

import (
	"strings"
	"unicode/utf8"
)

// literal moves past a string or a character of the table, if one begins here.
func (s *Scanner) literal(c byte) bool {
	for _, quote := range s.long {
		if c == quote[0] && s.Has(quote) {
			s.longString(quote)
			return true
		}
	}
	if strings.IndexByte(s.quotes, c) >= 0 {
		return s.quoted()
	}
	return s.chars && c == '\'' && s.character()
}

// longString moves past a string that goes on over lines, up to the same quote again.
func (s *Scanner) longString(quote string) {
	s.quote = quote[0]
	s.At += len(quote)
	if s.escapes {
		s.escaped(quote)
	} else {
		s.until(quote)
	}
}

// until moves past the next end. A text without one is an error, at the line of the token.
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

// escaped moves past the next end before which no backslash stands.
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

// quoted moves past a literal that begins and ends with the byte that is next, and ends on its line; a backslash takes away
// the next byte's meaning, also that of the line's end. A quote that is not closed so is none, and is left.
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

// unclosedBefore gives the place before which a quote is known to have no end on its line.
func (s *Scanner) unclosedBefore(quote byte) *int {
	return &s.unclosed[1+strings.IndexByte(`'"`, quote)]
}

// character moves past a character in single quotes: one alone, or one after a backslash.
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

// A nesting is a literal, or code within one, that a scanner is in.
type nesting struct {
	open, shut byte // open is 0 if the literal cannot hold itself
	depth      int
	code       bool
	plain      bool // holds no code
}

// interpolated moves past the rest of a literal that the byte shut ends. In it begins says where code begins, up to a brace,
// which may have literals of its own, and so on. Between open and shut there may be more of them, unless open is 0.
func (s *Scanner) interpolated(open, shut byte, begins string) {
	line := s.Line
	s.from = s.At
	stack := []nesting{{open: open, shut: shut, plain: begins == ""}}
	for s.At < len(s.Src) {
		top := &stack[len(stack)-1]
		c := s.Src[s.At]
		switch {
		case c == '\\' || top.code && c == '$': // $' is no string
			s.Skip(1)
		case c == top.shut && top.depth == 0:
			if stack = stack[:len(stack)-1]; len(stack) == 0 {
				s.to, s.quote = s.At, shut
				s.At++
				return
			}
		case c == top.shut:
			top.depth--
		case c == top.open && c != 0:
			top.depth++
		case top.code:
			if inner, ok := s.literalInCode(); ok {
				stack = append(stack, inner)
			}
		case !top.plain && s.Has(begins):
			s.At += strings.IndexByte(begins, '{')
			stack = append(stack, nesting{open: '{', shut: '}', code: true})
		}
		s.Skip(1)
	}
	s.to = s.At
	s.Fail(line, "string is not closed")
}

// literalInCode tells what literal begins here in the code of another, and moves to the last byte of its beginning.
func (s *Scanner) literalInCode() (nesting, bool) {
	switch c := s.Src[s.At]; {
	case c == '\'':
		return nesting{shut: c, plain: true}, true
	case c == '"' || c == '`':
		return nesting{shut: c}, true
	case c == '/' && strings.IndexByte("({[,=~|&", s.Src[s.At-1]) >= 0:
		return nesting{shut: c}, true
	case c == '%' && s.At+2 < len(s.Src) && strings.IndexByte("qQrwW", s.Src[s.At+1]) >= 0:
		open, shut := pair(s.Src[s.At+2])
		if open != 0 {
			s.At += 2
		}
		return nesting{open: open, shut: shut}, open != 0
	}
	return nesting{}, false
}

// pair gives what opens and closes a literal that begins with a byte; open is 0 if they are the same.
func pair(c byte) (open, shut byte) {
	if i := strings.IndexByte("([{<", c); i >= 0 {
		return c, ")]}>"[i]
	}
	return 0, c
}

// hereDocuments moves past those that were to begin with this line. The name of one whose end may be indented begins with a
// space.
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

// hereName reads the name of a here-document, in quotes or not, and tells how long it is with them.
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
