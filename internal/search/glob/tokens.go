package glob

import (
	"strings"
	"unicode/utf8"
)

// kind is what a token stands for.
type kind byte

const (
	literal    kind = iota // its text
	char                   // one rune, compared as such: U+FFFD, which is also any byte that is no UTF-8
	any1                   // ?
	class                  // [a-z]
	star                   // *
	folders                // **/
	everything             // ** at the end
)

// A token is a part of a pattern that is matched at once.
type token struct {
	kind  kind
	empty bool   // nothing is needed of the path for this token and all that follow
	not   bool   // of a class
	text  string // of a literal
	class []span
}

// span is a part of a class, from one rune to another.
type span struct{ low, high rune }

// tokens takes a valid pattern without braces apart.
func tokens(pattern string) []token {
	var all []token
	first := true // of an element of the path
	for i := 0; i < len(pattern); {
		t, size := nextToken(pattern[i:], first)
		t.empty = nothing(pattern[i:])
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

// nothing tells whether what is left of a pattern matches the end of a path. A folder is
// meant by dir/** as well as what is in it.
func nothing(pattern string) bool {
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

// stars reads one star, or two. Two are one where they are not a whole element.
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

// newClass reads a class from its [ on. A range begins with a rune that is not the end of
// another one, and a - that is escaped makes none.
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
			t.class = append(t.class, span{before, r})
			before = -1
			continue
		}
		i = next
		t.class = append(t.class, span{r, r})
		if before = r; r == utf8.MaxRune {
			before = -1
		}
	}
	return t, i + 1
}

// classRune reads a rune of a class, and tells where the next one is.
func classRune(pattern string, at int) (rune, int) {
	if pattern[at] == '\\' {
		at++
	}
	r, size := utf8.DecodeRuneInString(pattern[at:])
	return r, at + size
}

// has tells whether a class has a rune. That may be a slash.
func (t *token) has(r rune) bool {
	for _, s := range t.class {
		if s.low <= r && r <= s.high {
			return !t.not
		}
	}
	return t.not
}
