package glob

import "slices"

// withoutBraces are the patterns that the braces of a valid one stand for. They are taken
// out beforehand: matching would go back to each of them for every way through those
// before it, which can take for ever. It is false if they are too many.
func withoutBraces(pattern string) ([]string, bool) {
	b := braces{pattern: pattern}
	all := b.sequence(0)
	plain := make([]string, len(all))
	for i := range all {
		plain[i] = string(all[i])
	}
	return plain, !b.tooMany
}

// braces reads a valid pattern from its beginning to its end.
type braces struct {
	pattern string
	at      int
	tooMany bool
}

// sequence reads up to the end of an option, or of the pattern if it is in no braces: all
// that it stands for.
func (b *braces) sequence(depth int) [][]byte {
	all, start := [][]byte{nil}, b.at
	for b.at < len(b.pattern) && !b.tooMany {
		c := b.pattern[b.at]
		if c != '{' && (depth == 0 || c != ',' && c != '}') {
			b.at = afterGlyph(b.pattern, b.at)
			continue
		}
		all = b.times(all, [][]byte{[]byte(b.pattern[start:b.at])})
		if c != '{' {
			return all
		}
		all = b.times(all, b.options(depth+1))
		start = b.at
	}
	return b.times(all, [][]byte{[]byte(b.pattern[start:b.at])})
}

// options reads from a { to after its }.
func (b *braces) options(depth int) [][]byte {
	var all [][]byte
	for b.pattern[b.at] != '}' && !b.tooMany {
		b.at++
		all = append(all, b.sequence(depth)...)
		b.tooMany = b.tooMany || len(all) > Most
	}
	b.at++
	return all
}

// times is each of the former followed by each of the latter.
func (b *braces) times(before, after [][]byte) [][]byte {
	if len(before)*len(after) > Most {
		b.tooMany = true
	}
	if b.tooMany || len(before) == 1 && len(before[0]) == 0 {
		return after
	}
	all := make([][]byte, 0, len(before)*len(after))
	for _, start := range before {
		for i, end := range after {
			if i < len(after)-1 {
				start = slices.Clip(start) // others need it as it is
			}
			all = append(all, append(start, end...))
		}
	}
	return all
}

// afterGlyph is where the next character of a valid pattern begins, of which an escaped
// one and a class are one each.
func afterGlyph(pattern string, at int) int {
	switch pattern[at] {
	case '\\':
		return at + 2
	case '[':
		for at++; pattern[at] != ']'; at++ {
			if pattern[at] == '\\' {
				at++
			}
		}
	}
	return at + 1
}
