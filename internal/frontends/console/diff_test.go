package console

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
	"znkr.io/diff"

	"remit/internal/complexitytest"

	"remit/internal/engine/approval"
)

// apply applies the changes to the lines before, and counts them.
func apply(t interface{ Fatalf(string, ...any) }, before []string, hunks []diff.Hunk[string]) (after []string, changes int) {
	from := 0
	for _, h := range hunks {
		after = append(after, before[from:h.PosX]...)
		for _, e := range h.Edits {
			switch {
			case e.Op == diff.Insert:
				after = append(after, e.Y)
				changes++
			case e.X != before[e.PosX]:
				t.Fatalf("line %d is %q, not %q", e.PosX, before[e.PosX], e.X)
			case e.Op == diff.Delete:
				changes++
			default:
				after = append(after, e.X)
			}
		}
		from = h.EndX
	}
	return append(after, before[from:]...), changes
}

// leastChanges returns the minimal number of lines to remove and add. It is the textbook dynamic
// program: slow, but obviously correct.
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

func TestDiffTransformsBefore(t *testing.T) {
	text := rapid.Custom(func(t *rapid.T) string {
		some := rapid.SliceOfN(rapid.SampledFrom([]string{"a\n", "b\n", "c\n", "\n", "é\r\n"}), 0, 30).Draw(t, "lines")
		return strings.Join(some, "") + rapid.SampledFrom([]string{"", "a", "end"}).Draw(t, "end")
	})
	rapid.Check(t, func(t *rapid.T) {
		before, after := text.Draw(t, "before"), text.Draw(t, "after")
		hunks, exact := approval.Hunks(approval.Lines(before), approval.Lines(after))
		got, changes := apply(t, approval.Lines(before), hunks)
		if strings.Join(got, "") != after || !exact {
			t.Fatalf("%q became %q, not %q; exact %v", before, got, after, exact)
		}
		if least := leastChanges(approval.Lines(before), approval.Lines(after)); changes != least {
			t.Fatalf("%d changes, the minimum is %d", changes, least)
		}
	})
}

func TestDiffOfTooManyChanges(t *testing.T) {
	var a, b strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&a, "old %d\n", i)
		fmt.Fprintf(&b, "new %d\n", i)
	}
	before, after := "same\n"+a.String()+"end\n", "same\n"+b.String()+"end\n"
	hunks, exact := approval.Hunks(approval.Lines(before), approval.Lines(after))
	if exact {
		t.Error("6,000 changes count as exact")
	}
	if got, _ := apply(t, approval.Lines(before), hunks); strings.Join(got, "") != after {
		t.Error("the diff does not turn before into after")
	}
	c := comparisonOf("f", before, after)
	if len(c.Rows) != maxRows || c.Omitted != 3000+3000+2-maxRows || c.Added != 3000 || c.Removed != 3000 {
		t.Errorf("%d rows, %d omitted, +%d -%d", len(c.Rows), c.Omitted, c.Added, c.Removed)
	}
}

// TestDiffIsExact has the maximum number of changes, mixed so that a heuristic search would find
// more.
func TestDiffIsExact(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var before []string
	for range 8000 {
		before = append(before, strconv.Itoa(random.IntN(3))+"\n")
	}
	after := slices.Clone(before)
	for range 900 {
		at := random.IntN(len(after))
		after = slices.Insert(slices.Delete(after, at, at+1), random.IntN(len(after)), "3\n")
	}
	hunks, exact := approval.Hunks(before, after)
	got, changes := apply(t, before, hunks)
	if least := leastChanges(before, after); !slices.Equal(got, after) || !exact || changes != least || least < 1000 {
		t.Errorf("exact %v, %d changes, the minimum is %d", exact, changes, least)
	}
}

// TestDiffTakesBoundedTime has texts in which each change needs a search through the whole text.
func TestDiffTakesBoundedTime(t *testing.T) {
	complexitytest.Linear(t, 400_000, func(size int) {
		before := strings.Repeat("a\n", size/3) + "x\n" + strings.Repeat("a\n", 2*size/3)
		after := strings.Repeat("a\n", 2*size/3) + "x\n" + strings.Repeat("a\n", size/3)
		hunks, _ := approval.Hunks(approval.Lines(before), approval.Lines(after))
		if got, _ := apply(t, approval.Lines(before), hunks); strings.Join(got, "") != after {
			t.Error("the diff does not turn before into after")
		}
	})
}

func TestDiffShowsContext(t *testing.T) {
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
			{Kind: "add", New: 10, Text: "10", NoNewline: true},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestDiffShowsMissingNewline(t *testing.T) {
	got := comparisonOf("f", "a", "a\n")
	want := []diffRow{{Kind: "del", Old: 1, Text: "a", NoNewline: true}, {Kind: "add", New: 1, Text: "a"}}
	if diff := cmp.Diff(want, got.Rows); diff != "" {
		t.Error(diff)
	}
	if same := comparisonOf("f", "a\nb", "a\nb"); same.Added+same.Removed != 0 {
		t.Errorf("equal texts differ: %v", same)
	}
}

func BenchmarkDiffWorstCase(b *testing.B) {
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
		if _, exact := approval.Hunks(approval.Lines(before.String()), approval.Lines(after.String())); !exact {
			b.Fatal("gave up")
		}
	}
}
