package glob

import "slices"

// withoutBraces expands the braces of a valid pattern. Braces are expanded in advance, because a
// matcher would backtrack to each of them for every combination of those before it, which can take
// exponential time. It returns false if there are too many patterns.
func withoutBraces(pattern string) ([]string, bool) {
	b := braces{pattern: pattern}
	all := b.sequence(0)
	plain := make([]string, len(all))
	for i := range all {
		plain[i] = string(all[i])
	}
	return plain, !b.tooMany
}

// braces expands a valid pattern from left to right.
type braces struct {
	pattern string
	at      int
	tooMany bool
}

// sequence reads up to the end of an option, or of the pattern if it is not in braces, and returns
// its expansions.
func (b *braces) sequence(depth int) [][]byte {
	all, start := [][]byte{nil}, b.at
	for b.at < len(b.pattern) && !b.tooMany {
		c := b.pattern[b.at]
		if c != '{' && (depth == 0 || c != ',' && c != '}') {
			b.at = afterGlyph(b.pattern, b.at)
			continue
		}
		all = b.product(all, [][]byte{[]byte(b.pattern[start:b.at])})
		if c != '{' {
			return all
		}
		all = b.product(all, b.options(depth+1))
		start = b.at
	}
	return b.product(all, [][]byte{[]byte(b.pattern[start:b.at])})
}

// options reads from a { to after its }, and returns the expansions of all options.
func (b *braces) options(depth int) [][]byte {
	var all [][]byte
	for b.pattern[b.at] != '}' && !b.tooMany {
		b.at++
		all = append(all, b.sequence(depth)...)
		b.tooMany = b.tooMany || len(all) > MaxPatterns
	}
	b.at++
	return all
}

// product joins each of before with each of after.
func (b *braces) product(before, after [][]byte) [][]byte {
	if len(before)*len(after) > MaxPatterns {
		b.tooMany = true
	}
	if b.tooMany || len(before) == 1 && len(before[0]) == 0 {
		return after
	}
	all := make([][]byte, 0, len(before)*len(after))
	for _, start := range before {
		for i, end := range after {
			if i < len(after)-1 {
				start = slices.Clip(start) // others need it unchanged
			}
			all = append(all, append(start, end...))
		}
	}
	return all
}

// afterGlyph returns the offset after the next character of a valid pattern. An escaped character
// and a class count as one.
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
