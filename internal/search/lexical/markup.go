package lexical

import "strings"

// markup reads an element up to its end, or to the start of an expression in it.
func (j *script) markup(s *Scanner) Kind {
	start, line := s.At, s.Line
	for s.At < len(s.Src) && (j.top() == inTag || j.top() == inElement) {
		if j.top() == inElement {
			j.content(s)
		} else if unclosed := j.tag(s); unclosed >= 0 {
			s.Fail(line+strings.Count(s.Src[start:unclosed], "\n"), "unterminated string")
			s.At = len(s.Src)
		}
	}
	end := min(s.At, len(s.Src))
	s.At, s.Line = start, line
	s.Skip(end - start)
	return Text
}

// tag reads an opening tag up to its end, or to the start of an expression in it. It returns the
// offset of an unclosed string, or -1.
func (j *script) tag(s *Scanner) (unclosed int) {
	assigned := false
	for ; s.At < len(s.Src); s.At++ {
		switch c := s.Src[s.At]; {
		case c == '"' || c == '\'':
			n := strings.IndexByte(s.Src[s.At+1:], c)
			if n < 0 {
				return s.At
			}
			s.At += n + 1
		case c == '{':
			j.push(s, jsxExpr, true)
			s.At++
			return -1
		case c == '/' && s.at(s.At+1) == '>':
			s.At += 2
			j.pop()
			return -1
		case c == '/' && s.comment():
			s.At--
			continue
		case c == '>':
			j.open[len(j.open)-1].kind = inElement
			s.At++
			return -1
		case c == '<' && assigned:
			j.push(s, inTag, true)
		case c == '<':
			s.At = j.typeArguments(s, s.At, len(s.Src)) - 1
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			continue
		}
		assigned = s.at(s.At) == '='
	}
	return -1
}

// content reads the content between two tags.
func (j *script) content(s *Scanner) {
	n := strings.IndexAny(s.Src[s.At:], "<{")
	if n < 0 {
		s.At = len(s.Src)
		return
	}
	s.At += n + 1
	switch {
	case s.Src[s.At-1] == '{':
		j.push(s, jsxExpr, true)
	case s.at(s.At) != '/':
		j.push(s, inTag, true)
	default:
		if n = strings.IndexByte(s.Src[s.At:], '>'); n < 0 {
			s.At = len(s.Src)
			return
		}
		s.At += n + 1
		j.pop()
	}
}

// typeArguments returns the end of <...> in a tag, but at most limit.
func (j *script) typeArguments(s *Scanner, pos, limit int) int {
	depth := 0
	for ; pos < limit; pos++ {
		switch c := s.Src[pos]; c {
		case '<':
			depth++
		case '>':
			if s.Src[pos-1] == '=' {
				continue
			}
			if depth--; depth == 0 {
				return pos + 1
			}
		case '"', '\'':
			n := strings.IndexByte(s.Src[pos+1:limit], c)
			if n < 0 {
				return limit
			}
			pos += n + 1
		}
	}
	return limit
}

// elementBegins reports whether the < at pos, where an expression may begin, opens an element. In
// TypeScript it can also be a type assertion or the type parameters of a generic function. What
// follows the name decides, or whether there is a closing tag of that name.
func (j *script) elementBegins(s *Scanner, pos int) bool {
	from := j.blanks(s, pos+1)
	if s.at(from) == '>' {
		return true
	}
	end := from
	for end < len(s.Src) && (isScriptByte(s.Src[end]) || end > from && (s.Src[end] == '.' || s.Src[end] == '-' || s.Src[end] == ':')) {
		end++
	}
	name := s.Src[from:end]
	if name == "" || isTypeWord(name) {
		return false
	}
	next := j.blanks(s, end)
	switch c := s.at(next); {
	case c == '/', c == '{':
		return true
	case c == '>':
		return j.closesAfter(s, name, next)
	case c == '<':
		return j.closesAfter(s, name, next) || j.tagAfter(s, j.typeArguments(s, next, min(next+1024, len(s.Src))))
	case isScriptByte(c):
		return !j.extends(s, next)
	}
	return false
}

// isTypeWord reports whether a word begins a type and not a tag.
func isTypeWord(word string) bool {
	switch word {
	case "any", "string", "number", "boolean", "unknown", "never", "void", "bigint", "null", "undefined",
		"const", "keyof", "typeof", "readonly", "unique", "infer", "in", "out":
		return true
	}
	return false
}

// extends reports whether a constraint of a type parameter follows, rather than an attribute named
// extends.
func (j *script) extends(s *Scanner, pos int) bool {
	rest, ok := strings.CutPrefix(s.Src[pos:], "extends")
	if !ok || len(rest) > 0 && isScriptByte(rest[0]) {
		return false
	}
	c := s.at(j.blanks(s, pos+len("extends")))
	return c != '=' && c != '>' && c != '/'
}

// tagAfter reports whether a tag continues after its type arguments.
func (j *script) tagAfter(s *Scanner, pos int) bool {
	at := j.blanks(s, pos)
	c := s.at(at)
	return c == '{' || c == '/' && s.at(at+1) == '>' || at > pos && isScriptByte(c)
}

// closesAfter reports whether there is a closing tag of that name after pos.
func (j *script) closesAfter(s *Scanner, name string, pos int) bool {
	if j.closings == nil {
		j.findClosings(s)
	}
	return j.closings[name] > pos
}

// findClosings records, for each name, the last place of what looks like its closing tag.
func (j *script) findClosings(s *Scanner) {
	j.closings = map[string]int{}
	for pos := 0; ; {
		n := strings.Index(s.Src[pos:], "</")
		if n < 0 {
			return
		}
		start := j.blanks(s, pos+n+2)
		for pos = start; pos < len(s.Src) && (isScriptByte(s.Src[pos]) || s.Src[pos] == '.' || s.Src[pos] == '-' || s.Src[pos] == ':'); pos++ {
			continue
		}
		j.closings[s.Src[start:pos]] = start
	}
}

// blanks skips white space.
func (j *script) blanks(s *Scanner, pos int) int {
	for pos < len(s.Src) && (s.Src[pos] == ' ' || s.Src[pos] == '\t' || s.Src[pos] == '\n' || s.Src[pos] == '\r') {
		pos++
	}
	return pos
}

// isScriptByte reports whether a byte can be part of an identifier, a private name or a decorator.
func isScriptByte(c byte) bool { return IsWordByte(c) || c == '#' || c == '@' || c == '\\' }
