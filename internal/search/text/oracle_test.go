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

// words are what generated patterns and texts are made of: few, so that they often meet.
func words() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.SampledFrom([]string{
			"a", "b", "ab", "ba", "A", "k", "K", "s", "S", "\u212a", "\u017f", "foo", "bar", "Foo", "_", "0", "7", " ", "-",
			"é", "É", "ß", "ẞ", "Σ", "σ", "ς", "世", "界", "😀", "\ufffd", "İ", "the", "lesson",
		}),
		rapid.StringOfN(rapid.SampledFrom([]rune("abkS 0")), 1, 12, -1),
	)
}

// texts are lines of words, with all the ends and bytes that may go wrong.
func texts() *rapid.Generator[string] {
	odd := rapid.SampledFrom([]string{"\n", "\n", "\n", "\r\n", "\r", "\n\n", "\x00", "\xff", "\xe2\x82", "\xc3", "\x80", "\xed\xa0\x80", "\t"})
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.OneOf(words(), words(), odd), 0, 60).Draw(t, "text"), "")
	})
}

// patterns are those of Go's regexp, nested a few times.
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

// check compares all the ways in which we search with the oracle.
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
			t.Fatalf("Compile(%q) took what regexp refuses: %v", full, wrong)
		}
		return
	}
	want := byRegexp(re, data)
	if diff := cmp.Diff(want, linesOf(p, data)); diff != "" {
		t.Fatalf("%q in %q (-regexp +we):\n%s", full, data, diff)
	}
	if n, whole := p.Count(data, nil); n != len(want) || !whole {
		t.Fatalf("%q in %q: Count %d, whole %v, want %d", full, data, n, whole, len(want))
	}
	checkLines(t, p, re, data, want)
	checkWide(t, pattern, ignoreCase, data)
	if p.sieve != nil && p.sieve.probes != nil {
		p.sieve.probes = nil
		if diff := cmp.Diff(want, linesOf(p, data)); diff != "" {
			t.Fatalf("%q in %q, without charts (-regexp +we):\n%s", full, data, diff)
		}
	}
	p.sieve = nil
	for name, change := range map[string]func(*machine){
		"as it is":                func(*machine) {},
		"counting many":           func(m *machine) { m.short, m.dense = 1, true },
		"ahead in all lanes":      func(m *machine) { m.short = 1 },
		"tiring":                  func(m *machine) { m.full, m.use = 7, 1<<30 },
		"tiring in all lanes":     func(m *machine) { m.full, m.use, m.short = 8, 1<<30, 1 },
		"forgetting":              func(m *machine) { m.full, m.use = 7, 0 },
		"forgetting in all lanes": func(m *machine) { m.full, m.use, m.short = 8, 0, 1 },
	} {
		p.machines = sync.Pool{New: func() any {
			m := newMachine(p.automaton)
			change(m)
			return m
		}}
		if diff := cmp.Diff(want, linesOf(p, data)); diff != "" {
			t.Fatalf("%q in %q, by the machine alone, %s (-regexp +we):\n%s", full, data, name, diff)
		}
		if n, _ := p.Count(data, nil); n != len(want) {
			t.Fatalf("%q in %q, by the machine alone, %s: Count %d, want %d", full, data, name, n, len(want))
		}
	}
}

// checkWide compares a pattern that is meant as ripgrep means it with the oracle, as far as that can tell: it does not know the
// words of Unicode, and takes bytes that are no characters for some.
func checkWide(t rapid.TB, pattern string, ignoreCase bool, data []byte) {
	t.Helper()
	p, err := Compile(pattern, Options{IgnoreCase: ignoreCase, Unicode: true})
	if err != nil || p.automaton.edges || !utf8.Valid(data) {
		return
	}
	re := finder(widen(pattern), Options{IgnoreCase: ignoreCase})
	if diff := cmp.Diff(byRegexp(re, data), linesOf(p, data)); diff != "" {
		t.Fatalf("%q, with Unicode, in %q (-regexp +we):\n%s", pattern, data, diff)
	}
}

// checkLines compares Find with the oracle, and what Needs promises with the lines that match.
func checkLines(t rapid.TB, p *Pattern, re *regexp.Regexp, data []byte, matching []line) {
	t.Helper()
	for _, l := range matching {
		text := data[l.Start:l.End]
		start, end := p.Find(text)
		if want := re.FindIndex(text); want == nil && start != -1 || want != nil && (start != want[0] || end != want[1]) {
			t.Fatalf("Find %q in %q: %d to %d, want %v", re, text, start, end, want)
		}
		if needs := p.Needs(); needs != nil && byWindow(needs, string(data[l.Start:min(l.End+1, len(data))])) < 0 {
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

// TestLinesLong hides a few lines in a text that is long enough for lanes.
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

func TestLinesConcurrently(t *testing.T) {
	p, re := compile(t, `[ab]*a[ab]{6}c|\bfoo`, false)
	data := []byte(strings.Repeat("abbabaababbabc\nfoo\nbar bar\nabaabbbabab\n", 200))
	want := byRegexp(re, data)
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for range 20 {
				if diff := cmp.Diff(want, linesOf(p, data)); diff != "" {
					t.Errorf("(-regexp +we):\n%s", diff)
				}
			}
		})
	}
	wait.Wait()
}
