package ignore

import (
	"fmt"
	"strings"
	"testing"
)

// TestLast checks that the last matching rule decides, whatever the kinds of the rules, and that a
// folder's own rules take precedence over those above.
func TestLast(t *testing.T) {
	forms := []string{"name.x", "*.x", "*e.x", "n*.x", "/in/name.x", "in/*.x", "in/**", "name.?"}
	for _, a := range forms {
		for _, b := range forms {
			rules := (*Rules)(nil).Enter("", []byte(a+"\n!"+b+"\n"))
			if rules.Ignores("in/name.x", false) {
				t.Errorf("%s, then !%s: ignored", a, b)
			}
			rules = (*Rules)(nil).Enter("", []byte("!"+a+"\n"+b+"/\n"))
			if rules.Ignores("in/name.x", false) || !rules.Ignores("in/name.x", true) {
				t.Errorf("!%s, then %s/: files are ignored, or folders are not", a, b)
			}
		}
		rules := (*Rules)(nil).Enter("", []byte(a)).Enter("in", []byte("!/name.x\n"))
		if rules.Ignores("in/name.x", false) {
			t.Errorf("%s, then !/name.x in the folder: ignored", a)
		}
	}
}

// TestEnter checks that a folder without rules costs nothing.
func TestEnter(t *testing.T) {
	rules := (*Rules)(nil).Enter("", []byte("a\n"))
	for _, nothing := range []string{"", "\n", "# a\n", "[\n", "!\n/\n", "\\\n"} {
		if rules.Enter("b", []byte(nothing)) != rules {
			t.Errorf("%q is a rule", nothing)
		}
	}
	content := []byte("b\n")
	inner := rules.Enter("x", content)
	content[0] = 'c'
	if !inner.Ignores("x/b", false) || !inner.Ignores("x/a", true) || inner.Ignores("x/c", false) {
		t.Error("changing the content changed the rules")
	}
	if n := testing.AllocsPerRun(100, func() { inner.Ignores("x/some.go", false) }); n > 0 {
		t.Errorf("%v allocations per path", n)
	}
}

// TestMatchTimeIsBounded uses rules that take exponential time in a matcher that tries all
// combinations.
func TestMatchTimeIsBounded(t *testing.T) {
	paths := []string{strings.Repeat("aaa/", 1000) + "a.md", strings.Repeat("a", 4000), strings.Repeat("a/", 1999) + "a"}
	for _, rule := range []string{
		strings.Repeat("*a", 500) + "z", strings.Repeat("**/", 300) + "z", strings.Repeat("**/*a", 300) + "/z", strings.Repeat("?*", 200) + "z",
		strings.Repeat("[!z]*", 200) + "z", "x/" + strings.Repeat("*", 100_000) + "z", strings.Repeat("a", 1_000_000), strings.Repeat("[a", 50_000), strings.Repeat("[[:", 50_000), strings.Repeat(`**\/`, 300) + "z",
		strings.Repeat("**/a*a*a/", 100) + "z", strings.Repeat("[[:alpha:]", 50_000) + "]9",
	} {
		rules := (*Rules)(nil).Enter("", []byte(rule))
		for _, path := range paths {
			if rules.Ignores(path, false) {
				t.Errorf("%.20s ignores %.20s", rule, path)
			}
		}
	}
}

// FuzzIgnore checks that no file of rules causes a panic, and that lookups and pattern matching
// agree.
func FuzzIgnore(f *testing.F) {
	for _, rule := range handWritten {
		f.Add(rule, "a/b", false)
	}
	f.Fuzz(func(t *testing.T, content, path string, fold bool) {
		rules := (&Rules{fold: fold}).Enter("", []byte(content))
		folder := len(path)%2 == 0
		got := rules.Ignores(path, folder)
		if path == "" || strings.HasPrefix(path, "/") || strings.HasSuffix(path, "/") || strings.Contains(path, "//") || strings.Contains(path, "\x00") {
			return // not a valid path
		}
		if want := matchOneByOne(content, path, folder, fold); got != want {
			t.Errorf("by %q %q is ignored: %v, want %v", content, path, got, want)
		}
	})
}

// matchOneByOne reports whether a path is ignored by matching one rule after another, each as a
// pattern for the path.
func matchOneByOne(content, path string, folder, fold bool) (ignored bool) {
	path = folded(path, fold)
	for line := range lines(content) {
		line, include := strings.CutPrefix(line, "!")
		line, existsOnly := strings.CutSuffix(line, "/")
		text, isPath := path, strings.Contains(line, "/")
		if !isPath {
			text = path[strings.LastIndexByte(path, '/')+1:]
		}
		line = strings.TrimPrefix(line, "/")
		plain := plainLength(line)
		rest, ok := strings.CutPrefix(text, folded(line[:plain], fold))
		var p pattern
		if ok && p.compile(line[plain:], isPath, fold) && p.match(rest) && (folder || !existsOnly) {
			ignored = !include
		}
	}
	return ignored
}

// BenchmarkWalk enters 1,500 folders, five deep, with twenty rules each, and matches ten files in
// each.
func BenchmarkWalk(b *testing.B) {
	var content []byte
	for i := range 5 {
		content = fmt.Appendf(content, "name%d\n*.e%d\n/dir%d/sub\nfolder%d/\n", i, i, i, i)
	}
	var above *Rules
	for _, folder := range []string{"", "f0", "f0/f1", "f0/f1/f2"} {
		above = above.Enter(folder, content)
	}
	paths := make([]string, 10)
	for i := range paths {
		paths[i] = fmt.Sprintf("f0/f1/f2/f3/file_%d.%s", i, []string{"go", "ts", "s", "txt"}[i%4])
	}
	for b.Loop() {
		for range 1500 {
			rules := above.Enter("f0/f1/f2/f3", content)
			for _, path := range paths {
				rules.Ignores(path, false)
			}
		}
	}
}

// BenchmarkIgnores matches 15,000 files in a folder with five times twenty rules above it.
func BenchmarkIgnores(b *testing.B) {
	var content []byte
	for i := range 5 {
		content = fmt.Appendf(content, "name%d\n*.e%d\n/dir%d/sub\n*~%d\n", i, i, i, i)
	}
	var rules *Rules
	for _, folder := range []string{"", "f0", "f0/f1", "f0/f1/f2", "f0/f1/f2/f3"} {
		rules = rules.Enter(folder, content)
	}
	for b.Loop() {
		for range 15_000 {
			rules.Ignores("f0/f1/f2/f3/file_0.go", false)
		}
	}
}
