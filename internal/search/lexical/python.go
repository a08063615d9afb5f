package lexical

import "strings"

// maxFieldDepth is the maximum nesting depth of replacement fields in Python's f-strings.
const maxFieldDepth = 100

// textOfPython reads strings with their prefixes.
func textOfPython(s *Scanner) Kind {
	n := s.pythonPrefix(s.At)
	if n < 0 {
		return End
	}
	start, line, column, failed := s.At, s.Line, s.At+n, s.Err
	unclosed := s.unclosedBefore(s.Src[column])
	if column < *unclosed {
		return End
	}
	prefix := s.Src[start:column]
	s.At = column
	closed := s.pythonString(prefix, s.depth)
	if !closed && s.Err == failed { // an unclosed string of one line: the quote is not a string
		*unclosed = s.At
		s.At, s.Line = start, line
		return End
	}
	quotes := quotesOfPython(s.Src[column:])
	s.from, s.to = column+quotes, max(s.At-quotes, column+quotes)
	inner := s.Src[s.from:s.to]
	if closed && !strings.ContainsAny(prefix, "bBfFtT") && !strings.Contains(inner, `\`) && !strings.HasSuffix(inner, "\n") {
		s.quote = s.Src[column]
	}
	return Text
}

// pythonPrefix returns the length of the string prefix at a place, or -1 if no string begins there.
func (s *Scanner) pythonPrefix(place int) int {
	for n := range 3 {
		switch c := s.at(place + n); {
		case c == '"' || c == '\'':
			return n
		case strings.IndexByte("rRuUbBfFtT", c) < 0 || c == 0:
			return -1
		}
	}
	return -1
}

// quotesOfPython returns how many quotes a string begins with.
func quotesOfPython(text string) int {
	if strings.HasPrefix(text, `"""`) || strings.HasPrefix(text, "'''") {
		return 3
	}
	return 1
}

// pythonString moves past a string, beginning at its quote. It reports whether the string is
// closed. A string with single quotes is not closed if its line ends first.
func (s *Scanner) pythonString(prefix string, depth int) bool {
	line := s.Line
	quote := s.Src[s.At : s.At+quotesOfPython(s.Src[s.At:])]
	s.At += len(quote)
	raw, fields := strings.ContainsAny(prefix, "rR"), strings.ContainsAny(prefix, "fFtT")
	for s.At < len(s.Src) {
		c := s.Src[s.At]
		switch {
		case c == '\n' && len(quote) == 1:
			return false
		case c == quote[0] && s.HasPrefix(quote):
			s.At += len(quote)
			return true
		case c == '\\':
			s.pythonEscape(raw, fields)
		case fields && s.HasPrefix("{{"):
			s.At += 2
		case fields && c == '{':
			s.pythonField(quote, depth+1)
		default:
			s.pass(c)
		}
	}
	if len(quote) == 3 {
		s.Fail(line, "unterminated triple-quoted string literal")
	}
	return false
}

// pass moves past one byte.
func (s *Scanner) pass(c byte) {
	s.At++
	if c == '\n' {
		s.Line++
	}
}

// pythonEscape moves past a backslash in a string and what it escapes. In an f-string it does not
// escape a brace, except that of a named character.
func (s *Scanner) pythonEscape(raw, fields bool) {
	s.At++
	switch c := s.at(s.At); {
	case s.At >= len(s.Src) || fields && (c == '{' || c == '}'):
	case fields && !raw && s.HasPrefix("N{"):
		s.At += 2
	default:
		s.pass(c)
	}
}

// pythonField moves past a replacement field, beginning at its brace. quote is that of the string
// around it.
func (s *Scanner) pythonField(quote string, depth int) {
	line, brackets := s.Line, 0
	if depth > maxFieldDepth {
		s.Fail(line, "f-string: expressions nested too deeply")
		s.Skip(len(s.Src))
		return
	}
	s.At++
	for s.space(); s.At < len(s.Src); s.space() {
		switch c := s.Src[s.At]; {
		case c == '}' && brackets == 0:
			s.At++
			return
		case c == ':' && brackets == 0:
			s.At++
			s.pythonFormat(quote, depth)
			return
		default:
			brackets += bracketDepth(c)
			s.depth = depth
			s.token()
			s.depth = 0
		}
	}
	s.Fail(line, "f-string: expecting '}'")
}

func bracketDepth(c byte) int {
	switch c {
	case '(', '[', '{':
		return 1
	case ')', ']', '}':
		return -1
	}
	return 0
}

// pythonFormat moves past a format specifier and the brace that ends it. The format ends early if
// the string around it ends.
func (s *Scanner) pythonFormat(quote string, depth int) {
	for s.At < len(s.Src) {
		switch c := s.Src[s.At]; {
		case c == '}':
			s.At++
			return
		case s.HasPrefix(quote) || c == '\n' && len(quote) == 1:
			return
		case c == '{':
			s.pythonField(quote, depth+1)
		default:
			s.pass(c)
		}
	}
}
