package text

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// A SyntaxError says where a pattern is wrong, and why, in words for whoever wrote it.
type SyntaxError struct {
	Pattern string
	Column  int // counted in characters, from 1
	Why     string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("pattern is wrong at column %d: %s", e.Column, e.Why)
}

const tooLarge = "it is too large: repeat fewer characters, fewer times"

// explain makes words and a place of what the parser says.
func explain(pattern string, flags syntax.Flags, err error) error {
	var wrong *syntax.Error
	if !errors.As(err, &wrong) {
		return &SyntaxError{Pattern: pattern, Column: 1, Why: err.Error()}
	}
	at := place(pattern, flags, wrong)
	return &SyntaxError{
		Pattern: pattern,
		Column:  utf8.RuneCountInString(pattern[:at]) + 1,
		Why:     why(wrong),
	}
}

// place returns the offset of an error. The parser names the text that is wrong; where that stands more than once, the
// right one is the first at which parsing fails in the same way.
func place(pattern string, flags syntax.Flags, wrong *syntax.Error) int {
	switch wrong.Code {
	case syntax.ErrMissingParen, syntax.ErrUnexpectedParen:
		return unpaired(pattern, flags)
	case syntax.ErrTrailingBackslash:
		return len(pattern) - 1
	case syntax.ErrInvalidUTF8:
		return len(pattern) - len(strings.TrimLeftFunc(pattern, func(r rune) bool { return r != utf8.RuneError }))
	}
	for at := 0; wrong.Expr != ""; at++ {
		n := strings.Index(pattern[at:], wrong.Expr)
		if n < 0 {
			break
		}
		at += n
		_, err := syntax.Parse(pattern[:at+len(wrong.Expr)], flags)
		if same, ok := errors.AsType[*syntax.Error](err); ok && *same == *wrong {
			return at
		}
	}
	return 0
}

// unpaired returns the offset of the first parenthesis that closes nothing, or of the last that is never closed.
func unpaired(pattern string, flags syntax.Flags) int {
	var open []int
	for i := 0; i < len(pattern); i++ {
		switch pattern[i] {
		case '\\':
			i = afterEscape(pattern, i) - 1
		case '[':
			i += classLength(pattern[i:], flags) - 1
		case '(':
			open = append(open, i)
		case ')':
			if len(open) == 0 {
				return i
			}
			open = open[:len(open)-1]
		}
	}
	if len(open) == 0 {
		return 0
	}
	return open[len(open)-1]
}

// afterEscape returns where the escape at i ends; \Q ends with \E.
func afterEscape(pattern string, i int) int {
	if !strings.HasPrefix(pattern[i:], `\Q`) {
		return i + 2
	}
	if n := strings.Index(pattern[i:], `\E`); n >= 0 {
		return i + n + 2
	}
	return len(pattern)
}

// classLength returns how long the class is that s begins with: it ends with the first ] at which it can be parsed.
func classLength(s string, flags syntax.Flags) int {
	for n := 1; n < len(s); n++ {
		if s[n] != ']' {
			continue
		}
		if _, err := syntax.Parse(s[:n+1], flags); err == nil {
			return n + 1
		}
	}
	return 1
}

// reasons say in plain words what is wrong. EXPR stands for the part of the pattern that is.
var reasons = map[syntax.ErrorCode]string{
	syntax.ErrMissingParen:          "this ( is never closed; write \\( for the character itself",
	syntax.ErrUnexpectedParen:       "this ) closes nothing; write \\) for the character itself",
	syntax.ErrMissingBracket:        "this [ is never closed; write \\[ for the character itself",
	syntax.ErrMissingRepeatArgument: "EXPR has nothing before it to repeat; write \\EXPR for the character itself",
	syntax.ErrInvalidRepeatOp:       "EXPR repeats a repetition; put what is repeated into ( )",
	syntax.ErrInvalidRepeatSize:     "EXPR repeats too often, at most 1000 times in all, or from more to fewer",
	syntax.ErrInvalidCharRange:      "EXPR is no range or class of characters",
	syntax.ErrInvalidEscape:         "EXPR means nothing here; there are no backreferences, and \\\\ is a backslash",
	syntax.ErrInvalidPerlOp:         "EXPR is not known; there is no look-ahead or look-behind",
	syntax.ErrInvalidNamedCapture:   "EXPR is no name of a group, as in (?P<name>...)",
	syntax.ErrTrailingBackslash:     "a backslash at the end; write \\\\ for the character itself",
	syntax.ErrInvalidUTF8:           "it is not UTF-8",
	syntax.ErrNestingDepth:          "it nests too deep",
	syntax.ErrLarge:                 tooLarge,
}

// why says in plain words what is wrong.
func why(wrong *syntax.Error) string {
	if reason, ok := reasons[wrong.Code]; ok {
		return strings.ReplaceAll(reason, "EXPR", wrong.Expr)
	}
	return wrong.Code.String()
}
