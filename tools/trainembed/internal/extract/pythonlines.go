package extract

import "strings"

// A pythonLine is a logical line. It may span several lines of the file, within brackets or a long
// string.
type pythonLine struct {
	indent int
	text   string
}

// pythonLines splits Python into logical lines, without comments and blank lines.
func pythonLines(text string) []pythonLine {
	var lines []pythonLine
	for at := 0; at < len(text); {
		start, indent := skipIndent(text, at)
		if start >= len(text) {
			break
		}
		if text[start] == '\n' {
			at = start + 1
			continue
		}
		end := logicalEnd(text, start)
		if text[start] != '#' {
			lines = append(lines, pythonLine{indent, strings.TrimRight(text[start:end], " \t\r\n\f")})
		}
		at = end + 1
	}
	return lines
}

// skipIndent returns where the text of a line begins, and its indentation, with a tab as eight
// columns.
func skipIndent(text string, at int) (start, indent int) {
	for ; at < len(text); at++ {
		switch text[at] {
		case ' ':
			indent++
		case '\t':
			indent += 8 - indent%8
		case '\r', '\f':
		default:
			return at, indent
		}
	}
	return at, indent
}

// logicalEnd returns the end of the logical line that starts at a position: its line break, or the
// end of the text.
func logicalEnd(text string, at int) int {
	depth := 0
	for at < len(text) {
		switch c := text[at]; c {
		case '\n':
			if depth <= 0 {
				return at
			}
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		case '\\':
			at++
		case '#':
			at = lineEnd(text, at) - 1
		case '"', '\'':
			at = stringEnd(text, at) - 1
		}
		at++
	}
	return len(text)
}

// lineEnd returns the position of the next line break, or the end of the text.
func lineEnd(text string, at int) int {
	if next := strings.IndexByte(text[at:], '\n'); next >= 0 {
		return at + next
	}
	return len(text)
}

// stringEnd returns the position after the string that begins at a position. A single-line string
// ends with its line at the latest.
func stringEnd(text string, at int) int {
	quote := text[at : at+1]
	long := strings.HasPrefix(text[at:], quote+quote+quote)
	if long {
		quote = text[at : at+3]
	}
	for at += len(quote); at < len(text); at++ {
		switch {
		case text[at] == '\\':
			at++
		case strings.HasPrefix(text[at:], quote):
			return at + len(quote)
		case text[at] == '\n' && !long:
			return at
		}
	}
	return len(text)
}
