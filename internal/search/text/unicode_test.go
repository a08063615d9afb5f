package text

import (
	"regexp"
	"testing"
	"unicode"
)

// isWord reports whether r is a word character of Unicode.
func isWord(r rune) bool {
	return unicode.IsLetter(r) || unicode.In(r, unicode.M, unicode.Nd, unicode.Nl, unicode.Pc, unicode.Other_Alphabetic, unicode.Join_Control)
}

// TestUnicodeClasses checks that the classes for \s and \w contain exactly the characters that
// Unicode defines.
func TestUnicodeClasses(t *testing.T) {
	for class, in := range map[string]func(rune) bool{
		unicodeWord:              isWord,
		unicodeSpace:             func(r rune) bool { return unicode.Is(unicode.White_Space, r) },
		complement(unicodeWord):  func(r rune) bool { return !isWord(r) },
		complement(unicodeSpace): func(r rune) bool { return !unicode.Is(unicode.White_Space, r) },
	} {
		re := regexp.MustCompile("^[" + class + "]$")
		for r := rune(0); r <= unicode.MaxRune; r++ {
			if r >= 0xD800 && r < 0xE000 {
				continue // surrogates
			}
			if got := re.MatchString(string(r)); got != in(r) {
				t.Fatalf("%.40s: %U is in it: %t, want %t", class, r, got, in(r))
			}
		}
	}
}

func TestExpandUnicode(t *testing.T) {
	for pattern, want := range map[string]string{
		`abc`:           `abc`,
		`\d+`:           `\p{Nd}+`,
		`\D\\d`:         `\P{Nd}\\d`,
		`\w`:            `[` + unicodeWord + `]`,
		`\S`:            `[^` + unicodeSpace + `]`,
		`[\w.]`:         `[` + unicodeWord + `.]`,
		`[^\s]`:         `[^` + unicodeSpace + `]`,
		`[]\d]\d`:       `[]\p{Nd}]\p{Nd}`,
		`[^]\d]\d`:      `[^]\p{Nd}]\p{Nd}`,
		`[[:word:]\d]`:  `[[:word:]\p{Nd}]`,
		`\Q\w\E\d`:      `\Q\w\E\p{Nd}`,
		`\Q\w`:          `\Q\w`,
		`\pL\x{64}\[\d`: `\pL\x{64}\[\p{Nd}`,
		`[\]\d]`:        `[\]\p{Nd}]`,
		`\b\B`:          `\b\B`,
	} {
		if got := expandUnicode(pattern); got != want {
			t.Errorf("%s: got %s, want %s", pattern, got, want)
		}
	}
}

// TestUnicode compares lines with the results of ripgrep 15 where those differ from Go's regexp.
func TestUnicode(t *testing.T) {
	for _, tc := range []struct {
		pattern, text string
		match         bool
	}{
		{`^\w+$`, "Größe", true},
		{`\bfoo\b`, "éfoo", false},
		{`\bfoo\b`, "-foo-", true},
		{`\Bfoo`, "éfoo", true},
		{`^\d$`, "٣", true},
		{`a\sb`, "a\u00a0b", true},
		{`a\Sb`, "a\u3000b", false},
		{`^[\W]$`, "é", false},
		{`^[\W]$`, "—", true},
		{`a.b`, "a\xffb", false},
		{`a[^x]b`, "a\xffb", false},
		{`a\ufffdb`, "a\ufffdb", true},
		{`[^\x00-\x7f]`, "a\xff", false},
		{`b$`, "a\xffb", true},
		{`a.*b`, "a\xffab", true},
	} {
		pattern := regexp.MustCompile(`\\u(\w{4})`).ReplaceAllString(tc.pattern, `\x{$1}`)
		p, err := Compile(pattern, Options{Unicode: true})
		if err != nil {
			t.Fatal(err)
		}
		if n, _ := p.Count([]byte(tc.text), nil); (n == 1) != tc.match {
			t.Errorf("%s in %q: %d lines, want a match: %t", tc.pattern, tc.text, n, tc.match)
		}
	}
}
