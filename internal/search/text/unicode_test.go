package text

import (
	"regexp"
	"testing"
	"unicode"
)

// isWord tells whether a character is of a word, as Unicode sees it.
func isWord(r rune) bool {
	return unicode.IsLetter(r) || unicode.In(r, unicode.M, unicode.Nd, unicode.Nl, unicode.Pc, unicode.Other_Alphabetic, unicode.Join_Control)
}

// TestWideClasses: what stands for \s and \w has all the characters that Unicode says, and no others.
func TestWideClasses(t *testing.T) {
	for class, in := range map[string]func(rune) bool{
		wideWord:          isWord,
		wideSpace:         func(r rune) bool { return unicode.Is(unicode.White_Space, r) },
		others(wideWord):  func(r rune) bool { return !isWord(r) },
		others(wideSpace): func(r rune) bool { return !unicode.Is(unicode.White_Space, r) },
	} {
		re := regexp.MustCompile("^[" + class + "]$")
		for r := rune(0); r <= unicode.MaxRune; r++ {
			if r >= 0xD800 && r < 0xE000 {
				continue // no characters
			}
			if got := re.MatchString(string(r)); got != in(r) {
				t.Fatalf("%.40s: %U is in it: %t, want %t", class, r, got, in(r))
			}
		}
	}
}

func TestWiden(t *testing.T) {
	for pattern, want := range map[string]string{
		`abc`:           `abc`,
		`\d+`:           `\p{Nd}+`,
		`\D\\d`:         `\P{Nd}\\d`,
		`\w`:            `[` + wideWord + `]`,
		`\S`:            `[^` + wideSpace + `]`,
		`[\w.]`:         `[` + wideWord + `.]`,
		`[^\s]`:         `[^` + wideSpace + `]`,
		`[]\d]\d`:       `[]\p{Nd}]\p{Nd}`,
		`[^]\d]\d`:      `[^]\p{Nd}]\p{Nd}`,
		`[[:word:]\d]`:  `[[:word:]\p{Nd}]`,
		`\Q\w\E\d`:      `\Q\w\E\p{Nd}`,
		`\Q\w`:          `\Q\w`,
		`\pL\x{64}\[\d`: `\pL\x{64}\[\p{Nd}`,
		`[\]\d]`:        `[\]\p{Nd}]`,
		`\b\B`:          `\b\B`,
	} {
		if got := widen(pattern); got != want {
			t.Errorf("%s: got %s, want %s", pattern, got, want)
		}
	}
}

// TestUnicode: lines as ripgrep 15 finds them, which Go's regexp sees differently.
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
