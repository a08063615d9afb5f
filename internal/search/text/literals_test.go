package text

import (
	"regexp/syntax"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRequired(t *testing.T) {
	for _, c := range []struct {
		pattern string
		want    string // the literals; a ~ precedes those that ignore case
		exact   bool
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
		{`gamma\r`, "gamma\r", true},
		{`one|two|three|four|five|six|seven|eight|nine`, "one two three four five six seven eight nine", true},
	} {
		tree, err := syntax.Parse(c.pattern, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		set, exact := needles(tree)
		if diff := cmp.Diff(c.want, spell(set)); diff != "" || exact != c.exact {
			t.Errorf("%q: exact %v, want %v (-want +got):\n%s", c.pattern, exact, c.exact, diff)
		}
	}
}
