package text

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A line holds the arguments of one call of found.
type line struct{ Number, Start, End int }

// linesOf collects the calls of found.
func linesOf(p *Pattern, data []byte) []line {
	var all []line
	p.Lines(data, func(number, start, end int) bool {
		all = append(all, line{number, start, end})
		return true
	})
	return all
}

// byRegexp is the oracle: Go's regexp on each line by itself.
func byRegexp(re *regexp.Regexp, data []byte) []line {
	var all []line
	for number, at := 1, 0; at < len(data); number++ {
		end, next := len(data), len(data)
		if n := bytes.IndexByte(data[at:], '\n'); n >= 0 {
			end, next = at+n, at+n+1
		}
		if re.Match(data[at:end]) {
			if next > end && bytes.HasSuffix(data[at:end], []byte("\r")) {
				end--
			}
			all = append(all, line{number, at, end})
		}
		at = next
	}
	return all
}

// compile compiles the pattern with Compile and with the oracle.
func compile(t testing.TB, pattern string, ignoreCase bool) (*Pattern, *regexp.Regexp) {
	t.Helper()
	p, err := Compile(pattern, Options{IgnoreCase: ignoreCase})
	if err != nil {
		t.Fatalf("Compile(%q): %v", pattern, err)
	}
	if ignoreCase {
		pattern = "(?i)" + pattern
	}
	return p, regexp.MustCompile(pattern)
}

func TestLines(t *testing.T) {
	const lines = "alpha\nbeta gamma\r\n\r\n\nalpha beta\r"
	a70 := strings.Repeat("a", 70)
	for _, c := range []struct {
		name, pattern, data string
		want                []line
	}{
		{"a literal", "alpha", lines, []line{{1, 0, 5}, {5, 21, 32}}},
		{"the last byte before an end", "alpha$", lines, []line{{1, 0, 5}}},
		{"\\r is seen", "gamma.$", lines, []line{{2, 6, 16}}},
		{"\\r is given with a line that ends without \\n", `beta\r`, lines, []line{{5, 21, 32}}},
		{"and not with others", `gamma\r`, lines, []line{{2, 6, 16}}},
		{"empty lines", `^$`, lines, []line{{4, 20, 20}}},
		{"no line after the last end", `^$`, "a\n", nil},
		{"no line in nothing", ``, "", nil},
		{"an empty pattern", ``, "a\n\nb", []line{{1, 0, 1}, {2, 2, 2}, {3, 3, 4}}},
		{"no match across lines", `alpha\s+beta`, "alpha\nbeta\nalpha \tbeta\n", []line{{3, 11, 22}}},
		{"\\n in the pattern", "a\nb", "a\nb\n", nil},
		{"(?s) changes nothing", `(?s)a.b`, "a\nb\na-b", []line{{3, 4, 7}}},
		{"a word", `\bset\b`, "reset\nset\noffset set\nsets\n", []line{{2, 6, 9}, {3, 10, 20}}},
		{"the Kelvin sign without case", `(?i)kilo`, "\u212aILO\nkilo\nmilo\n", []line{{1, 0, 6}, {2, 7, 11}}},
		{"a byte that is no character", `^.$`, "\xff\n\xe2\x82\n\u20ac\n", []line{{1, 0, 1}, {3, 5, 8}}},
		{"U+FFFD is also such a byte", "\ufffd", "\xff\n", []line{{1, 0, 1}}},
		{"no boundary at the end", `\B$`, "a\na-\n", []line{{2, 2, 4}}},
		{"many states", `[ab]*a[ab]{3}c|^$`, "abbabaababab\nbabaac\naabac\nab\n", []line{{2, 13, 19}, {3, 20, 25}}},
		{"more than a word of positions", `a{70}(?:b|c{70})d`, a70 + "cd\n" + a70 + "bd\n" + a70[1:] + "bd\n", []line{{2, 73, 145}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, re := compile(t, c.pattern, false)
			if diff := cmp.Diff(c.want, byRegexp(re, []byte(c.data))); diff != "" {
				t.Errorf("regexp disagrees (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.want, linesOf(p, []byte(c.data))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			check(t, c.pattern, true, []byte(c.data))
			check(t, c.pattern, false, []byte(c.data))
		})
	}
}

func TestLinesStop(t *testing.T) {
	p, _ := compile(t, "a", false)
	calls := 0
	p.Lines([]byte("a\na\na\n"), func(int, int, int) bool { calls++; return calls < 2 })
	if calls != 2 {
		t.Errorf("found was called %d times, it returned false the second time", calls)
	}
}

func TestFindInLongLines(t *testing.T) {
	long := strings.Repeat("long line ", maxFindLine/5)
	for _, c := range []struct {
		name, pattern, line string
		start, end          int
	}{
		{"in the middle", `ne{2}dle\b`, long + "needle " + long, len(long), len(long) + 6},
		{"at the end", `needle$`, long + "needle", len(long), len(long) + 6},
		{"at the beginning", `^needle`, "needle" + long, 0, 6},
		{"nowhere", `ne{2}dle`, long, -1, -1},
		{"no match made by the cut", `^line|needle`, long + " needle", len(long) + 1, len(long) + 7},
		{"a longer match is cut", `^long.*needle`, long + "needle", len(long) + 6 - maxFindLine, len(long) + 6},
	} {
		p, _ := compile(t, c.pattern, false)
		if start, end := p.Find([]byte(c.line)); start != c.start || end != c.end {
			t.Errorf("%s: %d to %d, want %d to %d", c.name, start, end, c.start, c.end)
		}
	}
}

// TestFindIsBounded uses a pattern for which Go's regexp would take minutes in a line of this
// length.
func TestFindIsBounded(t *testing.T) {
	p, _ := compile(t, `(?:a?b?){400}c`, false)
	line := strings.Repeat("ab", 200_000) + "c"
	if start, end := p.Find([]byte(line)); start < 0 || end != len(line) {
		t.Errorf("%d to %d, want the end of %d bytes", start, end, len(line))
	}
}

func TestNeeds(t *testing.T) {
	for _, c := range []struct {
		pattern, want string // the literals; a ~ precedes those that ignore case
		ignoreCase    bool
	}{
		{`lesson`, "lesson", false},
		{`lesson`, "~lesson", true},
		{`\w+_id = \d`, "_id = ", false},
		{`alpha|beta|gamma|delta|epsilon`, "alpha beta gamma delta epsilon", false},
		{`[0-4]\.[xy]z`, "0.xz 0.yz 1.xz 1.yz 2.xz 2.yz 3.xz 3.yz 4.xz 4.yz", false},
		{`~~\w+the`, "the", false},
		{`\d+`, "", false},
		{`ab|abc`, "", false},
		{`\w+`, "", false},
		{`foo|x*`, "", false},
	} {
		p, _ := compile(t, c.pattern, c.ignoreCase)
		if got := spell(p.RequiredLiterals()); got != c.want {
			t.Errorf("%q needs %q, want %q", c.pattern, got, c.want)
		}
	}
}

// spell formats literals in one line.
func spell(set []Literal) string {
	var all []string
	for _, l := range set {
		if l.Fold {
			l.Text = "~" + l.Text
		}
		all = append(all, l.Text)
	}
	return strings.Join(all, " ")
}

func TestKey(t *testing.T) {
	seen := map[string]string{}
	for _, o := range []Options{{}, {IgnoreCase: true}, {Unicode: true}, {IgnoreCase: true, Unicode: true}} {
		for _, pattern := range []string{"", "a", ":", "i:", "i:a", `\w`, "u:a"} {
			name := fmt.Sprintf("%q %+v", pattern, o)
			for range 2 {
				p, err := Compile(pattern, o)
				if err != nil {
					t.Fatal(err)
				}
				if other, ok := seen[p.Key()]; ok && other != name {
					t.Errorf("%s has the key of %s", name, other)
				}
				seen[p.Key()] = name
			}
		}
	}
}
