package source

import "bytes"

// A syntax says what in a language is not code: comments and strings.
type syntax struct {
	line   []string  // what begins a comment that ends with the line
	block  [2]string // what begins and ends any other
	nested bool      // comments of the second kind nest
	quotes string    // strings of these end with the line at the latest; one that is not closed is none
	long   string    // strings of these go on over lines
	triple bool      // three quotes are the ends of a string over lines
	// special takes what is like nothing else, at the place where the blanker is; false if it is not there.
	special func(b *blanker) bool
}

// A blanker overwrites what is not code with spaces. Strings keep a double quote at each end, newlines stay, so every
// byte stays on its line and in its column.
type blanker struct {
	syntax
	in, out   []byte
	at        int
	last      int    // where the last byte of code was, -1 before the first
	lineStop  int    // where the line ends that was looked at last
	unclosed  [2]int // a quote of these (' and ") before there is known to have no end on its line
	noRegexp  int    // before there no regular expression begins
	templates []int  // how many braces are open in each template that is
}

// blank gives the code of a content, in time linear in its size.
func blank(content []byte, s syntax) []byte {
	b := &blanker{syntax: s, in: content, out: bytes.Clone(content), last: -1}
	for b.at < len(b.in) {
		b.step()
	}
	return b.out
}

func (b *blanker) step() {
	c := b.in[b.at]
	if isNameByte(c) && c != '$' {
		b.code(1)
		return
	}
	if b.special != nil && b.special(b) {
		return
	}
	for _, start := range b.line {
		if b.sees(start) {
			b.erase(b.lineEnd(b.at))
			return
		}
	}
	switch {
	case b.block[0] != "" && b.sees(b.block[0]):
		b.erase(b.blockEnd())
	case b.triple && b.seesTriple():
		b.literal(b.find(string(b.in[b.at:b.at+3]), b.at+3))
	case bytes.IndexByte([]byte(b.long), c) >= 0:
		b.literal(b.closing(c, len(b.in)))
	case bytes.IndexByte([]byte(b.quotes), c) >= 0:
		b.quoted(c)
	default:
		b.code(1)
	}
}

// sees tells whether a text is next.
func (b *blanker) sees(text string) bool {
	rest := b.in[b.at:]
	return len(rest) >= len(text) && string(rest[:len(text)]) == text
}

func (b *blanker) seesTriple() bool {
	return b.sees(`"""`) || b.sees(`'''`)
}

// code passes n bytes of code.
func (b *blanker) code(n int) {
	if c := b.in[b.at]; c != ' ' && c != '\t' && c != '\n' && c != '\r' {
		b.last = b.at + n - 1
	}
	b.at += n
}

// erase overwrites all before end.
func (b *blanker) erase(end int) {
	for i := b.at; i < end; i++ {
		if b.out[i] != '\n' {
			b.out[i] = ' '
		}
	}
	b.at = end
}

// literal overwrites a string that ends before end, but for its ends.
func (b *blanker) literal(end int) {
	start := b.at
	b.erase(end)
	for _, i := range [2]int{start, end - 1} {
		if b.out[i] != '\n' {
			b.out[i] = '"'
		}
	}
	b.last = start
}

// quoted takes a string that has to end on its line, or the quote alone if it has no end there.
func (b *blanker) quoted(quote byte) {
	known := &b.unclosed[0]
	if quote == '"' {
		known = &b.unclosed[1]
	}
	end := b.lineEnd(b.at)
	if b.at < *known {
		b.code(1)
		return
	}
	closing := b.closing(quote, end)
	if closing > end || b.in[closing-1] != quote || closing-1 == b.at {
		*known = end
		b.out[b.at] = ' '
		b.code(1)
		return
	}
	b.literal(closing)
}

// closing gives the place after the quote that ends the string that begins here, or limit if there is none before it.
func (b *blanker) closing(quote byte, limit int) int {
	for i := b.at + 1; i < limit; i++ {
		switch b.in[i] {
		case '\\':
			i++
		case quote:
			return i + 1
		}
	}
	return limit
}

// find gives the place after the next text, or the end of all.
func (b *blanker) find(text string, from int) int {
	if i := bytes.Index(b.in[min(from, len(b.in)):], []byte(text)); i >= 0 {
		return from + i + len(text)
	}
	return len(b.in)
}

// lineEnd gives the end of the line of a place that is not before this one. It is looked for once a line.
func (b *blanker) lineEnd(from int) int {
	if from < b.lineStop {
		return b.lineStop
	}
	b.lineStop = len(b.in)
	if i := bytes.IndexByte(b.in[from:], '\n'); i >= 0 {
		b.lineStop = from + i
	}
	return b.lineStop
}

// atLineStart tells whether only blanks are before this place on its line.
func (b *blanker) atLineStart() bool {
	i := b.at - 1
	for i >= 0 && (b.in[i] == ' ' || b.in[i] == '\t') {
		i--
	}
	return i < 0 || b.in[i] == '\n'
}

func (b *blanker) blockEnd() int {
	start, end := b.block[0], b.block[1]
	i, depth := b.at+len(start), 1
	if !b.nested {
		return b.find(end, i)
	}
	for i < len(b.in) {
		switch rest := b.in[i:]; {
		case bytes.HasPrefix(rest, []byte(end)):
			i += len(end)
			if depth--; depth == 0 {
				return i
			}
		case bytes.HasPrefix(rest, []byte(start)):
			i += len(start)
			depth++
		default:
			i++
		}
	}
	return len(b.in)
}

// isNameByte tells whether a byte may be part of a name.
func isNameByte(c byte) bool {
	return c == '_' || c == '$' || c >= 0x80 || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
