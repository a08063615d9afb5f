package books

import (
	"slices"
	"strings"
	"testing"

	"remit/internal/engine/audit"
)

// TestDecide checks which of the open changes of a file were made. A change is written OLD>NEW; the
// known ones begin with + if they were made and - if they were not, those in progress with ~.
func TestDecide(t *testing.T) {
	for name, tc := range map[string]struct {
		changes, now string
		want         string // the states of the open changes: made, not or ?
	}{
		"made":                            {"a>b", "b", "made"},
		"not made":                        {"a>b", "a", "not"},
		"created":                         {">b", "b", "made"},
		"not created":                     {">b", "", "not"},
		"deleted":                         {"a>", "", "made"},
		"edited by hand":                  {"a>b", "x", "?"},
		"followed by another":             {"a>b +b>c", "c", "made"},
		"overtaken by another":            {"a>b +a>c", "c", "not"},
		"repeated by a later call":        {"a>b +a>b", "b", "not"},
		"two in a row":                    {"a>b b>c", "c", "made made"},
		"the second not":                  {"a>b b>c", "b", "made not"},
		"one of two at once":              {"+x>a a>b a>c", "b", "made not"},
		"the other":                       {"+x>a a>b a>c", "c", "not made"},
		"the one that began with old":     {"+x>a x>c a>b", "b", "not made"},
		"one after a change that was not": {"-a>b a>c", "c", "made"},
		"equal content by another call":   {"+a>b a>b", "b", "not"},
		"one of two equal ones":           {"a>b a>b", "b", "not made"},
		"made and reverted":               {"+x>a a>b b>a", "a", "made made"},
		"created and deleted":             {">b b>", "", "made made"},
		"deleted and created again":       {"a> >a", "a", "made made"},
		"before a change in progress":     {"a>b ~b>c", "c", "made"},
		"not before a change in progress": {"a>b ~a>c", "c", "not"},
		"between changes, edited by hand": {"+a>b b>c +x>d", "d", "?"},
		"arrived after another had begun": {"a>b -a>c", "b", "made"},
	} {
		t.Run(name, func(t *testing.T) {
			var changes, open []*audit.Announced
			for text := range strings.SplitSeq(tc.changes, " ") {
				before, after, _ := strings.Cut(strings.TrimLeft(text, "+-~"), ">")
				a := &audit.Announced{Change: audit.Change{Old: before, New: after, Op: opWrite}}
				if after == "" {
					a.Op = opDelete
				}
				switch text[0] {
				case '+':
					a.State = audit.Made
				case '-':
					a.State = audit.NotMade
				case '~':
				default:
					open = append(open, a)
				}
				changes = append(changes, a)
			}
			decide(changes, tc.now, func(a *audit.Announced) bool { return slices.Contains(open, a) })
			var got []string
			for _, a := range open {
				got = append(got, map[audit.State]string{audit.Made: "made", audit.NotMade: "not", audit.Unknown: "?"}[a.State])
			}
			if strings.Join(got, " ") != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}
