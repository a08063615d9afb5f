package books

import (
	"strings"
	"testing"
)

// FuzzEdits checks that an edit changes nothing outside of the text or section.
func FuzzEdits(f *testing.F) {
	f.Add("# A\n\nx\n\n## B\ny\n# C\nz", "A", "new\ntext")
	f.Add("a\r\n===\r\nb", "a", "")
	f.Add("---\ntitle: x\n---\n> # A\n- # A\n# A {#id}\n", "# A", "# B")
	f.Add("x", "x", "y\n")
	f.Fuzz(func(t *testing.T, text, what, replacement string) {
		if what == "" {
			return
		}
		same := func(text string) string { return text }
		check := func(after string, err error, start, end int) {
			if err != nil {
				return
			}
			if !strings.HasPrefix(after, text[:start]) || !strings.HasSuffix(after, text[end:]) || !strings.Contains(after, strings.Trim(replacement, "\r\n")) {
				t.Errorf("%q became %q", text, after)
			}
		}
		after, err := replaceText("k", text, what, replacement)
		at := max(0, strings.Index(text, what))
		check(after, err, at, min(at+len(what), len(text)))
		start, end, _ := section("k", text, what)
		after, err = replaceSection("k", text, what, replacement, same)
		check(after, err, start, end)
	})
}
