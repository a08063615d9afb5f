package imports

import "bytes"

// tag reads on in an opening tag, to its end or to where an expression begins in it.
func (l *jsLexer) tag() {
	assigned := false
	for ; l.pos < len(l.src); l.pos++ {
		switch c := l.src[l.pos]; {
		case c == '"' || c == '\'':
			n := bytes.IndexByte(l.src[l.pos+1:], c)
			if n < 0 {
				l.fail(l.pos, "unterminated string")
				return
			}
			l.pos += n + 1
		case c == '{':
			l.push(jsxHole, true, l.pos)
			l.pos++
			l.fresh()
			return
		case c == '/' && l.at(l.pos+1) == '>':
			l.pos += 2
			l.elementEnds()
			return
		case c == '/' && (l.at(l.pos+1) == '/' || l.at(l.pos+1) == '*'):
			l.comment()
			continue
		case c == '>':
			l.open[len(l.open)-1].kind = jsxContent
			l.pos++
			return
		case c == '<' && assigned:
			l.push(jsxTag, true, l.pos)
		case c == '<':
			l.pos = l.typeArguments(l.pos, len(l.src)) - 1
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			continue
		}
		assigned = l.at(l.pos) == '='
	}
}

// content reads on in what stands between two tags.
func (l *jsLexer) content() {
	n := bytes.IndexAny(l.src[l.pos:], "<{")
	if n < 0 {
		l.pos = len(l.src)
		return
	}
	l.pos += n + 1
	switch {
	case l.src[l.pos-1] == '{':
		l.push(jsxHole, true, l.pos-1)
		l.fresh()
	case l.at(l.pos) != '/':
		l.push(jsxTag, true, l.pos-1)
	default:
		if n = bytes.IndexByte(l.src[l.pos:], '>'); n < 0 {
			l.pos = len(l.src)
			return
		}
		l.pos += n + 1
		l.elementEnds()
	}
}

func (l *jsLexer) elementEnds() {
	l.pop()
	l.fresh()
	l.value = true
}

// typeArguments finds the end of <...> in a tag, not beyond limit; it gives limit if there is none.
func (l *jsLexer) typeArguments(pos, limit int) int {
	depth := 0
	for ; pos < limit; pos++ {
		switch c := l.src[pos]; c {
		case '<':
			depth++
		case '>':
			if l.src[pos-1] == '=' {
				continue
			}
			if depth--; depth == 0 {
				return pos + 1
			}
		case '"', '\'':
			n := bytes.IndexByte(l.src[pos+1:limit], c)
			if n < 0 {
				return limit
			}
			pos += n + 1
		}
	}
	return limit
}

// elementBegins tells whether the < at pos, where an expression may begin, opens an element. In TypeScript it may as
// well be a conversion or the parameters of a generic function; what follows the name tells, or whether there is a
// closing tag of that name.
func (l *jsLexer) elementBegins(pos int) bool {
	from := l.blanks(pos + 1)
	if l.at(from) == '>' {
		return true
	}
	end := from
	for end < len(l.src) && (jsNameByte(l.src[end]) || end > from && (l.src[end] == '.' || l.src[end] == '-' || l.src[end] == ':')) {
		end++
	}
	name := string(l.src[from:end])
	if name == "" || jsTypeWord(name) {
		return false
	}
	next := l.blanks(end)
	switch c := l.at(next); {
	case c == '/', c == '{':
		return true
	case c == '>':
		return l.closesAfter(name, next)
	case c == '<':
		return l.closesAfter(name, next) || l.tagAfter(l.typeArguments(next, min(next+1024, len(l.src))))
	case jsNameByte(c):
		return !l.extends(next)
	}
	return false
}

// jsTypeWord tells words that begin a type, and no tag.
func jsTypeWord(word string) bool {
	switch word {
	case "any", "string", "number", "boolean", "unknown", "never", "void", "bigint", "null", "undefined",
		"const", "keyof", "typeof", "readonly", "unique", "infer", "in", "out":
		return true
	}
	return false
}

// extends tells whether the parameters of a generic function go on here with a bound, rather than an attribute of that
// name.
func (l *jsLexer) extends(pos int) bool {
	rest, ok := bytes.CutPrefix(l.src[pos:], []byte("extends"))
	if !ok || len(rest) > 0 && jsNameByte(rest[0]) {
		return false
	}
	c := l.at(l.blanks(pos + len("extends")))
	return c != '=' && c != '>' && c != '/'
}

// tagAfter tells whether a tag goes on behind the arguments of its type.
func (l *jsLexer) tagAfter(pos int) bool {
	at := l.blanks(pos)
	c := l.at(at)
	return c == '{' || c == '/' && l.at(at+1) == '>' || at > pos && jsNameByte(c)
}

// closesAfter tells whether a closing tag of that name stands somewhere behind pos.
func (l *jsLexer) closesAfter(name string, pos int) bool {
	if l.closings == nil {
		l.findClosings()
	}
	return l.closings[name] > pos
}

// findClosings notes for each name the last place of what looks like its closing tag.
func (l *jsLexer) findClosings() {
	l.closings = map[string]int{}
	for pos := 0; ; {
		n := bytes.Index(l.src[pos:], []byte("</"))
		if n < 0 {
			return
		}
		start := l.blanks(pos + n + 2)
		for pos = start; pos < len(l.src) && (jsNameByte(l.src[pos]) || l.src[pos] == '.' || l.src[pos] == '-' || l.src[pos] == ':'); pos++ {
			continue
		}
		l.closings[string(l.src[start:pos])] = start
	}
}

// blanks skips white space.
func (l *jsLexer) blanks(pos int) int {
	for pos < len(l.src) && (l.src[pos] == ' ' || l.src[pos] == '\t' || l.src[pos] == '\n' || l.src[pos] == '\r') {
		pos++
	}
	return pos
}
