package books

import (
	"strings"
	"testing"

	"github.com/bmatcuk/doublestar/v4"
)

// TestGlobsWithBraces: expanding the braces does not change the meaning.
func TestGlobsWithBraces(t *testing.T) {
	paths := []string{"a", "b", "ab", "ac", "a/b.md", "a/c.md", "x/a/b.md", "lessons/one.md", "lessons/two.txt", "{a,b}", "a,b", "d{", "]"}
	for _, pattern := range []string{
		"{a,b}", "{a,b}/*", "a{b,c}", "a{,b}", "{a,{b,c}}", "{a/b,a/c}.md", "{**/,}b.md", "**/*.{md,txt}", "{lessons/**,x/**}/*.md",
		`\{a,b\}`, "[{]a", "d[{}]", "{[,],a}", "{a}", "{}", "a{}b", "*", "**", `{\},a}`, "{x,y}/{a,b}/{b,c}.md",
	} {
		plain, err := compileGlob(pattern)
		if err != nil {
			t.Errorf("%s: %v", pattern, err)
			continue
		}
		for _, path := range paths {
			if got, want := plain.Match(path), doublestar.MatchUnvalidated(pattern, path); got != want {
				t.Errorf("%s matches %s: %v, want %v", pattern, path, got, want)
			}
		}
	}
}

// TestInvalidGlobs checks the errors for invalid patterns.
func TestInvalidGlobs(t *testing.T) {
	for pattern, want := range map[string]string{
		"[a":                       `pattern is not a valid glob: "[a"; a [ or { is not closed, or it ends with a backslash`,
		`a\`:                       `pattern is not a valid glob: "a\\"; a [ or { is not closed, or it ends with a backslash`,
		strings.Repeat("{a,b}", 7): "pattern stands for more than 64 patterns after expanding its braces; use fewer braces, or several calls",
	} {
		if _, err := compileGlob(pattern); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", pattern, err)
		}
	}
}

// TestGlobsWithManyBraces: a matcher that backtracks into braces would practically never
// finish with these.
func TestGlobsWithManyBraces(t *testing.T) {
	path := strings.Repeat("aaa/", 60) + "a.md"
	for _, pattern := range []string{strings.Repeat("{*,*}", 50) + "z", strings.Repeat("{**/*,**/*}/", 20) + "z", strings.Repeat("*{a,a}", 40) + "z", strings.Repeat("{", 120) + strings.Repeat("}", 120) + "z"} {
		if plain, err := compileGlob(pattern); err == nil && plain.Match(path) {
			t.Errorf("%s matches", pattern)
		}
	}
	if _, err := compileGlob(strings.Repeat("{a,b}", 6)); err != nil {
		t.Errorf("as many as may be: %v", err)
	}
}

func FuzzGlobs(f *testing.F) {
	f.Add("{a,b}/**/[!a]*.{md,t?t}", "a/x/b.md")
	f.Fuzz(func(t *testing.T, pattern, path string) {
		if strings.Count(pattern, "{") > 4 || len(pattern)+len(path) > 200 {
			return // the reference implementation would never finish
		}
		plain, err := compileGlob(pattern)
		if valid := doublestar.ValidatePattern(pattern); !valid && err == nil {
			t.Errorf("%q is taken", pattern)
		}
		// Not the reverse: the reference does not match {,x} after a star at the end of a path.
		if err == nil && doublestar.MatchUnvalidated(pattern, path) && !plain.Match(path) {
			t.Errorf("%q does not match %q", pattern, path)
		}
	})
}
