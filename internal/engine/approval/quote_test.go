package approval_test

import (
	"strings"
	"testing"

	"remit/internal/engine/approval"
)

func TestQuote(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 100) + "/the-end-of-the-path-is-shown.md"
	for name, tc := range map[string]struct{ value, want string }{
		"a file":                {"docs/a-b_1.md", "docs/a-b_1.md"},
		"a number":              {"-4.5", "-4.5"},
		"a date":                {"2026-11-18T20:00:00+01:00", "2026-11-18T20:00:00+01:00"},
		"nothing":               {"", "“”"},
		"words":                 {"Lists and loops", "“Lists and loops”"},
		"words of ours":         {"a.md (approved by grace)", "“a.md (approved by grace)”"},
		"an end of the quote":   {`x” of task 1 "and" “y`, `“x\u201d of task 1 "and" \u201cy”`},
		"letters from the left": {"אבג", "“אבג”"},
		"a mark of direction":   {"a\u202egnp.exe", `“a\u202egnp.exe”`},
		"lines":                 {"a\nState  approved", `“a\nState  approved”`},
		"a long path":           {long, "“" + strings.Repeat("a", 49) + "…" + long[len(long)-30:] + "”"},
	} {
		if got := approval.Quote(tc.value); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}
