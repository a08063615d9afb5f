package imports

import (
	"bytes"
	"strings"
)

type pythonKind uint8

const (
	pythonEnd     pythonKind = iota // the end of the text, or of what can be read of it
	pythonNewline                   // the end of a line that is not within brackets
	pythonName                      // a name or a keyword
	pythonText                      // a string of which text is the content
	pythonOther                     // a string with escapes, bytes, or an f-string
	pythonMark                      // one byte of anything else
)

type pythonToken struct {
	kind pythonKind
	text string
	line int
}

func (t pythonToken) is(text string) bool {
	return t.text == text && (t.kind == pythonName || t.kind == pythonMark)
}

// A pythonScanner walks over Python source token by token, once. It takes every text as it comes: a bracket or a string
// of several lines that is never closed is noted as its error, and ends it.
type pythonScanner struct {
	src  string
	at   int
	line int
	open []pythonToken // brackets that are open
	tok  pythonToken   // the current token
	err  error
}

// pythonNesting is how deep f-strings may stand within each other.
const pythonNesting = 100

func scanPython(content []byte) *pythonScanner {
	content = bytes.TrimPrefix(content, []byte("\ufeff"))
	source := string(content)
	if strings.Contains(source, "\r") {
		source = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(source)
	}
	s := &pythonScanner{src: source, line: 1}
	s.next()
	return s
}

// fail notes what is wrong, and ends the text.
func (s *pythonScanner) fail(line int, why string) {
	if s.err == nil {
		s.err = &SyntaxError{Line: line, Why: why}
	}
	s.at = len(s.src)
}

// next goes to the next token.
func (s *pythonScanner) next() {
	s.blank()
	s.tok = pythonToken{line: s.line}
	if s.at >= len(s.src) {
		if len(s.open) > 0 {
			last := s.open[len(s.open)-1]
			s.fail(last.line, "'"+last.text+"' was never closed")
		}
		return
	}
	start, c := s.at, s.src[s.at]
	switch {
	case c == '\n':
		s.at, s.line = s.at+1, s.line+1
		s.tok.kind = pythonNewline
	case c == '"' || c == '\'':
		s.text("")
	case isPythonWord(c):
		for s.at < len(s.src) && isPythonWord(s.src[s.at]) {
			s.at++
		}
		if word := s.src[start:s.at]; s.at < len(s.src) && (s.src[s.at] == '"' || s.src[s.at] == '\'') && isPythonPrefix(word) {
			s.text(word)
		} else {
			s.tok.kind, s.tok.text = pythonName, word
		}
	default:
		s.at++
		s.tok.kind, s.tok.text = pythonMark, s.src[start:s.at]
		s.bracket(c)
	}
}

// blank passes over spaces, comments, continued lines, and line ends within brackets.
func (s *pythonScanner) blank() {
	for s.at < len(s.src) {
		switch c := s.src[s.at]; {
		case c == ' ' || c == '\t' || c == '\f':
			s.at++
		case c == '#':
			s.comment()
		case c == '\\' && strings.HasPrefix(s.src[s.at:], "\\\n"):
			s.at, s.line = s.at+2, s.line+1
		case c == '\n' && len(s.open) > 0:
			s.at, s.line = s.at+1, s.line+1
		default:
			return
		}
	}
}

func (s *pythonScanner) comment() {
	s.at = lineEnd(s.src, s.at)
}

func (s *pythonScanner) bracket(c byte) {
	switch c {
	case '(', '[', '{':
		s.open = append(s.open, s.tok)
	case ')', ']', '}':
		if len(s.open) > 0 {
			s.open = s.open[:len(s.open)-1]
		}
	}
}

func isPythonWord(c byte) bool {
	return isWordByte(c) && c != '$'
}

// isPythonPrefix tells whether a word before a quote says what kind of string follows.
func isPythonPrefix(word string) bool {
	switch strings.ToLower(word) {
	case "r", "u", "b", "f", "t", "br", "rb", "fr", "rf", "tr", "rt":
		return true
	}
	return false
}

// text reads a string, from its quote on, into the current token.
func (s *pythonScanner) text(prefix string) {
	start := s.at
	quotes := s.quoted(prefix, 0)
	s.tok.kind = pythonOther
	if s.err != nil || strings.ContainsAny(prefix, "bBfFtT") || s.at-start < 2*quotes {
		return
	}
	content := s.src[start+quotes : s.at-quotes]
	if !strings.Contains(content, "\\") && !strings.HasSuffix(content, "\n") {
		s.tok.kind, s.tok.text = pythonText, content
	}
}

// quoted passes over a string, from its quote on, and says how many quotes it begins with. A string of one line ends
// with the line if it is not closed.
func (s *pythonScanner) quoted(prefix string, depth int) int {
	line, quote := s.line, s.src[s.at:s.at+1]
	if triple := strings.Repeat(quote, 3); strings.HasPrefix(s.src[s.at:], triple) {
		quote = triple
	}
	s.at += len(quote)
	raw, fields := strings.ContainsAny(prefix, "rR"), strings.ContainsAny(prefix, "fFtT")
	for s.at < len(s.src) {
		c := s.src[s.at]
		switch {
		case c == '\n' && len(quote) == 1:
			return 1
		case strings.HasPrefix(s.src[s.at:], quote):
			s.at += len(quote)
			return len(quote)
		case c == '\\':
			s.escape(raw, fields)
		case fields && strings.HasPrefix(s.src[s.at:], "{{"):
			s.at += 2
		case fields && c == '{':
			s.field(quote, depth+1)
		default:
			s.pass(c)
		}
	}
	if len(quote) == 3 {
		s.fail(line, "unterminated triple-quoted string literal")
	}
	return len(quote)
}

// pass goes over one byte.
func (s *pythonScanner) pass(c byte) {
	s.at++
	if c == '\n' {
		s.line++
	}
}

// escape passes over a backslash in a string and what it takes with it. In an f-string that is no brace, unless it gives a
// character its name.
func (s *pythonScanner) escape(raw, fields bool) {
	s.at++
	rest := s.src[s.at:]
	switch {
	case rest == "" || fields && (rest[0] == '{' || rest[0] == '}'):
	case fields && !raw && strings.HasPrefix(rest, "N{"):
		s.at += 2
	default:
		s.pass(rest[0])
	}
}

// field passes over a replacement field of an f-string, from its brace on. quote is that of the string around it.
func (s *pythonScanner) field(quote string, depth int) {
	line, brackets := s.line, 0
	if depth > pythonNesting {
		s.fail(line, "f-string: expressions nested too deeply")
		return
	}
	for s.at++; s.at < len(s.src); {
		c, start := s.src[s.at], s.at
		switch {
		case c == '}' && brackets == 0:
			s.at++
			return
		case c == ':' && brackets == 0:
			s.at++
			s.format(quote, depth)
			return
		case c == '"' || c == '\'':
			s.quoted("", depth)
		case isPythonWord(c):
			for s.at < len(s.src) && isPythonWord(s.src[s.at]) {
				s.at++
			}
			if s.at < len(s.src) && (s.src[s.at] == '"' || s.src[s.at] == '\'') && isPythonPrefix(s.src[start:s.at]) {
				s.quoted(s.src[start:s.at], depth)
			}
		case c == '#':
			s.comment()
		default:
			brackets += pythonDepth(c)
			s.pass(c)
		}
	}
	s.fail(line, "f-string: expecting '}'")
}

func pythonDepth(c byte) int {
	switch c {
	case '(', '[', '{':
		return 1
	case ')', ']', '}':
		return -1
	}
	return 0
}

// format passes over the format of a replacement field, with the brace that ends it. If the string around it ends first,
// so does the format.
func (s *pythonScanner) format(quote string, depth int) {
	for s.at < len(s.src) {
		switch c := s.src[s.at]; {
		case c == '}':
			s.at++
			return
		case strings.HasPrefix(s.src[s.at:], quote) || c == '\n' && len(quote) == 1:
			return
		case c == '{':
			s.field(quote, depth+1)
		default:
			s.pass(c)
		}
	}
}
