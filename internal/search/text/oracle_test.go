package text

import (
	"bytes"
	"math/rand/v2"
	"regexp"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// words generates parts of patterns and texts. There are few of them, so that patterns often match.
func words() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.SampledFrom([]string{
			"a", "b", "ab", "ba", "A", "k", "K", "s", "S", "\u212a", "\u017f", "foo", "bar", "Foo", "_", "0", "7", " ", "-",
			"é", "É", "ß", "ẞ", "Σ", "σ", "ς", "世", "界", "😀", "\ufffd", "İ", "the", "lesson",
		}),
		rapid.StringOfN(rapid.SampledFrom([]rune("abkS 0")), 1, 12, -1),
	)
}

// texts generates lines of words, with difficult line ends and bytes.
func texts() *rapid.Generator[string] {
	odd := rapid.SampledFrom([]string{"\n", "\n", "\n", "\r\n", "\r", "\n\n", "\x00", "\xff", "\xe2\x82", "\xc3", "\x80", "\xed\xa0\x80", "\t"})
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.OneOf(words(), words(), odd), 0, 60).Draw(t, "text"), "")
	})
}

// patterns generates patterns of Go's regexp, nested a few times.
func patterns(depth int) *rapid.Generator[string] {
	atom := rapid.OneOf(
		rapid.Map(words(), regexp.QuoteMeta),
		rapid.SampledFrom([]string{
			".", `\d`, `\w`, `\W`, `\s`, `\S`, `\pL`, `\PL`, `\p{Greek}`, `\p{Lu}`, `[a-z]`, `[^a]`, `[ab]`, `[Aa]`, `[kK]`, `[^\n]`,
			`[[:upper:]]`, `[\w-]`, `[^\s\d]`, `[\W_]`, `[]\S]`, `[é-ü]`, `[^\x00-\x7F]`, `^`, `$`, `\b`, `\B`, `\A`, `\z`, `\r`, `\n`, `\x{fffd}`, `(?s:.)`, `(?m:^a)`, `(?m:b$)`, `()`,
		}),
	)
	if depth == 0 {
		return atom
	}
	inner := patterns(depth - 1)
	return rapid.Custom(func(t *rapid.T) string {
		switch rapid.IntRange(0, 6).Draw(t, "kind") {
		case 0, 1:
			return strings.Join(rapid.SliceOfN(inner, 1, 4).Draw(t, "parts"), "")
		case 2:
			return "(?:" + strings.Join(rapid.SliceOfN(inner, 1, 5).Draw(t, "choices"), "|") + ")"
		case 3:
			times := rapid.SampledFrom([]string{"*", "+", "?", "*?", "+?", "??", "{2}", "{0,3}", "{1,2}", "{2,}", "{0}"}).Draw(t, "times")
			return "(?:" + inner.Draw(t, "repeated") + ")" + times
		case 4:
			return "(?i:" + inner.Draw(t, "folded") + ")"
		case 5:
			return "(" + inner.Draw(t, "group") + ")"
		}
		return inner.Draw(t, "as it is")
	})
}

// check compares all ways to search with the oracle.
func check(t rapid.TB, pattern string, ignoreCase bool, data []byte) {
	t.Helper()
	full := pattern
	if ignoreCase {
		full = "(?i)" + pattern
	}
	p, err := Compile(pattern, Options{IgnoreCase: ignoreCase})
	re, wrong := regexp.Compile(full)
	if wrong != nil || err != nil {
		if wrong != nil && err == nil {
			t.Fatalf("Compile(%q) succeeded, but regexp fails: %v", full, wrong)
		}
		return
	}
	want := byRegexp(re, data)
	if diff := cmp.Diff(want, linesOf(p, data)); diff != "" {
		t.Fatalf("%q in %q (-regexp +got):\n%s", full, data, diff)
	}
	if n, whole := p.Count(data, nil); n != len(want) || !whole {
		t.Fatalf("%q in %q: Count %d, whole %v, want %d", full, data, n, whole, len(want))
	}
	checkLines(t, p, re, data, want)
	checkMatcher(t, p, re, data)
	checkUnicode(t, pattern, ignoreCase, data)
	if p.prefilter != nil && p.prefilter.probes != nil {
		p.prefilter.probes = nil
		if diff := cmp.Diff(want, linesOf(p, data)); diff != "" {
			t.Fatalf("%q in %q, without bitmaps (-regexp +got):\n%s", full, data, diff)
		}
	}
	p.prefilter = nil
	for name, change := range map[string]func(*lazyDFA){
		"as it is":               func(*lazyDFA) {},
		"counting many":          func(m *lazyDFA) { m.minLaneSize, m.dense = 1, true },
		"lanes":                  func(m *lazyDFA) { m.minLaneSize = 1 },
		"thrashing":              func(m *lazyDFA) { m.maxStates, m.minBytesPerState = 7, 1<<30 },
		"thrashing in all lanes": func(m *lazyDFA) { m.maxStates, m.minBytesPerState, m.minLaneSize = 8, 1<<30, 1 },
		"flushing":               func(m *lazyDFA) { m.maxStates, m.minBytesPerState = 7, 0 },
		"flushing in all lanes":  func(m *lazyDFA) { m.maxStates, m.minBytesPerState, m.minLaneSize = 8, 0, 1 },
	} {
		p.dfas = sync.Pool{New: func() any {
			m := newLazyDFA(p.automaton)
			change(m)
			return m
		}}
		if diff := cmp.Diff(want, linesOf(p, data)); diff != "" {
			t.Fatalf("%q in %q, by the DFA alone, %s (-regexp +got):\n%s", full, data, name, diff)
		}
		if n, _ := p.Count(data, nil); n != len(want) {
			t.Fatalf("%q in %q, by the DFA alone, %s: Count %d, want %d", full, data, name, n, len(want))
		}
	}
}

// checkUnicode compares a pattern with ripgrep's meaning with the oracle, as far as Go's regexp
// supports that: it has no word boundaries of Unicode, and matches invalid bytes.
func checkUnicode(t rapid.TB, pattern string, ignoreCase bool, data []byte) {
	t.Helper()
	p, err := Compile(pattern, Options{IgnoreCase: ignoreCase, Unicode: true})
	if err != nil || p.automaton.wordBoundaries || !utf8.Valid(data) {
		return
	}
	re := finder(expandUnicode(pattern), Options{IgnoreCase: ignoreCase})
	if diff := cmp.Diff(byRegexp(re, data), linesOf(p, data)); diff != "" {
		t.Fatalf("%q, with Unicode, in %q (-regexp +got):\n%s", pattern, data, diff)
	}
}

// checkLines compares Find with the oracle, and checks that the matching lines contain one of the
// RequiredLiterals.
func checkLines(t rapid.TB, p *Pattern, re *regexp.Regexp, data []byte, matching []line) {
	t.Helper()
	for _, l := range matching {
		text := data[l.Start:l.End]
		start, end := p.Find(text)
		if want := re.FindIndex(text); want == nil && start != -1 || want != nil && (start != want[0] || end != want[1]) {
			t.Fatalf("Find %q in %q: %d to %d, want %v", re, text, start, end, want)
		}
		if needs := p.RequiredLiterals(); needs != nil && byWindow(needs, string(data[l.Start:min(l.End+1, len(data))])) < 0 {
			t.Fatalf("%q matches %q, which contains none of %+v", re, text, needs)
		}
	}
}

func TestLinesAsRegexp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pattern := patterns(rapid.IntRange(0, 3).Draw(t, "depth")).Draw(t, "pattern")
		data := texts().Draw(t, "data")
		check(t, pattern, rapid.Bool().Draw(t, "ignore case"), []byte(data))
	})
}

// TestLinesLong puts a few matching lines into a text that is long enough for lanes.
func TestLinesLong(t *testing.T) {
	text := bytes.Join(markdown(5), nil)
	for _, pattern := range []string{`\d[x-z]{3}\W`, `(?i)ZEPHYR\d`, `^needle$`, `é\pL+7`, `(?:[ab ]+e){3}|\d[x-z]{3}\W`} {
		for seed := range uint64(4) {
			random := rand.New(rand.NewPCG(seed, 0))
			lines := bytes.SplitAfter(text, []byte("\n"))
			for range 5 {
				lines[random.IntN(len(lines))] = []byte([]string{"7xyz.\n", "a Zephyr3\r\n", "needle\n", "éclair7\n"}[random.IntN(4)])
			}
			check(t, pattern, false, bytes.Join(lines, nil))
		}
	}
}

func FuzzLines(f *testing.F) {
	f.Add(`a|\Qb`, "B", true)
	f.Add("alpha|beta|gamma|delta|(?i:sigma)", "xx Delta\nSIGMA\n\u017fiGMA alpha\n", false)
	f.Add(`\bfoo\b|[a-z]+\d`, "a foo\r\nb7\n", false)
	f.Add(`(?i)task\w{1,3}$`, "TASKS\n\u212a\xff", true)
	f.Add(`^(?:a|ab)*[^\pL]??\B`, "abaab\r\r\n\n", false)
	f.Add("func", strings.Repeat("func a\r\n\nfun\nb func func\n", 8), false)
	f.Add("abcabcabcabc", strings.Repeat("abcabcABCabcabc\nabcabc\n", 12)+"abcabcabcabc", true)
	f.Fuzz(func(t *testing.T, pattern, data string, ignoreCase bool) {
		if len(pattern) > 100 || len(data) > 10_000 {
			t.Skip("regexp takes too long")
		}
		check(t, pattern, ignoreCase, []byte(data))
	})
}
