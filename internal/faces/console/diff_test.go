package console

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// apply makes the text before and the text after from a comparison.
func apply(edits []edit) (before, after string) {
	for _, e := range edits {
		if e.op != '+' {
			before += e.line
		}
		if e.op != '-' {
			after += e.line
		}
	}
	return before, after
}

// leastChanges is the fewest lines to remove and add, by the table that everybody
// learns: slow, and plainly right.
func leastChanges(a, b []string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range a {
		corner := row[0]
		row[0] = i + 1
		for j := range b {
			next := min(row[j], row[j+1]) + 1
			if a[i] == b[j] {
				next = corner
			}
			corner, row[j+1] = row[j+1], next
		}
	}
	return row[len(b)]
}

func TestDiffMakesAfterOfBefore(t *testing.T) {
	text := rapid.Custom(func(t *rapid.T) string {
		some := rapid.SliceOfN(rapid.SampledFrom([]string{"a\n", "b\n", "c\n", "\n", "é\r\n"}), 0, 30).Draw(t, "lines")
		return strings.Join(some, "") + rapid.SampledFrom([]string{"", "a", "end"}).Draw(t, "end")
	})
	rapid.Check(t, func(t *rapid.T) {
		before, after := text.Draw(t, "before"), text.Draw(t, "after")
		edits, exact := compare(before, after)
		gotBefore, gotAfter := apply(edits)
		if gotBefore != before || gotAfter != after || !exact {
			t.Fatalf("before %q became %q, after %q became %q, exact %v", before, gotBefore, after, gotAfter, exact)
		}
		changes := 0
		for _, e := range edits {
			if e.op != ' ' {
				changes++
			}
		}
		if least := leastChanges(lines(before), lines(after)); changes != least {
			t.Fatalf("%d changes, %d would do", changes, least)
		}
	})
}

func TestDiffOfTooMuch(t *testing.T) {
	var a, b strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&a, "old %d\n", i)
		fmt.Fprintf(&b, "new %d\n", i)
	}
	before, after := "same\n"+a.String()+"end\n", "same\n"+b.String()+"end\n"
	edits, exact := compare(before, after)
	if exact {
		t.Error("6,000 changes pass for few")
	}
	if gotBefore, gotAfter := apply(edits); gotBefore != before || gotAfter != after {
		t.Error("the comparison does not make after of before")
	}
	c := comparisonOf("f", before, after)
	if len(c.Rows) != maxRows || c.Cut != 3000+3000+2-maxRows || c.Added != 3000 || c.Removed != 3000 {
		t.Errorf("%d rows, %d cut, +%d -%d", len(c.Rows), c.Cut, c.Added, c.Removed)
	}
}

// Where nearly all lines are equal, the fewest changes may take too many steps to find.
func TestDiffOfTooManySteps(t *testing.T) {
	before := strings.Repeat("a\n", 100) + "x\n" + strings.Repeat("a\n", 200)
	after := strings.Repeat("a\n", 200) + "x\n" + strings.Repeat("a\n", 100)
	for most, want := range map[int]bool{150: false, mostSteps: true} {
		edits, exact := shortest(lines(before), lines(after), most)
		gotBefore, gotAfter := apply(edits)
		if exact != want || gotBefore != before || gotAfter != after {
			t.Errorf("%d steps: exact %v, before %q, after %q", most, exact, gotBefore, gotAfter)
		}
	}
}

func TestDiffShowsChangesAndWhatIsNear(t *testing.T) {
	before := "1\n2\n3\n4\n5\n6\n7\n8\n9\n"
	after := "1\n2\n3\n4\n5\n6\n7\nacht\u202e\x00\n9\n10"
	got := comparisonOf("memory/\u202enotes.md", before, after)
	want := comparison{
		Name: `memory/\u202enotes.md`, Added: 2, Removed: 1, Exact: true,
		Rows: []diffRow{
			{Kind: "gap", Text: "4 unchanged lines"},
			{Kind: "same", Old: 5, New: 5, Text: "5"},
			{Kind: "same", Old: 6, New: 6, Text: "6"},
			{Kind: "same", Old: 7, New: 7, Text: "7"},
			{Kind: "del", Old: 8, Text: "8"},
			{Kind: "add", New: 8, Text: `acht\u202e\x00`},
			{Kind: "same", Old: 9, New: 9, Text: "9"},
			{Kind: "add", New: 10, Text: "10", Unended: true},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestDiffTellsAMissingLineBreak(t *testing.T) {
	got := comparisonOf("f", "a", "a\n")
	want := []diffRow{{Kind: "del", Old: 1, Text: "a", Unended: true}, {Kind: "add", New: 1, Text: "a"}}
	if diff := cmp.Diff(want, got.Rows); diff != "" {
		t.Error(diff)
	}
	if same := comparisonOf("f", "a\nb", "a\nb"); same.Added+same.Removed != 0 {
		t.Errorf("equal texts differ: %v", same)
	}
}

func BenchmarkDiffAtItsWorst(b *testing.B) {
	var before, after strings.Builder
	for i := range 50_000 {
		fmt.Fprintf(&before, "line %d\n", i)
		if i%50 == 0 {
			fmt.Fprintf(&after, "other %d\n", i)
		} else {
			fmt.Fprintf(&after, "line %d\n", i)
		}
	}
	for b.Loop() {
		if _, exact := compare(before.String(), after.String()); !exact {
			b.Fatal("gave up")
		}
	}
}
