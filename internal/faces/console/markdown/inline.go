package markdown

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// tokenKind is what a token stands for.
type tokenKind uint8

const (
	text      tokenKind = iota
	literal             // HTML that is made already
	codeSpan            // text within backticks
	delimiter           // a run of * _ or ~
	bracket             // [ or ![ that may yet begin a link
	linkStart
	linkEnd
	image // the beginning of a picture; what follows up to its end is its description
	imageEnd
	autolink
	tag // one of the few HTML elements that are built anew
)

// token is a part of a line of text. Tokens stay in a row: what begins and what ends
// something are tokens of their own, so that nothing here goes deep.
type token struct {
	kind tokenKind
	text string
	dest string // of a link
	// of a delimiter: what opens before and closes after what is left of it
	opens, closes []string
	end           int // of an image: the token that ends it
}

// inline makes tokens of the text of a block.
type inline struct {
	*renderer
	source string
	at     int
	from   int // where the text begins that is no token yet
	tokens []token

	delimiters []delim
	brackets   []opener
	linked     int         // so many of the brackets are around a link
	ticks      map[int]int // the last place of a run of so many backticks; nil before it was looked for
	noComment  bool        // no comment ends after here
}

// opener is a bracket that may begin a link.
type opener struct {
	token      int
	at         int // in the source, after the bracket
	delimiters int // how many there were before it
	image      bool
	nested     bool // there are brackets in it, so that it names no reference
}

func (r *renderer) inline(source string) []token {
	p := &inline{renderer: r, source: source}
	for p.at < len(source) {
		if !p.special(source[p.at]) {
			p.at++
		}
	}
	p.flush()
	p.emphasise(0)
	return p.tokens
}

// special reads what begins with a byte that may have a meaning. It tells whether it
// had one.
func (p *inline) special(c byte) bool {
	switch c {
	case '\n':
		return p.lineEnd()
	case '\\':
		return p.backslash()
	case '`':
		return p.code()
	case '&':
		as, length := entity(p.source[p.at:])
		return length > 0 && p.emit(length, token{kind: text, text: as})
	case '<':
		return p.angle()
	case '*', '_', '~':
		return p.delimiter(c)
	case '[':
		return p.open(1)
	case '!':
		return strings.HasPrefix(p.source[p.at:], "![") && p.open(2)
	case ']':
		return p.closeBracket()
	case 'h', 'w':
		return p.bareLink()
	case '@':
		return p.bareMail()
	}
	return false
}

// flush makes a token of the text up to here.
func (p *inline) flush() {
	if p.from < p.at {
		p.tokens = append(p.tokens, token{kind: text, text: p.source[p.from:p.at]})
	}
	p.from = p.at
}

// emit adds a token for the next bytes.
func (p *inline) emit(length int, t token) bool {
	p.flush()
	p.tokens = append(p.tokens, t)
	p.at += length
	p.from = p.at
	return true
}

// lineEnd is a break if two spaces are before it, and the spaces go either way.
func (p *inline) lineEnd() bool {
	before := p.source[p.from:p.at]
	kept := strings.TrimRight(before, " ")
	html := "\n"
	if len(before)-len(kept) >= 2 {
		html = "<br>\n"
	}
	end := p.at
	p.at = p.from + len(kept)
	p.flush()
	p.at = end
	p.from = end
	return p.emit(1, token{kind: literal, text: html})
}

func (p *inline) backslash() bool {
	rest := p.source[p.at+1:]
	switch {
	case rest == "":
		return false
	case rest[0] == '\n':
		return p.emit(2, token{kind: literal, text: "<br>\n"})
	case isPunct(rest[0]):
		return p.emit(2, token{kind: text, text: rest[:1]})
	}
	return false
}

// code reads a span between two runs of as many backticks.
func (p *inline) code() bool {
	rest := p.source[p.at:]
	length := len(rest) - len(strings.TrimLeft(rest, "`"))
	end := p.closingTicks(p.at+length, length)
	if end < 0 {
		return p.emit(length, token{kind: text, text: rest[:length]})
	}
	span := strings.ReplaceAll(p.source[p.at+length:end], "\n", " ")
	if n := len(span); n > 1 && span[0] == ' ' && span[n-1] == ' ' && strings.Trim(span, " ") != "" {
		span = span[1 : n-1]
	}
	return p.emit(end+length-p.at, token{kind: codeSpan, text: span})
}

// closingTicks finds the next run of so many backticks. A first look at all of them
// tells for each length where the last is, so that nobody looks for what is not there.
func (p *inline) closingTicks(from, length int) int {
	if p.ticks == nil {
		p.ticks = map[int]int{}
		for i := from - length; i < len(p.source); {
			n := runOf(p.source[i:], '`')
			if n > 0 {
				p.ticks[n] = i
			}
			i += max(n, 1)
		}
	}
	if p.ticks[length] < from {
		return -1
	}
	for i := from; i < len(p.source); {
		next := strings.IndexByte(p.source[i:], '`')
		if next < 0 {
			return -1
		}
		i += next
		n := runOf(p.source[i:], '`')
		if n == length {
			return i
		}
		i += n
	}
	return -1
}

func runOf(s string, c byte) int {
	n := 0
	for n < len(s) && s[n] == c {
		n++
	}
	return n
}

// delimiter reads a run that may begin or end emphasis.
func (p *inline) delimiter(c byte) bool {
	length := runOf(p.source[p.at:], c)
	before, _ := utf8.DecodeLastRuneInString(p.source[:p.at])
	after, _ := utf8.DecodeRuneInString(p.source[p.at+length:])
	left := !isSpace(after) && (!isMark(after) || isSpace(before) || isMark(before))
	right := !isSpace(before) && (!isMark(before) || isSpace(after) || isMark(after))
	d := delim{mark: c, length: length, left: length, canOpen: left, canClose: right}
	if c == '_' {
		d.canOpen = left && (!right || isMark(before))
		d.canClose = right && (!left || isMark(after))
	}
	run := p.source[p.at : p.at+length]
	if c == '~' && length > 2 || !d.canOpen && !d.canClose {
		return p.emit(length, token{kind: text, text: run})
	}
	p.emit(length, token{kind: delimiter, text: run})
	d.token = len(p.tokens) - 1
	p.delimiters = append(p.delimiters, d)
	return true
}

// isSpace tells whether a character is white space; the ends of the text are.
func isSpace(r rune) bool { return r == utf8.RuneError || unicode.IsSpace(r) }

func isMark(r rune) bool {
	if r < utf8.RuneSelf {
		return isPunct(byte(r))
	}
	return unicode.IsPunct(r) || unicode.IsSymbol(r)
}

func (p *inline) open(length int) bool {
	if n := len(p.brackets); n > 0 {
		p.brackets[n-1].nested = true
	}
	p.emit(length, token{kind: bracket, text: p.source[p.at : p.at+length]})
	p.brackets = append(p.brackets, opener{token: len(p.tokens) - 1, at: p.at, delimiters: len(p.delimiters), image: length == 2})
	return true
}
