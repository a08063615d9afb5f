package approval_test

import (
	"fmt"
	"strings"
	"testing"

	"remit/internal/engine/approval"
)

// patched applies a difference in the unified format.
func patched(text, diff string) string {
	var out strings.Builder
	old := strings.SplitAfter(text, "\n")
	from := 0
	diff = strings.TrimPrefix(diff, "--- a.md\n+++ a.md\n")
	diff = strings.ReplaceAll(diff, "\n\\ No newline at end of file\n", "\x00")
	for line := range strings.Lines(strings.ReplaceAll(diff, "\x00", "\x00\n")) {
		rest := strings.TrimSuffix(line[1:], "\x00\n")
		var start, lines, to, added int
		switch {
		case line[0] == '@':
			if _, err := fmt.Sscanf(line, "@@ -%d,%d +%d,%d @@", &start, &lines, &to, &added); err != nil {
				return err.Error()
			}
			if lines > 0 {
				start--
			}
			out.WriteString(strings.Join(old[from:start], ""))
			from = start
		case line[0] == '+':
			out.WriteString(rest)
		case old[from] != rest:
			return fmt.Sprintf("line %d is %q, not %q", from+1, old[from], rest)
		default:
			if line[0] == ' ' {
				out.WriteString(rest)
			}
			from++
		}
	}
	return out.String() + strings.Join(old[from:], "")
}

// FuzzUnified checks that a difference leads from the old text to the new one.
func FuzzUnified(f *testing.F) {
	f.Add("a\nb\nc\n", "a\nx\nc")
	f.Add("", "new\n")
	f.Add("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "0\n1\n2\n3\n4\n5\n6\n7\n8\n")
	f.Add("gone", "")
	f.Fuzz(func(t *testing.T, before, after string) {
		if both := before + after; strings.Contains(both, "\x00") || strings.Contains(both, "No newline") || len(both) > 16<<10 {
			return
		}
		diff := approval.Shown{Before: before, After: after}.Unified("a.md")
		if got := patched(before, diff); got != after || (diff == "") != (before == after) {
			t.Errorf("the difference\n%s\nleads to %q, not to %q", diff, got, after)
		}
	})
}

func TestLongDifferencesAreShortened(t *testing.T) {
	t.Parallel()
	diff := approval.Shown{Before: "a\n", After: strings.Repeat("b\n", 100_000)}.Unified("a.md")
	if !strings.HasSuffix(diff, "too long.)\n") || len(diff) > 1000 {
		t.Errorf("it has %d bytes: %.200s", len(diff), diff)
	}
}
