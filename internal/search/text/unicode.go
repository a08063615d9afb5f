package text

import (
	"fmt"
	"regexp/syntax"
	"strings"
	"sync"
)

// widen makes of a pattern one whose \d, \s and \w are those of Unicode. The pattern is one that Go understands.
func widen(pattern string) string {
	if !strings.Contains(pattern, `\`) {
		return pattern
	}
	var wide strings.Builder
	for w := (widener{rest: pattern}); w.rest != ""; {
		wide.WriteString(w.next())
	}
	return wide.String()
}

// A widener is on its way through a pattern.
type widener struct {
	rest    string
	inside  bool // of a class
	opening bool // a ] that comes now is a character of the class
}

// next takes what comes next, and returns what it becomes.
func (w *widener) next() string {
	opening := w.opening
	w.opening = false
	switch c := w.rest[0]; {
	case strings.HasPrefix(w.rest, `\Q`) && !w.inside:
		if before, _, ended := strings.Cut(w.rest, `\E`); ended {
			return w.take(len(before) + len(`\E`))
		}
		return w.take(len(w.rest))
	case c == '\\' && len(w.rest) > 1:
		return wideEscape(w.take(2), w.inside)
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

func (w *widener) take(n int) string {
	taken := w.rest[:n]
	w.rest = w.rest[n:]
	return taken
}

// The classes of Unicode, as they are written between brackets: what ripgrep takes \s and \w for. TestWideClasses compares
// them with the tables.
const (
	wideSpace = `\t-\r \x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}`
	wideWord  = `\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\x{200C}\x{200D}\x{24B6}-\x{24E9}\x{1F130}-\x{1F149}\x{1F150}-\x{1F169}\x{1F170}-\x{1F189}`
)

// wideEscape returns what stands for an escape, outside or inside of a class.
func wideEscape(escape string, inside bool) string {
	var class string
	switch escape[1] {
	case 'd':
		return `\p{Nd}`
	case 'D':
		return `\P{Nd}`
	case 's', 'S':
		class = wideSpace
	case 'w', 'W':
		class = wideWord
	default:
		return escape
	}
	isOther := escape[1] == 'S' || escape[1] == 'W'
	switch {
	case inside && isOther:
		return others(class)
	case inside:
		return class
	case isOther:
		return "[^" + class + "]"
	}
	return "[" + class + "]"
}

// others returns what is not in a class, which cannot be written shortly within another one.
func others(class string) string {
	var ranges strings.Builder
	set := charsetNamed("[^" + class + "]")
	for i := 0; i < len(set); i += 2 {
		fmt.Fprintf(&ranges, `\x{%X}-\x{%X}`, set[i], set[i+1])
	}
	return ranges.String()
}

// wideWords are all characters of words.
var wideWords = sync.OnceValue(func() charset { return charsetNamed("[" + wideWord + "]") })

// charsetNamed returns the characters of a class of ours.
func charsetNamed(class string) charset {
	tree, err := syntax.Parse(class, syntax.Perl)
	if err != nil {
		panic(err) // it is one of the constants above
	}
	return tree.Rune
}
