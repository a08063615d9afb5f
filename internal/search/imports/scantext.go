package imports

import "strings"

// isWordByte tells whether a byte may stand in a name of most languages; whatever is not ASCII may.
func isWordByte(c byte) bool { return isLetter(c) || isDigit(c) || c == '_' || c == '$' || c >= 0x80 }

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// lineEnd gives the end of the line of a place.
func lineEnd[T string | []byte](src T, at int) int {
	for at < len(src) && src[at] != '\n' {
		at++
	}
	return at
}

// has tells whether the text goes on with prefix.
func (s *scanner) has(prefix string) bool {
	return strings.HasPrefix(s.src[s.at:], prefix)
}

// skip moves past n bytes, or to the end if there are fewer.
func (s *scanner) skip(n int) {
	to := min(s.at+n, len(s.src))
	if n == 1 && to > s.at {
		if s.src[s.at] == '\n' {
			s.line++
		}
		s.at = to
		return
	}
	s.line += strings.Count(s.src[s.at:to], "\n")
	s.at = to
}

// restOfLine moves to the end of the line, and returns what was before it.
func (s *scanner) restOfLine() string {
	start := s.at
	for {
		n := strings.IndexByte(s.src[s.at:], '\n')
		if n < 0 {
			s.at = len(s.src)
			return s.src[start:]
		}
		s.at += n
		if !s.spliced || !strings.HasSuffix(strings.TrimSuffix(s.src[start:s.at], "\r"), `\`) {
			return s.src[start:s.at]
		}
		s.skip(1)
	}
}

// until moves past the next end, and returns what is before it. A text without end is an error that says what is open.
func (s *scanner) until(end, what string) string {
	start, begin := s.at, s.line
	n := strings.Index(s.src[s.at:], end)
	if n < 0 {
		s.skip(len(s.src))
		s.fail(begin, what+" is not closed")
		return s.src[start:]
	}
	s.skip(n + len(end))
	return s.src[start : start+n]
}

// quoted moves past a literal that begins and ends with the byte at s.at and in which a backslash takes away the next
// byte's meaning, and returns what is in it. Unless lines is set it ends with its line at the latest: a quote that is
// not closed hides no more than that. With lines it is an error if it is not closed.
func (s *scanner) quoted(lines bool) string {
	quote, begin := s.src[s.at], s.line
	s.at++
	for start := s.at; s.at < len(s.src); {
		switch c := s.src[s.at]; {
		case c == quote:
			s.at++
			return s.src[start : s.at-1]
		case c == '\\':
			s.skip(2)
		case c == '\n' && !lines:
			return s.src[start:s.at]
		default:
			s.at++
			if c == '\n' {
				s.line++
			}
		}
	}
	if lines {
		s.fail(begin, "string is not closed")
	}
	return ""
}

// A nesting is a literal, or code within one, that a scanner is in.
type nesting struct {
	open, shut byte // open is 0 if the literal cannot hold itself
	depth      int
	code       bool
	plain      bool // holds no code
}

// interpolated moves past the rest of a literal that the byte shut ends, and returns what is in it. In it begins says
// where code begins, up to a brace, which may have literals of its own, and so on. Between open and shut there may be
// more of them, unless open is 0.
func (s *scanner) interpolated(open, shut byte, begins string) string {
	start, line := s.at, s.line
	stack := []nesting{{open: open, shut: shut, plain: begins == ""}}
	for s.at < len(s.src) {
		top := &stack[len(stack)-1]
		c := s.src[s.at]
		switch {
		case c == '\\' || top.code && c == '$': // $' is no string
			s.skip(1)
		case c == top.shut && top.depth == 0:
			if stack = stack[:len(stack)-1]; len(stack) == 0 {
				s.at++
				return s.src[start : s.at-1]
			}
		case c == top.shut:
			top.depth--
		case c == top.open && c != 0:
			top.depth++
		case top.code:
			if inner, ok := s.literalInCode(); ok {
				stack = append(stack, inner)
			}
		case !top.plain && s.has(begins):
			s.at += strings.IndexByte(begins, '{')
			stack = append(stack, nesting{open: '{', shut: '}', code: true})
		}
		s.skip(1)
	}
	s.fail(line, "string is not closed")
	return ""
}

// literalInCode tells what literal begins at s.at in the code of another, and moves to the last byte of its beginning.
func (s *scanner) literalInCode() (nesting, bool) {
	switch c := s.src[s.at]; {
	case c == '\'':
		return nesting{shut: c, plain: true}, true
	case c == '"' || c == '`':
		return nesting{shut: c}, true
	case c == '/' && strings.IndexByte("({[,=~|&", s.src[s.at-1]) >= 0:
		return nesting{shut: c}, true
	case c == '%' && s.at+2 < len(s.src) && strings.IndexByte("qQrwW", s.src[s.at+1]) >= 0:
		open, shut := pair(s.src[s.at+2])
		if open != 0 {
			s.at += 2
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

// fail notes what is wrong, unless something was before.
func (s *scanner) fail(line int, why string) {
	if s.err == nil {
		s.err = &SyntaxError{Line: line, Why: why}
	}
}
