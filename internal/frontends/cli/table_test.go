package cli

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestColumns(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"":              0,
		"milk":          4,
		"Müsli":         5,
		"mu\u0308":      2, // u with a combining diaeresis
		"牛乳":            4,
		"우유":            4,
		"buy 🥛":         6,
		"✓ ok":          4,
		"ＡＢ":            4,
		"a\u200bb":      2, // a space of no width
		"नमस्ते दुनिया": columns("नमस्ते") + 1 + columns("दुनिया"),
	} {
		if got := columns(text); got != want {
			t.Errorf("%q takes %d columns, want %d", text, got, want)
		}
	}
}

func TestCut(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		text     string
		maxWidth int
		want     string
	}{
		{"milk", 4, "milk"},
		{"milk", 3, "mi…"},
		{"milk", 1, "…"},
		{"milk", 0, ""},
		{"Müsli", 5, "Müsli"},
		{"牛乳牛乳", 8, "牛乳牛乳"},
		{"牛乳牛乳", 7, "牛乳牛…"},
		{"牛乳牛乳", 6, "牛乳…"}, // half of a wide character is left out
	} {
		if got := cut(tc.text, tc.maxWidth); got != tc.want {
			t.Errorf("cut(%q, %d) = %q, want %q", tc.text, tc.maxWidth, got, tc.want)
		}
	}
}

func TestTableShrinksOneColumn(t *testing.T) {
	t.Parallel()
	var sheet table
	sheet.shrink = 1
	sheet.add("ID", "TITLE", "DUE")
	sheet.add("7", "Learn to play the piano", "2026-11-16")
	sheet.add("12", "牛乳を買う", "")
	for maxWidth, want := range map[int]string{
		0: "ID  TITLE                    DUE\n" +
			"7   Learn to play the piano  2026-11-16\n" +
			"12  牛乳を買う               \n",
		26: "ID  TITLE       DUE\n" +
			"7   Learn to …  2026-11-16\n" +
			"12  牛乳を買う  \n",
		14: "ID  TITLE     \n" +
			"7   Learn t…  \n" +
			"12  牛乳を…   \n",
	} {
		var b strings.Builder
		sheet.writeWithin(&b, maxWidth)
		if trimmed(b.String()) != trimmed(want) {
			t.Errorf("in %d columns:\n%swant\n%s", maxWidth, b.String(), want)
		}
	}
}

// trimmed removes the spaces at the end of lines.
func trimmed(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

func TestTableFits(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.RuneFrom([]rune("ab e\u0301牛🥛ß…")))
		sheet := table{shrink: rapid.IntRange(0, 2).Draw(t, "shrink")}
		for range rapid.IntRange(1, 5).Draw(t, "rows") {
			sheet.add(text.Draw(t, "a"), text.Draw(t, "b"), text.Draw(t, "c"))
		}
		maxWidth := rapid.IntRange(1, 60).Draw(t, "maxWidth")
		var b strings.Builder
		sheet.writeWithin(&b, maxWidth)
		for line := range strings.SplitSeq(b.String(), "\n") {
			if n := columns(line); n > maxWidth {
				t.Fatalf("a line of %d columns in %d: %q", n, maxWidth, line)
			}
		}
	})
}

func TestTablePaints(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		colour bool
		want   string
	}{
		{true, "a  \x1b[31mlate\x1b[0m      x\nb  tomorrow  x\n"},
		{false, "a  late      x\nb  tomorrow  x\n"},
	} {
		sheet := table{colour: tc.colour}
		sheet.add("a", "late", "x")
		sheet.paint(1, red)
		sheet.add("b", "tomorrow", "x")
		var b strings.Builder
		sheet.writeWithin(&b, 80)
		if b.String() != tc.want {
			t.Errorf("colour %v: %q, want %q", tc.colour, b.String(), tc.want)
		}
	}
}
