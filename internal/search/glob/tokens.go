package glob

import (
	"strings"
	"unicode/utf8"
)

// kind is the kind of a token.
type kind byte

const (
	literal    kind = iota // its text
	char                   // U+FFFD, which also matches any invalid UTF-8 byte
	any1                   // ?
	class                  // [a-z]
	star                   // *
	folders                // **/
	everything             // ** at the end
)

// A token is a part of a pattern.
type token struct {
	kind  kind
	empty bool   // this token and all that follow match the empty string
	not   bool   // the class is negated
	text  string // of a literal
	class []runeRange
}

// runeRange is a range of a class.
type runeRange struct{ low, high rune }

// tokens splits a valid pattern without braces.
func tokens(pattern string) []token {
	var all []token
	first := true // at the start of a path element
	for i := 0; i < len(pattern); {
		t, size := nextToken(pattern[i:], first)
		t.empty = matchesEnd(pattern[i:])
		i += size
		first = t.kind == folders || t.kind == literal && t.text == "/"
		if last := len(all) - 1; t.kind == literal && !t.empty && last >= 0 && all[last].kind == literal {
			all[last].text += t.text
			continue
		}
		all = append(all, t)
	}
	return all
}

// matchesEnd reports whether the rest of a pattern matches nothing, which is what is left when the
// whole path has been read. /** does, because dir/** matches the folder itself as well as its
// contents.
func matchesEnd(pattern string) bool {
	switch pattern {
	case "", "*", "**", "/**", "**/", "/**/":
		return true
	}
	return false
}

func nextToken(pattern string, first bool) (t token, size int) {
	switch pattern[0] {
	case '*':
		return stars(pattern, first)
	case '?':
		return token{kind: any1}, 1
	case '[':
		return newClass(pattern)
	case '\\':
		t, size = oneRune(pattern[1:])
		return t, size + 1
	}
	return oneRune(pattern)
}

// stars reads one star or two. Two count as one unless they are a whole path element.
func stars(pattern string, first bool) (token, int) {
	rest, two := strings.CutPrefix(pattern, "**")
	switch {
	case !two:
		return token{kind: star}, 1
	case first && rest == "":
		return token{kind: everything}, 2
	case first && rest[0] == '/':
		return token{kind: folders}, 3
	}
	return token{kind: star}, 2
}

func oneRune(pattern string) (token, int) {
	r, size := utf8.DecodeRuneInString(pattern)
	if r == utf8.RuneError {
		return token{kind: char}, size
	}
	return token{kind: literal, text: pattern[:size]}, size
}

// newClass parses the class at the start of pattern. The end of a range cannot begin another one,
// and an escaped - does not form a range.
func newClass(pattern string) (t token, size int) {
	t.kind = class
	i := 1
	if t.not = pattern[i] == '!' || pattern[i] == '^'; t.not {
		i++
	}
	before := rune(-1)
	for pattern[i] != ']' {
		escaped := pattern[i] == '\\'
		r, next := classRune(pattern, i)
		if before >= 0 && r == '-' && !escaped && pattern[next] != ']' {
			r, i = classRune(pattern, next)
			t.class = append(t.class, runeRange{before, r})
			before = -1
			continue
		}
		i = next
		t.class = append(t.class, runeRange{r, r})
		if before = r; r == utf8.MaxRune {
			before = -1
		}
	}
	return t, i + 1
}

// classRune reads a rune of a class, and returns the offset of the next one.
func classRune(pattern string, at int) (rune, int) {
	if pattern[at] == '\\' {
		at++
	}
	r, size := utf8.DecodeRuneInString(pattern[at:])
	return r, at + size
}

// has reports whether a class contains a rune, which may be a slash.
func (t *token) has(r rune) bool {
	for _, s := range t.class {
		if s.low <= r && r <= s.high {
			return !t.not
		}
	}
	return t.not
}
