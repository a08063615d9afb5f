package markdown

import (
	"strings"
)

// closeBracket ends a link or a picture, if the bracket that opened it does so too.
func (p *inline) closeBracket() bool {
	if len(p.brackets) == 0 {
		return false
	}
	o := p.brackets[len(p.brackets)-1]
	p.brackets = p.brackets[:len(p.brackets)-1]
	inLink := len(p.brackets) < p.linked && !o.image // it would be a link around one
	p.linked = min(p.linked, len(p.brackets))
	ref, length, ok := p.target(o)
	if !ok || inLink {
		p.tokens[o.token].kind = text
		return false
	}
	if o.image {
		p.emit(length, token{kind: imageEnd})
		p.tokens[o.token] = token{kind: image, dest: ref.dest, text: ref.title, end: len(p.tokens) - 1}
		p.emphasise(o.delimiters)
		return true
	}
	p.emit(length, token{kind: linkEnd})
	p.tokens[o.token] = token{kind: linkStart, dest: ref.dest, text: ref.title}
	p.emphasise(o.delimiters)
	p.withinLink(o.token)
	return true
}

// withinLink makes text of the bare links in a link.
func (p *inline) withinLink(from int) {
	p.linked = len(p.brackets)
	for i := from + 1; i < len(p.tokens); i++ {
		if p.tokens[i].kind == autolink {
			p.tokens[i].kind = text
		}
	}
}

// target reads where a link leads, from the bracket on that closes its words. Its
// length includes the bracket.
func (p *inline) target(o opener) (ref reference, length int, ok bool) {
	after := p.at + 1
	if ref, end, ok := scanInline(p.source, after); ok {
		return ref, end - p.at, true
	}
	label, end := p.source[o.at:p.at], after
	if after < len(p.source) && p.source[after] == '[' {
		if stop, ok := scanLabel(p.source, after); ok {
			if end = stop; stop > after+2 {
				label, o.nested = p.source[after+1:stop-1], false
			}
		}
	}
	if o.nested || len(label) > longestLabel {
		return ref, 0, false
	}
	ref, ok = p.references[normalise(label)]
	if cost := len(ref.dest) + len(ref.title); ok {
		if p.budget -= cost; p.budget < 0 {
			return ref, 0, false // a long address, named again and again
		}
	}
	return ref, end - p.at, ok
}

// scanInline reads "(address "title")".
func scanInline(text string, at int) (ref reference, end int, ok bool) {
	if at >= len(text) || text[at] != '(' {
		return ref, 0, false
	}
	dest, i, ok := scanDestination(text, skipSpaces(text, at+1))
	if !ok {
		return ref, 0, false
	}
	ref.dest = unescape(dest)
	if next := skipSpaces(text, i); next > i {
		if title, stop, ok := scanTitle(text, next); ok {
			ref.title, next = unescape(title), stop
		}
		i = skipSpaces(text, next)
	}
	if i >= len(text) || text[i] != ')' {
		return ref, 0, false
	}
	return ref, i + 1, true
}

func skipSpaces(text string, at int) int {
	for n := 0; at < len(text) && n < longestPart && (text[at] == ' ' || text[at] == '\t' || text[at] == '\n'); n++ {
		at++
	}
	return at
}

// place is where an address leads.
type place uint8

const (
	nowhere place = iota // to what no link of ours leads to
	here                 // to a heading of the same text
	near                 // to a file beside it, by a relative path
	abroad               // to another server
)

// placeOf tells where an address leads that encode gave. Only what begins with a scheme
// has a colon before any slash, question mark or hash.
func placeOf(dest string) place {
	switch at := strings.IndexAny(dest, ":/?#"); {
	case strings.HasPrefix(dest, "//"):
		return nowhere // another server, by whatever scheme
	case at < 0 || dest[at] == '/' || dest[at] == '?':
		return near
	case dest[at] == '#':
		if at == 0 {
			return here
		}
		return near
	default:
		switch strings.ToLower(dest[:at]) {
		case "http", "https", "mailto":
			return abroad
		}
		return nowhere
	}
}

// encode spells an address in the characters that one may have.
func encode(dest string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(dest) {
		c := dest[i]
		switch {
		case c == '%' && i+2 < len(dest) && isHex(dest[i+1]) && isHex(dest[i+2]), isAlnum(c), strings.IndexByte("-_.~!*'();:@&=+$,/?#", c) >= 0:
			b.WriteByte(c)
		default:
			b.WriteByte('%')
			b.WriteByte(hex[c>>4])
			b.WriteByte(hex[c&15])
		}
	}
	return b.String()
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

func isAlnum(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
