package corpus

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"remit/internal/search/text"
)

// compile returns a pattern with ripgrep's meaning.
func compile(t *testing.T, expression string, o text.Options) *text.Pattern {
	t.Helper()
	o.Unicode = true
	p, err := text.Compile(expression, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestRawLines checks that raw lines are the bytes at their offset in the file, in memory, on disk
// and in chunks, and that their matches are complete.
func TestRawLines(t *testing.T) {
	root := t.TempDir()
	write(t, root, "a.txt", "one\r\nneedle \xff needle\r\nthree\nneedle")
	large := strings.Repeat("a line of some length\n", 300_000) + "a needle\nend\n" + strings.Repeat("x\n", 100)
	write(t, root, "large.txt", large)
	write(t, root, "long.txt", strings.Repeat("ö", 2000)+"needle\n")
	eachBudget(t, func(t *testing.T, budget int64) {
		c := open(t, root, Options{Budget: budget})
		for _, limit := range []int{0, 10} {
			q := Query{Pattern: compile(t, "needle", text.Options{}), Context: 1, Raw: true, Bytes: true, Limit: limit}
			var got []Line
			var size int64
			sum, err := c.Search(t.Context(), q, func(f FileMatches) bool {
				content, err := os.ReadFile(filepath.Join(root, f.Path))
				if err != nil {
					t.Fatal(err)
				}
				for _, l := range f.Lines {
					around := strings.Join(l.Before, "") + l.Text + strings.Join(l.After, "")
					if start := int(l.Offset) - len(strings.Join(l.Before, "")); string(content[start:start+len(around)]) != around {
						t.Errorf("%s line %d: %q is not at offset %d", f.Path, l.Number, around, l.Offset)
					}
				}
				size += int64(len(content))
				got = append(got, f.Lines...)
				return true
			})
			if err != nil {
				t.Fatal(err)
			}
			for i := range got {
				got[i].Offset = 0
			}
			want := []Line{
				{Number: 2, Column: 1, Text: "needle \xff needle\r\n", Spans: [][]int{{0, 6}, {9, 15}}, Before: []string{"one\r\n"}, After: []string{"three\n"}},
				{Number: 4, Column: 1, Text: "needle", Spans: [][]int{{0, 6}}, Before: []string{"three\n"}},
				{Number: 300_001, Column: 3, Text: "a needle\n", Spans: [][]int{{2, 8}}, Before: []string{"a line of some length\n"}, After: []string{"end\n"}},
				{Number: 1, Column: 4001, Text: strings.Repeat("ö", 2000) + "needle\n", Spans: [][]int{{4000, 4006}}},
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("budget %d, limit %d (-want +got):\n%s", budget, limit, diff)
			}
			if sum.Bytes != size {
				t.Errorf("budget %d: %d bytes searched, want %d", budget, sum.Bytes, size)
			}
			c.maintained()
		}
	})
}

// TestContextOfAnySize checks that the context of a match ends at its neighbours and at the ends of
// the file, however many lines are wanted.
func TestContextOfAnySize(t *testing.T) {
	root := t.TempDir()
	write(t, root, "a.txt", "one\ntwo\nneedle\nfour\nfive\nneedle\nneedle\nlast")
	eachBudget(t, func(t *testing.T, budget int64) {
		c := open(t, root, Options{Budget: budget})
		var contexts []string
		_, err := c.Search(t.Context(), Query{Pattern: compile(t, "needle", text.Options{}), Context: math.MaxInt, Raw: true}, func(f FileMatches) bool {
			for _, l := range f.Lines {
				contexts = append(contexts, strings.Join(l.Before, "")+"|"+strings.Join(l.After, ""))
			}
			return true
		})
		if err != nil {
			t.Fatal(err)
		}
		same(t, "contexts", contexts, []string{"one\ntwo\n|four\nfive\n", "four\nfive\n|", "|last"})
	})
}

// eachBudget runs a test with texts in memory and on disk.
func eachBudget(t *testing.T, test func(t *testing.T, budget int64)) {
	t.Helper()
	t.Run("in memory", func(t *testing.T) { test(t, 0) })
	t.Run("on disk", func(t *testing.T) { test(t, 1) })
}

// TestPerFile checks that a search stops after some lines in each file, whatever the counts in the
// cache are.
func TestPerFile(t *testing.T) {
	root := t.TempDir()
	write(t, root, "a.txt", strings.Repeat("needle\n", 5))
	write(t, root, "b.txt", "needle\n")
	write(t, root, "large.txt", strings.Repeat(strings.Repeat("x\n", 500_000)+"needle\n", 6))
	eachBudget(t, func(t *testing.T, budget int64) {
		c := open(t, root, Options{Budget: budget})
		for _, perFile := range []int{2, 0, 3, 1} {
			for _, countOnly := range []bool{false, true} {
				lines, sum := c.search(t, Query{Pattern: pattern(t, "needle", false), PerFile: perFile, CountOnly: countOnly})
				want := 12
				if perFile > 0 {
					want = 2*perFile + 1
				}
				if sum.Matches != want || sum.Matched != 3 || !countOnly && len(lines) != want {
					t.Errorf("budget %d, %d per file: %+v and %d lines, want %d", budget, perFile, sum, len(lines), want)
				}
				c.maintained()
			}
		}
	})
}

// TestAcrossLines checks that matches across lines are found in memory and on disk, and that a file
// that is too large makes the search incomplete.
func TestAcrossLines(t *testing.T) {
	root := t.TempDir()
	write(t, root, "a.txt", "x\nfoo\nbar\nfoo\nbaz\nfoo\n")
	write(t, root, "b.txt", strings.Repeat("x\n", 3<<20)+"foo\nbar")
	eachBudget(t, func(t *testing.T, budget int64) {
		c := open(t, root, Options{Budget: budget})
		q := Query{Pattern: compile(t, `foo\nba\w`, text.Options{Multiline: true}), Raw: true}
		for range 2 {
			lines, sum := c.search(t, q)
			same(t, "lines", lines, []string{"a.txt:2:foo\nbar\nfoo\nbaz\n", "b.txt:3145729:foo\nbar"})
			if sum.Incomplete {
				t.Errorf("budget %d: %+v", budget, sum)
			}
			c.maintained()
		}
	})
	write(t, root, "huge.txt", "foo\nbar\n"+strings.Repeat("z\n", 33<<20))
	c := open(t, root, Options{})
	lines, sum := c.search(t, Query{Pattern: compile(t, `foo\nba\w`, text.Options{Multiline: true}), Raw: true})
	if len(lines) != 2 || !sum.Incomplete || !strings.Contains(sum.Reason, "too large") {
		t.Errorf("%d lines, %+v", len(lines), sum)
	}
}
