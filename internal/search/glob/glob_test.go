package glob

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/bmatcuk/doublestar/v4"
)

// TestMatch checks what users expect, independent of doublestar.
func TestMatch(t *testing.T) {
	for _, tc := range []struct {
		pattern string
		yes, no []string
	}{
		{"**/*.ts", []string{"a.ts", ".ts", "a/b.ts", "a/.b.ts", "\xff/\xfe.ts"}, []string{"a.tsx", "a.ts/b", "ts"}},
		{"*.ts", []string{"a.ts", ".ts"}, []string{"a/b.ts"}},
		{"src/**", []string{"src", "src/a", "src/a/b"}, []string{"srcs", "a/src", "src2/a"}},
		{"src/**/*.go", []string{"src/a.go", "src/a/b.go"}, []string{"a/src/b.go", "src.go", "src/a.goo"}},
		{"src/**/*", []string{"src/a", "src/a/b"}, []string{"src", "src/"}},
		{"src/*/index.js", []string{"src/a/index.js"}, []string{"src/index.js", "src/a/b/index.js"}},
		{"**/go.mod", []string{"go.mod", "a/go.mod"}, []string{"ago.mod", "a/xgo.mod"}},
		{"Makefile", []string{"Makefile"}, []string{"a/Makefile", "makefile"}},
		{"**", []string{"", "a", "a/b"}, nil},
		{"**/a/**/b", []string{"a/b", "x/a/b", "x/a/y/z/b"}, []string{"b", "a/bb", "xa/b"}},
		{"a/**/b/**/c/*.d", []string{"a/b/c/x.d", "a/x/b/b/y/c/c/.d"}, []string{"a/c/b/x.d", "a/b/c/x/x.d"}},
		{"[a-c]?.{md,txt}", []string{"ax.md", "cé.txt"}, []string{"dx.md", "a/.md", "a.md"}},
		{`\{a\}\*`, []string{"{a}*"}, []string{"a", "{a}b"}},
		{"[!a]", []string{"b", "é", "\xff"}, []string{"a", "bc", ""}},
	} {
		p, err := Compile(tc.pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range slices.Concat(tc.yes, tc.no) {
			if got, want := p.Match(path), slices.Contains(tc.yes, path); got != want {
				t.Errorf("%s matches %q: %v", tc.pattern, path, got)
			}
		}
		if p.String() != tc.pattern {
			t.Errorf("%s has the string %s", tc.pattern, p)
		}
	}
}

// TestForms checks that common patterns are matched without their tokens.
func TestForms(t *testing.T) {
	for pattern, want := range map[string]form{
		"**/*.ts": deep, "src/**/*.ts": deep, "**/*": deep, "src/**": beneath, "*.go": one, "src/*.go": one, "*": one,
		"go.mod": exact, `a\*b`: exact, "": exact, "**/go.mod": named, "a/**/b/c": named, "a?": other, "**": other, "[a]": other, "/**": other,
	} {
		if p, err := Compile(pattern); err != nil || p.plain[0].form != want {
			t.Errorf("%s has form %d, want %d (%v)", pattern, p.plain[0].form, want, err)
		}
	}
}

// TestBraces checks the expansion of braces.
func TestBraces(t *testing.T) {
	for _, tc := range []struct {
		pattern string
		want    []string
	}{
		{"a", []string{"a"}},
		{"", []string{""}},
		{"{a,b}c", []string{"ac", "bc"}},
		{"x{a,{b,c}d}{1,2}", []string{"xa1", "xa2", "xbd1", "xbd2", "xcd1", "xcd2"}},
		{"{}{a}{,b}", []string{"a", "ab"}},
		{`{a,\},[,}]}`, []string{"a", `\}`, "[,}]"}},
		{"a,b{{{c}}}", []string{"a,bc"}},
		{`[{]{a\,b,}`, []string{`[{]a\,b`, "[{]"}},
	} {
		if got, ok := withoutBraces(tc.pattern); !ok || !slices.Equal(got, tc.want) {
			t.Errorf("%s expands to %q, want %q", tc.pattern, got, tc.want)
		}
	}
	for _, pattern := range []string{strings.Repeat("{", 50_000) + strings.Repeat("}", 50_000), strings.Repeat("{}", 50_000), strings.Repeat("{a}", 50_000)} {
		if got, ok := withoutBraces(pattern); !ok || len(got) != 1 {
			t.Errorf("%.10s expands to %d patterns", pattern, len(got))
		}
	}
}

func TestErrors(t *testing.T) {
	var syntax *SyntaxError
	for _, pattern := range []string{"[a", "{a", "a}", `a\`, "[]", "[!]", `[a\]`} {
		if _, err := Compile(pattern); !errors.As(err, &syntax) || syntax.Pattern != pattern || syntax.Reason == "" {
			t.Errorf("%s: %v", pattern, err)
		}
	}
	var many *TooManyError
	if p, err := Compile(strings.Repeat("{a,b}", 6)); err != nil || len(p.plain) != MaxPatterns {
		t.Errorf("maximum number of patterns: %v", err)
	}
	if _, err := Compile(strings.Repeat("{a,b}", 7)); !errors.As(err, &many) || !strings.Contains(err.Error(), "more than 64") {
		t.Errorf("too many: %v", err)
	}
}

// TestMatchTimeIsBounded uses patterns that take exponential time in a matcher that tries all
// combinations.
func TestMatchTimeIsBounded(t *testing.T) {
	paths := []string{strings.Repeat("aaa/", 1000) + "a.md", strings.Repeat("a", 4000), strings.Repeat("a/", 2000), strings.Repeat("\xff", 4000)}
	for _, pattern := range []string{
		"**/**/**/*a*a*a*b", strings.Repeat("**/", 300) + "z", strings.Repeat("*a", 500) + "z", strings.Repeat("**/*a", 300) + "z",
		strings.Repeat("{*,*}", 50) + "z", strings.Repeat("{**/*,**/*}/", 20) + "z", strings.Repeat("?*", 200) + "z", strings.Repeat("[!z]*", 200) + "z",
		strings.Repeat("{", 120) + strings.Repeat("}", 120) + "z", strings.Repeat("**/[!z]*[!z]", 200) + "z",
	} {
		p, err := Compile(pattern)
		if err != nil {
			continue
		}
		for _, path := range paths {
			if p.Match(path) {
				t.Errorf("%s matches %.20s", pattern, path)
			}
		}
	}
}

func TestNoAllocation(t *testing.T) {
	for _, pattern := range []string{"**/*.ts", "src/**/a*b/[a-z]?.go", "**/*.{ts,tsx,js}"} {
		p, _ := Compile(pattern)
		if n := testing.AllocsPerRun(100, func() { p.Match("src/a/b/axb/zz.go") }); n > 0 {
			t.Errorf("%s: %v allocations", pattern, n)
		}
	}
}

// TestAgainstDoublestar compares many patterns over a small alphabet with many paths.
func TestAgainstDoublestar(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	parts := []string{"a", "b", "/", "*", "**", "**/", "/**", "?", "[a-b]", "[!a]", "[^/]", `\*`, "é", "\xff", "\ufffd", `\/`, "[b-a-]", `[\]a]`, "."}
	letters := []string{"a", "b", "/", "*", "é", "\xff", "\ufffd", ".", "]"}
	for range 40_000 {
		pattern := randomParts(random, parts, 7)
		p, err := Compile(pattern)
		if err != nil {
			t.Fatalf("%q: %v", pattern, err)
		}
		for range 6 {
			compare(t, p, randomParts(random, letters, 8))
		}
	}
}

// randomParts returns a concatenation of up to limit parts.
func randomParts(random *rand.Rand, parts []string, limit int) string {
	var b strings.Builder
	for range random.IntN(limit + 1) {
		b.WriteString(parts[random.IntN(len(parts))])
	}
	return b.String()
}

func compare(t *testing.T, p *Pattern, path string) {
	t.Helper()
	plain, _ := withoutBraces(p.String())
	want := slices.ContainsFunc(plain, func(plain string) bool { return doublestar.MatchUnvalidated(plain, path) })
	if got := p.Match(path); got != want {
		t.Errorf("%q matches %q: %v, want %v", p, path, got, want)
	}
}

func FuzzGlob(f *testing.F) {
	for _, pattern := range []string{"{a,b}/**/[!a]*.{md,t?t}", "a/**", "**/*.ts", `\*[\]-a]`, "*a***"} {
		f.Add(pattern, "a/x/b.md")
	}
	f.Fuzz(func(t *testing.T, pattern, path string) {
		p, err := Compile(pattern)
		if valid := doublestar.ValidatePattern(pattern); !valid && err == nil {
			t.Errorf("%q is accepted", pattern)
		}
		if err == nil {
			compare(t, p, path)
		}
	})
}

func BenchmarkMatch(b *testing.B) {
	paths := make([]string, 15_000)
	for i := range paths {
		paths[i] = "src/cmd/compile/internal/" + strings.Repeat("x", i%20) + []string{".go", ".ts", ".s"}[i%3]
	}
	for _, pattern := range []string{"**/*.ts", "src/**", "**/*.{ts,tsx,js}", "src/**/internal/x*[x-z].go", "**/?*.go", "**/a*b*c"} {
		p, _ := Compile(pattern)
		b.Run(pattern, func(b *testing.B) {
			for b.Loop() {
				for _, path := range paths {
					p.Match(path)
				}
			}
		})
	}
}
