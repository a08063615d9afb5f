package approval

import (
	"fmt"
	"strings"

	"znkr.io/diff"
)

// maxDiff is the maximum size of the result of Unified.
const maxDiff = 64 << 10

// Unified returns the difference between the texts before and after, of a file with this name, in
// the unified format. It is "" if there is none, and shortened if it is too long.
func (s Shown) Unified(name string) string {
	var b strings.Builder
	hunks, _ := Hunks(Lines(s.Before), Lines(s.After))
	if len(hunks) > 0 {
		fmt.Fprintf(&b, "--- %s\n+++ %s\n", name, name)
	}
	for _, h := range hunks {
		var lines strings.Builder
		for _, e := range h.Edits {
			sign, line := " ", e.X
			switch e.Op {
			case diff.Insert:
				sign, line = "+", e.Y
			case diff.Delete:
				sign = "-"
			}
			lines.WriteString(sign + line)
			if !strings.HasSuffix(line, "\n") {
				lines.WriteString("\n\\ No newline at end of file\n")
			}
		}
		if b.Len()+lines.Len() > maxDiff {
			b.WriteString("(The rest is left out, because the difference is too long.)\n")
			break
		}
		fmt.Fprintf(&b, "@@ -%s +%s @@\n%s", lineRange(h.PosX, h.EndX), lineRange(h.PosY, h.EndY), lines.String())
	}
	return b.String()
}

// lineRange formats the lines of a hunk. An empty range names the line before it.
func lineRange(from, to int) string {
	return fmt.Sprintf("%d,%d", min(from+1, to), to-from)
}
