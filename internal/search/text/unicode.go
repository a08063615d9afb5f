package text

import (
	"fmt"
	"regexp/syntax"
	"strings"
	"sync"
)

// expandUnicode rewrites a pattern so that \d, \s and \w follow Unicode. The pattern must be valid
// in Go's syntax.
func expandUnicode(pattern string) string {
	if !strings.Contains(pattern, `\`) {
		return pattern
	}
	var wide strings.Builder
	for w := (unicodeExpander{rest: pattern}); w.rest != ""; {
		wide.WriteString(w.next())
	}
	return wide.String()
}

// A unicodeExpander rewrites a pattern from left to right.
type unicodeExpander struct {
	rest    string
	inside  bool // within a character class
	opening bool // a ] at this place is a character of the class
}

// next consumes the next part of the pattern, and returns its replacement.
func (w *unicodeExpander) next() string {
	opening := w.opening
	w.opening = false
	switch c := w.rest[0]; {
	case strings.HasPrefix(w.rest, `\Q`) && !w.inside:
		if before, _, ended := strings.Cut(w.rest, `\E`); ended {
			return w.take(len(before) + len(`\E`))
		}
		return w.take(len(w.rest))
	case c == '\\' && len(w.rest) > 1:
		return unicodeEscape(w.take(2), w.inside)
	case w.inside && strings.HasPrefix(w.rest, "[:") && strings.Contains(w.rest, ":]"):
		return w.take(strings.Index(w.rest, ":]") + len(":]"))
	case c == '[' && !w.inside:
		w.inside, w.opening = true, true
		if strings.HasPrefix(w.rest, "[^") {
			return w.take(2)
		}
	case c == ']' && w.inside:
		w.inside = opening
	}
	return w.take(1)
}

func (w *unicodeExpander) take(n int) string {
	taken := w.rest[:n]
	w.rest = w.rest[n:]
	return taken
}

// The Unicode classes that ripgrep uses for \s and \w, in the syntax used between brackets.
// TestUnicodeClasses compares them with the tables of package unicode.
const (
	unicodeSpace = `\t-\r \x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}`
	unicodeWord  = `\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\x{200C}\x{200D}\x{24B6}-\x{24E9}\x{1F130}-\x{1F149}\x{1F150}-\x{1F169}\x{1F170}-\x{1F189}`
)

// unicodeEscape returns the replacement of an escape, outside or inside a character class.
func unicodeEscape(escape string, inside bool) string {
	var class string
	switch escape[1] {
	case 'd':
		return `\p{Nd}`
	case 'D':
		return `\P{Nd}`
	case 's', 'S':
		class = unicodeSpace
	case 'w', 'W':
		class = unicodeWord
	default:
		return escape
	}
	isOther := escape[1] == 'S' || escape[1] == 'W'
	switch {
	case inside && isOther:
		return complement(class)
	case inside:
		return class
	case isOther:
		return "[^" + class + "]"
	}
	return "[" + class + "]"
}

// complement returns the characters that are not in a class. There is no shorter way to write them
// within another class.
func complement(class string) string {
	var ranges strings.Builder
	set := charsetNamed("[^" + class + "]")
	for i := 0; i < len(set); i += 2 {
		fmt.Fprintf(&ranges, `\x{%X}-\x{%X}`, set[i], set[i+1])
	}
	return ranges.String()
}

// unicodeWords returns all word characters of Unicode.
var unicodeWords = sync.OnceValue(func() charset { return charsetNamed("[" + unicodeWord + "]") })

// charsetNamed returns the characters of one of the classes above.
func charsetNamed(class string) charset {
	tree, err := syntax.Parse(class, syntax.Perl)
	if err != nil {
		panic(err) // the class is one of the constants above
	}
	return tree.Rune
}
