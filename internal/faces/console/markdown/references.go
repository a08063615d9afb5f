package markdown

import (
	"strings"
)

// reference is where a link leads.
type reference struct{ dest, title string }

const (
	// longestLabel is how long the name of a reference may be.
	longestLabel = 999
	// longestPart is how long an address or a title may be: what is longer is text. It
	// bounds how far is looked for the end of one that has none.
	longestPart = 2000
)

// define takes the definitions of references off the beginning of a paragraph.
func (p *parser) define(b *block) {
	if len(b.lines) == 0 || !strings.HasPrefix(b.lines[0], "[") {
		return
	}
	text := strings.Join(b.lines, "\n")
	for strings.HasPrefix(text, "[") {
		label, ref, length, ok := parseDefinition(text)
		if !ok {
			break
		}
		if _, known := p.references[label]; !known {
			p.references[label] = ref
		}
		text = text[length:]
	}
	b.lines = nil
	if text != "" {
		b.lines = strings.Split(text, "\n")
	}
}

// parseDefinition reads "[label]: address "title"" and the end of its line.
func parseDefinition(text string) (label string, ref reference, length int, ok bool) {
	end, ok := scanLabel(text, 0)
	if !ok || end >= len(text) || text[end] != ':' {
		return "", ref, 0, false
	}
	if label = normalise(text[1 : end-1]); label == "" {
		return "", ref, 0, false
	}
	at := skipSpace(text, end+1)
	dest, at, ok := scanDestination(text, at)
	if !ok || at == skipSpace(text, end+1) {
		return "", ref, 0, false
	}
	ref.dest = unescape(dest)
	lineEnd, ends := endOfLine(text, at)
	if after := skipSpace(text, at); after > at {
		if title, stop, ok := scanTitle(text, after); ok {
			if stop, ok := endOfLine(text, stop); ok {
				ref.title = unescape(title)
				return label, ref, stop, true
			}
		}
	}
	return label, ref, lineEnd, ends
}

// endOfLine gives where the next line begins, if nothing but space is left in this one.
func endOfLine(text string, at int) (int, bool) {
	for at < len(text) && (text[at] == ' ' || text[at] == '\t') {
		at++
	}
	if at == len(text) {
		return at, true
	}
	return at + 1, text[at] == '\n'
}

// skipSpace skips white space with at most one line end in it.
func skipSpace(text string, at int) int {
	lines := 0
	for at < len(text) {
		switch text[at] {
		case '\n':
			if lines++; lines > 1 {
				return at
			}
		case ' ', '\t':
		default:
			return at
		}
		at++
	}
	return at
}

// scanLabel reads a label in brackets, and gives the place after them.
func scanLabel(text string, at int) (end int, ok bool) {
	for i := at + 1; i < len(text) && i-at <= longestLabel+1; i++ {
		switch text[i] {
		case '\\':
			i++
		case '[':
			return 0, false
		case ']':
			return i + 1, true
		}
	}
	return 0, false
}

// scanDestination reads the address of a link.
func scanDestination(text string, at int) (dest string, end int, ok bool) {
	if at < len(text) && text[at] == '<' {
		for i := at + 1; i < len(text) && i-at <= longestPart; i++ {
			switch text[i] {
			case '\\':
				i++
			case '\n', '<':
				return "", 0, false
			case '>':
				return text[at+1 : i], i + 1, true
			}
		}
		return "", 0, false
	}
	open := 0
	i := at
loop:
	for ; i < len(text); i++ {
		switch c := text[i]; {
		case i-at > longestPart || open > 32:
			return "", 0, false
		case c == '\\' && i+1 < len(text) && isPunct(text[i+1]):
			i++
		case c == '(':
			open++
		case c == ')':
			if open == 0 {
				break loop
			}
			open--
		case c <= ' ' || c == 0x7f:
			break loop
		}
	}
	return text[at:i], i, open == 0
}

// scanTitle reads a title in quotes or parentheses.
func scanTitle(text string, at int) (title string, end int, ok bool) {
	if at >= len(text) {
		return "", 0, false
	}
	mark := text[at]
	switch mark {
	case '"', '\'':
	case '(':
		mark = ')'
	default:
		return "", 0, false
	}
	for i := at + 1; i < len(text) && i-at <= longestPart; i++ {
		switch c := text[i]; {
		case c == '\\':
			i++
		case c == mark:
			return text[at+1 : i], i + 1, true
		case c == '(' && mark == ')':
			return "", 0, false
		}
	}
	return "", 0, false
}

// normalise makes labels alike that name the same reference, whatever their letter case.
// That of ß is two letters.
func normalise(label string) string {
	return strings.ReplaceAll(strings.ToLower(strings.ToUpper(strings.Join(strings.Fields(label), " "))), "ß", "ss")
}
