package text

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// A SyntaxError describes what is wrong with a pattern, and where, in words for its author.
type SyntaxError struct {
	Pattern string
	Column  int // counted in characters, from 1
	Reason  string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("invalid pattern at column %d: %s", e.Column, e.Reason)
}

const tooLarge = "the pattern is too large; repeat fewer characters, fewer times"

// explain converts an error of the parser to a SyntaxError with a column.
func explain(pattern string, flags syntax.Flags, err error) error {
	var wrong *syntax.Error
	if !errors.As(err, &wrong) {
		return &SyntaxError{Pattern: pattern, Column: 1, Reason: err.Error()}
	}
	at := place(pattern, flags, wrong)
	return &SyntaxError{
		Pattern: pattern,
		Column:  utf8.RuneCountInString(pattern[:at]) + 1,
		Reason:  why(wrong),
	}
}

// place returns the offset of an error. The parser returns the text that is wrong. If that text
// occurs more than once, the right occurrence is the first at which parsing fails with the same
// error.
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

// unpaired returns the offset of the first unmatched closing parenthesis, or of the last unclosed
// opening one.
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

// classLength returns the length of the character class at the start of s. A class ends with the
// first ] at which it can be parsed.
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

// reasons holds a plain description of each error. EXPR stands for the part of the pattern that is
// wrong.
var reasons = map[syntax.ErrorCode]string{
	syntax.ErrMissingParen:          "this ( is never closed; write \\( for the character itself",
	syntax.ErrUnexpectedParen:       "this ) closes nothing; write \\) for the character itself",
	syntax.ErrMissingBracket:        "this [ is never closed; write \\[ for the character itself",
	syntax.ErrMissingRepeatArgument: "EXPR has nothing before it to repeat; write \\EXPR for the character itself",
	syntax.ErrInvalidRepeatOp:       "EXPR repeats a repetition; put the inner one into ( )",
	syntax.ErrInvalidRepeatSize:     "EXPR is not a valid repetition; repeat at most 1000 times in all, and put the minimum first",
	syntax.ErrInvalidCharRange:      "EXPR is not a valid character range or class",
	syntax.ErrInvalidEscape:         "EXPR is not a valid escape; backreferences are not supported, and \\\\ is a backslash",
	syntax.ErrInvalidPerlOp:         "EXPR is not supported; look-ahead and look-behind are not available",
	syntax.ErrInvalidNamedCapture:   "EXPR is not a valid group name; write (?P<name>...) with letters, digits and _",
	syntax.ErrTrailingBackslash:     "a backslash at the end; write \\\\ for the character itself",
	syntax.ErrInvalidUTF8:           "the pattern is not valid UTF-8",
	syntax.ErrNestingDepth:          "the pattern is nested too deeply; use fewer groups",
	syntax.ErrLarge:                 tooLarge,
}

// why describes the error in plain words.
func why(wrong *syntax.Error) string {
	if reason, ok := reasons[wrong.Code]; ok {
		return strings.ReplaceAll(reason, "EXPR", wrong.Expr)
	}
	return wrong.Code.String()
}
