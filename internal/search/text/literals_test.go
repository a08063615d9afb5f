package text

import (
	"regexp/syntax"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRequired(t *testing.T) {
	for _, c := range []struct {
		pattern string
		want    string // the literals, those without case with a ~ before
		sure    bool
	}{
		{`lesson`, "lesson", true},
		{`(?i)Lesson`, "~lesson", true},
		{`foo|far`, "foo far", true},
		{`(?:[fb]ar)+`, "bar far", false},
		{`colou?r`, "colour color", true},
		{`\bset\b`, "set", false},
		{`^# `, "# ", false},
		{`foo\d+barbarian`, "barbarian", false},
		{`a(?i)b`, "~ab", false},
		{`a.*|b`, "a b", false},
		{`[a-z]+\d`, "", false},
		{`x*`, "", false},
		{`(?i)ÉKLAT`, "~klat", false},
		{"a\ufffdbc", "bc", false},
		{`(?i)İx`, "~İx", true},
		{`gamma\r`, "gamma\r", false},
		{`one|two|three|four|five|six|seven|eight|nine`, "", false},
	} {
		tree, err := syntax.Parse(c.pattern, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		set, sure := learn(tree).required()
		var got []string
		for _, l := range set {
			if l.fold {
				l.text = "~" + l.text
			}
			got = append(got, l.text)
		}
		if diff := cmp.Diff(c.want, strings.Join(got, " ")); diff != "" || sure != c.sure {
			t.Errorf("%q: sure %v, want %v (-want +got):\n%s", c.pattern, sure, c.sure, diff)
		}
	}
}

// TestNeedle puts a needle at every place of texts that are full of what is almost one.
func TestNeedle(t *testing.T) {
	for _, c := range []struct{ needle, filler string }{
		{"q", "aQ"},
		{"xy", "xxyX"},
		{"lesson", "lessOn Lessen esson lesso"},
		{"zab", "zazbzaazb"},
		{"abcdefghijklmnopqrstuvwxyz", "abcdefghijklmnopqrstuvwxy"},
	} {
		for _, fold := range []bool{false, true} {
			n := &newNeedles([]literal{{text: c.needle, fold: fold}})[0]
			spelling := c.needle
			if fold {
				spelling = strings.ToUpper(c.needle)
			}
			filler := strings.Repeat(c.filler, 100)[:80]
			if fold {
				filler = strings.NewReplacer("Q", "p", "X", "w", "O", "u").Replace(filler)
				filler = strings.ReplaceAll(filler, c.needle, "")
			}
			for place := range len(filler) {
				data := filler[:place] + spelling + filler[place:]
				want := strings.Index(data, spelling)
				if fold {
					want = strings.Index(strings.ToLower(data), c.needle)
				}
				for name, next := range map[string]func([]byte, int) int{"next": n.next, "nextByBoth": n.nextByBoth} {
					if got := next([]byte(data), 0); got != want {
						t.Fatalf("%s of %q in %q, fold %v: %d, want %d", name, c.needle, data, fold, got, want)
					}
				}
			}
		}
	}
}
