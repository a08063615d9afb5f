package imports

import "bytes"

// A jsKind tells the tokens of JavaScript apart, as far as imports ask for it.
type jsKind uint8

const (
	jsEnd      jsKind = iota
	jsName            // an identifier or a keyword
	jsString          // 'x' or "x"
	jsTemplate        // `x`, with nothing filled in
	jsSign            // a punctuator, mostly of one character
	jsOther           // a number, a regular expression, a piece of a template or of JSX
)

type jsToken struct {
	kind       jsKind
	start, end int
}

// A jsFrame is something that was opened and is not closed yet. Its kind is the bracket that opened it, or one of the
// kinds below.
type jsFrame struct {
	kind  byte
	value bool // whether an expression has ended when it is closed, so that a slash divides
	start int
}

const (
	jsHole     = '`' // ${ in a template
	jsxHole    = 'x' // { in JSX
	jsxTag     = 't' // <a, up to its >
	jsxContent = 'c' // what stands between <a> and </a>
)

// A jsLexer takes JavaScript, TypeScript and JSX apart in one pass. It keeps its own stack, so that no nesting is too
// deep for it.
type jsLexer struct {
	src  []byte
	pos  int
	jsx  bool // whether < may begin an element
	open []jsFrame

	value   bool    // the last token ended an expression: a slash divides, and < compares
	newline bool    // a line ended before the token at hand
	last    jsToken // the token before
	dotted  bool    // a dot stood before the last token
	begun   bool    // there was a token

	elements bool // there was an element of JSX

	noRegexp int // up to here no regular expression ends on its line
	closings map[string]int
	headers  []jsToken // the paths in /// <reference path="" />, with their quotes
	fault    *jsFault
}

// A jsFault is something that does not end.
type jsFault struct {
	start int
	why   string
}

func newJSLexer(src []byte, jsx bool) *jsLexer {
	l := &jsLexer{src: src, jsx: jsx}
	if bytes.HasPrefix(src, []byte("\ufeff")) {
		l.pos = 3
	}
	if bytes.HasPrefix(src[l.pos:], []byte("#!")) {
		l.pos = lineEnd(src, l.pos)
	}
	return l
}

// next gives the next token; jsEnd at the end, and after a fault.
func (l *jsLexer) next() jsToken {
	for l.fault == nil {
		switch {
		case l.top() == jsxTag:
			l.tag()
		case l.top() == jsxContent:
			l.content()
		default:
			if token, ok := l.code(); ok {
				l.dotted = l.afterDot()
				l.last, l.begun = token, true
				return token
			}
		}
		if l.pos >= len(l.src) {
			l.finish()
			break
		}
	}
	return jsToken{jsEnd, len(l.src), len(l.src)}
}

// finish finds what was left open. A bracket is for others to complain about.
func (l *jsLexer) finish() {
	for _, f := range l.open {
		if f.kind == jsHole && l.fault == nil {
			l.fail(f.start, "unterminated template literal")
		}
	}
}

func (l *jsLexer) fail(start int, why string) {
	l.fault = &jsFault{start, why}
	l.pos = len(l.src)
}

func (l *jsLexer) top() byte {
	if len(l.open) == 0 {
		return 0
	}
	return l.open[len(l.open)-1].kind
}

func (l *jsLexer) push(kind byte, value bool, start int) {
	l.open = append(l.open, jsFrame{kind, value, start})
}

func (l *jsLexer) pop() jsFrame {
	f := l.open[len(l.open)-1]
	l.open = l.open[:len(l.open)-1]
	return f
}

// at gives the byte at a place, 0 beyond the end.
func (l *jsLexer) at(pos int) byte {
	if pos < len(l.src) {
		return l.src[pos]
	}
	return 0
}

// fresh says that an expression may begin here, as after an opening bracket.
func (l *jsLexer) fresh() {
	l.value, l.last = false, jsToken{}
}

// code reads a token where code stands. There is none if a piece of JSX begins or ends, or the text ends.
func (l *jsLexer) code() (jsToken, bool) {
	l.space()
	start, c := l.pos, l.at(l.pos)
	switch {
	case l.pos >= len(l.src):
		return jsToken{}, false
	case jsNameByte(c) && !isDigit(c):
		return l.name(), true
	case isDigit(c), c == '.' && isDigit(l.at(start+1)):
		return l.number(), true
	case c == '"' || c == '\'':
		return l.string(c)
	case c == '`':
		return l.template(start, start+1)
	case c == '/' && !l.value && start >= l.noRegexp && l.regexp():
		return l.token(jsOther, start, true), true
	case c == '<' && !l.value && l.jsx && l.elementBegins(start):
		l.push(jsxTag, true, start)
		l.elements = true
		l.pos++
		return l.token(jsOther, start, true), true
	}
	return l.sign(c)
}

// token makes a token that ends here; value tells whether an expression ends with it.
func (l *jsLexer) token(kind jsKind, start int, value bool) jsToken {
	l.value = value
	return jsToken{kind, start, l.pos}
}

// space skips blanks and comments.
func (l *jsLexer) space() {
	l.newline = false
	for ; l.pos < len(l.src); l.pos++ {
		switch c := l.src[l.pos]; {
		case c == '\n':
			l.newline = true
		case c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v':
		case c == '/' && (l.at(l.pos+1) == '/' || l.at(l.pos+1) == '*'):
			l.comment()
		default:
			return
		}
	}
}

// comment skips a comment up to its last byte.
func (l *jsLexer) comment() {
	start := l.pos
	if l.src[start+1] == '/' {
		l.pos = lineEnd(l.src, start) - 1
		if !l.begun {
			l.header(start)
		}
		return
	}
	n := bytes.Index(l.src[start+2:], []byte("*/"))
	if n < 0 {
		l.fail(start, "unterminated comment")
		return
	}
	l.newline = l.newline || bytes.IndexByte(l.src[start:start+2+n], '\n') >= 0
	l.pos = start + 2 + n + 1
}

// header notes the path of a line like /// <reference path="x" />, which counts at the top of a file alone.
func (l *jsLexer) header(start int) {
	rest, ok := bytes.CutPrefix(l.src[start:l.pos+1], []byte("///"))
	if rest = bytes.TrimSpace(rest); !ok || !bytes.HasPrefix(rest, []byte("<reference")) {
		return
	}
	_, rest, ok = bytes.Cut(rest, []byte("path"))
	if !ok {
		return
	}
	rest = bytes.TrimLeft(rest, " \t=")
	if len(rest) < 2 || rest[0] != '"' && rest[0] != '\'' {
		return
	}
	if n := bytes.IndexByte(rest[1:], rest[0]); n >= 0 {
		from := start + bytes.Index(l.src[start:], rest[:n+2])
		l.headers = append(l.headers, jsToken{jsString, from, from + n + 2})
	}
}

// name reads an identifier or keyword.
func (l *jsLexer) name() jsToken {
	start := l.pos
	for l.pos < len(l.src) && jsNameByte(l.src[l.pos]) {
		l.pos++
		if l.src[l.pos-1] == '\\' && l.at(l.pos) == 'u' && l.at(l.pos+1) == '{' {
			l.pos += 2
			for l.pos < len(l.src) && l.src[l.pos] != '}' && l.src[l.pos] != '\n' {
				l.pos++
			}
			l.pos = min(l.pos+1, len(l.src))
		}
	}
	return l.token(jsName, start, l.afterDot() || !jsAwaits(string(l.src[start:l.pos])))
}

// afterDot tells whether the last token was . or ?. so that a name is that of a property.
func (l *jsLexer) afterDot() bool {
	return l.last.kind == jsSign && l.src[l.last.end-1] == '.' && l.last.end-l.last.start < 3
}

// jsNameByte tells whether a byte may stand in an identifier, a private name or a decorator.
func jsNameByte(c byte) bool {
	return isWordByte(c) || c == '#' || c == '@' || c == '\\'
}

// jsAwaits tells whether an expression follows a keyword.
func jsAwaits(word string) bool {
	switch word {
	case "return", "typeof", "instanceof", "in", "of", "new", "delete", "void", "throw", "case", "do", "else", "await", "yield",
		"default", "extends":
		return true
	}
	return false
}
