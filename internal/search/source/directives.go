package source

import "bytes"

// specialC takes directives of the preprocessor, raw strings, and quotes between digits.
func specialC(b *blanker) bool {
	switch c := b.in[b.at]; {
	case c == '#' && b.atLineStart():
		b.directive()
	case c == '"' && b.at > 0 && b.in[b.at-1] == 'R':
		open := bytes.IndexByte(b.in[b.at:min(b.at+20, len(b.in))], '(')
		if open < 0 {
			return false
		}
		b.literal(b.find(")"+string(b.in[b.at+1:b.at+open])+`"`, b.at+open))
	case c == '\'' && b.at > 0 && isHexDigit(b.in[b.at-1]) && b.at+1 < len(b.in) && isHexDigit(b.in[b.at+1]) && b.inNumber():
		b.code(1)
	default:
		return false
	}
	return true
}

func isHexDigit(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// inNumber tells whether the name before this place begins with a digit.
func (b *blanker) inNumber() bool {
	i := b.at
	for i > 0 && b.at-i < 40 && (isNameByte(b.in[i-1]) || b.in[i-1] == '\'') {
		i--
	}
	return b.in[i] >= '0' && b.in[i] <= '9'
}

// specialCSharp takes directives, and strings in which a backslash means nothing.
func specialCSharp(b *blanker) bool {
	switch c := b.in[b.at]; {
	case c == '#' && b.atLineStart():
		b.directive()
	case c == '"' && b.isVerbatim() && !b.sees(`"""`):
		i := b.at + 1
		for i < len(b.in) && (b.in[i] != '"' || i+1 < len(b.in) && b.in[i+1] == '"') {
			if b.in[i] == '"' {
				i++
			}
			i++
		}
		b.literal(min(i+1, len(b.in)))
	default:
		return false
	}
	return true
}

func (b *blanker) isVerbatim() bool {
	return b.at > 0 && b.in[b.at-1] == '@' || b.at > 1 && b.in[b.at-1] == '$' && b.in[b.at-2] == '@'
}

// directive takes a line of the preprocessor. Of several branches the first counts, or the second after #if 0, so that
// braces stay in balance.
func (b *blanker) directive() {
	word, rest := b.directiveWord(b.at)
	end := b.directiveEnd(b.at)
	switch word {
	case "else", "elif", "elifdef", "elifndef":
		end = b.branchEnd(end, false)
	case "if":
		if condition := bytes.TrimSpace(rest); string(condition) == "0" || string(condition) == "false" {
			end = b.branchEnd(end, true)
		}
	}
	b.erase(end)
}

// directiveWord reads the word after the #, and what is behind it on the line.
func (b *blanker) directiveWord(at int) (word string, rest []byte) {
	line := b.in[at+1 : max(at+1, b.rawLineEnd(at))]
	return firstWord(line)
}

func (b *blanker) rawLineEnd(from int) int {
	if i := bytes.IndexByte(b.in[from:], '\n'); i >= 0 {
		return from + i
	}
	return len(b.in)
}

// directiveEnd gives the end of a directive, which goes on after a backslash at the end of a line.
func (b *blanker) directiveEnd(at int) int {
	for {
		end := b.rawLineEnd(at)
		line := bytes.TrimRight(b.in[at:end], "\r")
		if end == len(b.in) || !bytes.HasSuffix(line, []byte(`\`)) {
			return end
		}
		at = end + 1
	}
}

// branchEnd passes the lines of a branch that does not count: up to the #endif that ends it, or, if another branch may
// count, to the end of the line that begins that one.
func (b *blanker) branchEnd(at int, orElse bool) int {
	depth := 0
	for at < len(b.in) {
		at++
		start := at
		for start < len(b.in) && (b.in[start] == ' ' || b.in[start] == '\t') {
			start++
		}
		end := b.rawLineEnd(at)
		at = end
		if start >= end || b.in[start] != '#' {
			continue
		}
		switch word, _ := b.directiveWord(start); word {
		case "if", "ifdef", "ifndef":
			depth++
		case "endif":
			if depth == 0 {
				return end
			}
			depth--
		case "else", "elif":
			if depth == 0 && orElse {
				return end
			}
		}
	}
	return len(b.in)
}
