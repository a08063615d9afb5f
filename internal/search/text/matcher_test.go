package text

import (
	"bytes"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// checkMatcher compares all matches in each line with the oracle, and the lines that do not match.
func checkMatcher(t rapid.TB, p *Pattern, re *regexp.Regexp, data []byte) {
	t.Helper()
	var others []int
	number := 0
	for line := range bytes.Lines(data) {
		number++
		line = bytes.TrimSuffix(line, []byte("\n"))
		want := re.FindAllIndex(line, -1)
		if want == nil {
			others = append(others, number)
		}
		m := matcher{Pattern: p, prog: p.matcher(), text: line}
		if diff := cmp.Diff(want, m.all()); diff != "" {
			t.Fatalf("all matches of %q in %q (-regexp +got):\n%s", re, line, diff)
		}
	}
	inverted, err := Compile(re.String(), Options{Invert: true})
	if err != nil {
		t.Fatal(err)
	}
	var got []int
	inverted.Lines(data, func(number, _, _ int) bool { got = append(got, number); return true })
	if diff := cmp.Diff(others, got); diff != "" {
		t.Fatalf("lines that do not match %q in %q (-want +got):\n%s", re, data, diff)
	}
}

// TestMultilineAsRegexp checks that matches across lines are those of Go's regexp, and that the
// lines reported are exactly those that the matches touch.
func TestMultilineAsRegexp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pattern := patterns(rapid.IntRange(0, 3).Draw(t, "depth")).Draw(t, "pattern")
		data := []byte(texts().Draw(t, "data"))
		p, err := Compile(pattern, Options{Multiline: true})
		if err != nil || !p.Multiline {
			return
		}
		re := regexp.MustCompile("(?m)" + pattern)
		m := matcher{Pattern: p, prog: p.matcher(), text: data}
		want := re.FindAllIndex(data, -1)
		if diff := cmp.Diff(want, m.all()); diff != "" {
			t.Fatalf("%q in %q (-regexp +got):\n%s", re, data, diff)
		}
		compareTouched(t, p, data, want)
	})
}

func compareTouched(t *rapid.T, p *Pattern, data []byte, matches [][]int) {
	touched := map[int]bool{}
	for _, m := range matches {
		for at := m[0]; at < max(m[1], m[0]+1) && at < len(data); at++ {
			touched[1+bytes.Count(data[:at], []byte("\n"))] = true
		}
		if m[0] == len(data) && len(data) > 0 && data[len(data)-1] != '\n' {
			touched[1+bytes.Count(data, []byte("\n"))] = true
		}
	}
	got, previous := map[int]bool{}, -1
	p.Lines(data, func(number, start, end int) bool {
		if number <= previous+1 && previous >= 0 {
			t.Fatalf("%q in %q: the runs at %d and %d are not one", p.Key(), data, previous, number)
		}
		previous = number + bytes.Count(data[start:end], []byte("\n"))
		for n := number; n <= previous; n++ {
			got[n] = true
		}
		return true
	})
	if diff := cmp.Diff(touched, got); diff != "" {
		t.Fatalf("lines of %q in %q (-want +got):\n%s", p.Key(), data, diff)
	}
}

// TestFindAll compares matches with the results of ripgrep 15 where those differ from Go's regexp.
func TestFindAll(t *testing.T) {
	for _, tc := range []struct {
		patterns []string
		o        Options
		text     string
		want     []string
	}{
		{[]string{`\bfoo`}, Options{}, "éfoo foo", []string{"foo"}},
		{[]string{`\bécole\b`}, Options{}, "l'école écoles", []string{"école"}},
		{[]string{`a.`}, Options{}, "a\xff aé", []string{"aé"}},
		{[]string{"foo"}, Options{Word: true}, "foo foo-foo food éfoo", []string{"foo", "foo", "foo"}},
		{[]string{"-x"}, Options{Word: true}, "a -x b-x", []string{"-x"}},
		{[]string{`a\.b\(\)`}, Options{Word: true}, "x = a.b();", []string{"a.b()"}},
		{[]string{"foo|foobar"}, Options{Word: true}, "foobar", []string{"foobar"}},
		{[]string{"bar", "FOO"}, Options{IgnoreCase: true}, "Foo bar", []string{"Foo", "bar"}},
		{[]string{`\Qa.b`, `\Qc`}, Options{}, "a.b axb c", []string{"a.b", "c"}},
		{[]string{"a|ab"}, Options{WholeLine: true}, "ab", []string{"ab"}},
		{[]string{"a"}, Options{WholeLine: true}, "ab", nil},
		{[]string{"a"}, Options{Invert: true}, "a", nil},
		{[]string{`b\s+^a`}, Options{Multiline: true}, "b\né\nb \n\na", []string{"b \n\na"}},
	} {
		tc.o.Unicode = true
		p, err := CompileAny(tc.patterns, tc.o)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range p.FindAll([]byte(tc.text)) {
			got = append(got, tc.text[m[0]:m[1]])
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%q %+v in %q: %q, want %q", tc.patterns, tc.o, tc.text, got, tc.want)
		}
	}
}

// TestPatternsKeepTheirErrors checks that the error for one of several patterns names that pattern.
func TestPatternsKeepTheirErrors(t *testing.T) {
	_, err := CompileAny([]string{"a", "b("}, Options{})
	want := &SyntaxError{Pattern: "b(", Column: 2, Reason: reasons["missing closing )"]}
	if diff := cmp.Diff(error(want), err); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
