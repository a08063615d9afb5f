package books

import (
	"slices"

	"github.com/bmatcuk/doublestar/v4"

	"remit/internal/contract"
)

// mostPlain is how many patterns the braces of one may stand for.
const mostPlain = 64

// globs are patterns without braces, one of which a path has to match.
type globs []string

// compileGlob reads a pattern. Its braces are taken out beforehand: matching goes back
// to each of them for every way through those before it, which can take for ever.
func compileGlob(pattern string) (globs, error) {
	if !doublestar.ValidatePattern(pattern) {
		return nil, contract.Errorf(contract.Invalid, "pattern is no glob pattern: %q; a [ or { is not closed, or it ends with a backslash", pattern).With("field", "pattern")
	}
	plain := globs{pattern}
	for i := 0; i < len(plain); {
		before, options, after := cutBraces(plain[i])
		if options == nil {
			i++
			continue
		}
		for j := range options {
			options[j] = before + options[j] + after
		}
		if plain = slices.Replace(plain, i, i+1, options...); len(plain) > mostPlain {
			return nil, contract.Errorf(contract.Invalid, "pattern stands for more than %d patterns, with all that its braces allow; use fewer braces, or several calls", mostPlain).With("field", "pattern")
		}
	}
	return plain, nil
}

// match tells whether a path is meant.
func (g globs) match(path string) bool {
	return slices.ContainsFunc(g, func(plain string) bool { return doublestar.MatchUnvalidated(plain, path) })
}

// cutBraces takes a valid pattern apart at its first braces. There are no options if it
// has none.
func cutBraces(pattern string) (before string, options []string, after string) {
	depth, start := 0, 0 // of the option
	for i := 0; i < len(pattern); i = afterGlyph(pattern, i) {
		switch c := pattern[i]; {
		case c == '{':
			if depth++; depth == 1 {
				before, start = pattern[:i], i+1
			}
		case c == ',' && depth == 1, c == '}' && depth == 1:
			options, start = append(options, pattern[start:i]), i+1
			if c == '}' {
				return before, options, pattern[start:]
			}
		case c == '}':
			depth--
		}
	}
	return pattern, nil, ""
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
