package corpus

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestCounts stores false counts, which only a search that uses the cache returns.
func TestCounts(t *testing.T) {
	root := t.TempDir()
	for i := range 20 {
		write(t, root, fmt.Sprintf("%02d.txt", i), strings.Repeat("rose\ntulpe\n", 4))
	}
	c := open(t, root, Options{})
	query := Query{Pattern: pattern(t, "rose", false), Limit: 3}
	c.search(t, query)
	c.maintained()
	if _, sum := c.search(t, query); sum.Matches != 80 || sum.Matched != 20 {
		t.Fatalf("%+v, wanted 80 lines in 20 files", sum)
	}
	slots := c.view.parts[0].segment.countSlots(query.Pattern.Key(), maxCountedPatterns, false)
	for i := range slots {
		if count, ok := slots[i].known(); !ok || count != 4 {
			t.Fatalf("doc %d: count %d, known %v", i, count, ok)
		}
	}
	slots[0].keep(0)
	slots[1].keep(1000)
	slots[19].keep(500)
	write(t, root, "19.txt", "rose\n")
	for _, k := range []struct {
		name string
		q    Query
		want Summary
	}{
		{"again", Query{Limit: 3}, Summary{Matches: 1069, Files: 20, Matched: 19}},
		{"another limit", Query{Limit: 1}, Summary{Matches: 1069, Files: 20, Matched: 19}},
		{"later", Query{Limit: 1, After: Place{"02.txt", 3}}, Summary{Matches: 1069, Skipped: 1002, Files: 20, Matched: 19}},
		{"some", Query{Limit: 1, Only: globbing(t, "{00,03,19}*")}, Summary{Matches: 5, Files: 3, Matched: 2}},
		{"by file", Query{CountOnly: true}, Summary{Matches: 1069, Files: 20, Matched: 19}},
		{"with case", Query{Pattern: pattern(t, "rose", true), Limit: 1}, Summary{Matches: 77, Files: 20, Matched: 20}},
	} {
		if k.q.Pattern == nil {
			k.q.Pattern = query.Pattern
		}
		if _, sum := c.search(t, k.q); sum != k.want {
			t.Errorf("%s: %+v, wanted %+v", k.name, sum, k.want)
		}
	}
}

// TestCountsAreBounded checks the limits on the number of patterns and of docs.
func TestCountsAreBounded(t *testing.T) {
	s := newSegment([]doc{{kind: textual, base: new(byte), length: 1}})
	for i := range 3 * maxCountedPatterns {
		s.countSlots(fmt.Sprint(i), maxCountedPatterns, true)
	}
	if n := len(s.counts); n != maxCountedPatterns {
		t.Errorf("%d patterns are cached", n)
	}
	long := strings.Repeat("x", maxCountedKey+1)
	if s.countSlots("not worth it", maxCountedPatterns, false) != nil || s.countSlots(long, maxCountedPatterns, true) != nil {
		t.Error("slots were returned that should not be cached")
	}
	if s.countSlots("none", 0, true) != nil || len(s.counts) > 0 {
		t.Errorf("%d patterns are cached where none should be", len(s.counts))
	}
	docs := make([]doc, 1<<16)
	v := &view{}
	for range 20 {
		v.parts = append(v.parts, newPart(newSegment(docs), ""))
		if n := len(v.parts) * len(docs) * v.maxPatterns(); n > maxCounts {
			t.Errorf("for %d docs %d counts are cached", len(v.parts)*len(docs), n)
		}
	}
}

// searchAgain repeats a search with other limits, globs and start places, while files change.
func (g *randomTree) searchAgain(c *Corpus, expression string, times int) {
	g.t.Helper()
	for range times {
		if g.random.IntN(2) == 0 {
			g.change()
		}
		only := treeGlobs[g.random.IntN(len(treeGlobs))]
		lines, all := bruteForce(g.t, g.root, expression, only)
		q := Query{Pattern: pattern(g.t, expression, false), Only: globbing(g.t, only), CountOnly: g.random.IntN(3) == 0}
		q.Limit = g.random.IntN(8) * g.random.IntN(8)
		q.After, q.Context = g.place(lines), g.random.IntN(3)
		want, skipped := paged(lines, q)
		all.Skipped = skipped
		var got []string
		sum, err := c.Search(g.t.Context(), q, func(f FileMatches) bool {
			if q.CountOnly {
				got = append(got, fmt.Sprintf("%s:%d", f.Path, f.Count))
			}
			got = append(got, grepped(f)...)
			return true
		})
		what := fmt.Sprintf("%q in %q again, %+v", expression, only, q)
		same(g.t, what, got, want)
		if err != nil || sum != all {
			g.t.Fatalf("%s: %+v, %v, wanted %+v", what, sum, err, all)
		}
	}
}

// place returns the place of a matching line, a random place, or none.
func (g *randomTree) place(lines []string) Place {
	switch g.random.IntN(3) {
	case 0:
		return Place{g.path(), g.random.IntN(10)}
	case 1:
		if len(lines) > 0 {
			path, line := place(lines[g.random.IntN(len(lines))])
			return Place{path, line}
		}
	}
	return Place{}
}

// paged returns what a query should deliver of all matching lines, or the files that contain them,
// and how many it should skip.
func paged(lines []string, q Query) (want []string, skipped int) {
	counts := map[string]int{}
	for _, l := range lines {
		path, _ := place(l)
		counts[path]++
	}
	for _, l := range lines {
		path, number := place(l)
		if q.After.Path != "" && (path < q.After.Path || path == q.After.Path && (q.CountOnly || number <= q.After.Line)) {
			skipped++
			continue
		}
		if q.CountOnly {
			l = fmt.Sprintf("%s:%d", path, counts[path])
			if len(want) > 0 && want[len(want)-1] == l {
				continue
			}
		}
		want = append(want, l)
	}
	if q.Limit > 0 {
		want = want[:min(len(want), q.Limit)]
	}
	return want, skipped
}

// TestCountsModel checks that, with all texts in memory, paging through repeated searches finds
// what reading all files finds.
func TestCountsModel(t *testing.T) {
	g := &randomTree{t: t, root: t.TempDir(), random: rand.New(rand.NewPCG(3, 9))}
	for range 300 {
		g.change()
	}
	c := open(t, g.root, Options{})
	for range 30 {
		g.searchAgain(c, treePatterns[g.random.IntN(len(treePatterns))], 4)
		c.maintained()
	}
	known := 0
	for _, counts := range c.view.parts[0].segment.counts {
		for i := range counts.docs {
			if _, ok := counts.docs[i].known(); ok {
				known++
			}
		}
	}
	if known == 0 {
		t.Error("nothing was cached")
	}
}

// TestCountsOfStoppedSearch checks that the count of a stopped search is not cached.
func TestCountsOfStoppedSearch(t *testing.T) {
	text := []byte("rose\n")
	j := job{doc: &doc{kind: textual, base: &text[0], length: uint32(len(text))}, slot: &slot{}}
	for _, stopped := range []bool{true, false} {
		s := &search{query: Query{Pattern: pattern(t, "rose", false), CountOnly: true}}
		s.stop.Store(stopped)
		w := &worker{search: s, unitResult: &unitResult{}}
		w.searchText(&j, j.text(), textRange{stays: true})
		if count, ok := j.slot.known(); ok == stopped || ok && count != 1 {
			t.Errorf("stopped %v: count %d, known %v", stopped, count, ok)
		}
	}
}
