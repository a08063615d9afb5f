package text

import (
	"errors"
	"strings"
	"testing"
)

func TestCompileErrorColumn(t *testing.T) {
	for _, c := range []struct {
		pattern string
		column  int
		why     string
	}{
		{`a(b`, 2, "this ( is never closed"},
		{`(a)(b\)`, 4, "this ( is never closed"},
		{`[(](`, 4, "this ( is never closed"},
		{`\Q(\E(`, 6, "this ( is never closed"},
		{`[]()](`, 6, "this ( is never closed"},
		{`a)b`, 2, "this ) closes nothing"},
		{`é)`, 2, "this ) closes nothing"},
		{`\)[)])`, 6, "this ) closes nothing"},
		{`ab[cd`, 3, "this [ is never closed"},
		{`\*|*`, 4, "* has nothing before it"},
		{`a**`, 2, "** repeats a repetition"},
		{`a{2}(a{2}|b{2000})`, 12, "{2000} is not a valid repetition"},
		{`(x{1000}){1000}`, 10, "{1000} is not a valid repetition"},
		{`[z-a]`, 2, "z-a is not a valid character range"},
		{`\p{Nowhere}`, 1, `\p{Nowhere} is not a valid character range or class`},
		{`(a)\1`, 4, `\1 is not a valid escape; backreferences are not supported`},
		{`a(?=b)`, 2, "(?= is not supported; look-ahead"},
		{`(?P<a-b>x)`, 1, "is not a valid group name"},
		{`ab\`, 3, "a backslash at the end"},
		{"a\xff", 2, "the pattern is not valid UTF-8"},
		{strings.Repeat("(", 1001) + strings.Repeat(")", 1001), 1, "the pattern is nested too deeply"},
		{strings.Repeat("x{1000}", 5), 1, "the pattern is too large"},
	} {
		_, err := Compile(c.pattern, Options{})
		var wrong *SyntaxError
		if !errors.As(err, &wrong) {
			t.Errorf("Compile(%.20q) = %v, want a SyntaxError", c.pattern, err)
			continue
		}
		if wrong.Column != c.column || !strings.Contains(wrong.Reason, c.why) || wrong.Pattern != c.pattern {
			t.Errorf("Compile(%.20q): column %d: %s; want column %d: %s", c.pattern, wrong.Column, wrong.Reason, c.column, c.why)
		}
	}
}
