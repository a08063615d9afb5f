package corpus

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestRecall plants false counts, which only a search that does not look would give.
func TestRecall(t *testing.T) {
	root := t.TempDir()
	for i := range 20 {
		write(t, root, fmt.Sprintf("%02d.txt", i), strings.Repeat("rose\ntulpe\n", 4))
	}
	c := open(t, root, Options{})
	query := Query{Pattern: pattern(t, "rose", false), Limit: 3}
	c.search(t, query)
	c.tended()
	if _, sum := c.search(t, query); sum.Matches != 80 || sum.Matched != 20 {
		t.Fatalf("%+v, wanted 80 lines in 20 files", sum)
	}
	slots := c.view.parts[0].shelf.recall(query.Pattern.Key(), recalledPatterns, false)
	for i := range slots {
		if count, ok := slots[i].known(); !ok || count != 4 {
			t.Fatalf("of number %d %d is known, %v", i, count, ok)
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
		{"by file", Query{Tally: true}, Summary{Matches: 1069, Files: 20, Matched: 19}},
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

// TestRecallIsBounded: however many patterns are searched for, and however many docs there are.
func TestRecallIsBounded(t *testing.T) {
	s := newShelf([]doc{{kind: textual, base: new(byte), length: 1}})
	for i := range 3 * recalledPatterns {
		s.recall(fmt.Sprint(i), recalledPatterns, true)
	}
	if n := len(s.tallies); n != recalledPatterns {
		t.Errorf("%d patterns are kept", n)
	}
	if s.recall("not worth it", recalledPatterns, false) != nil || s.recall(strings.Repeat("x", recalledKey+1), recalledPatterns, true) != nil {
		t.Error("slots were given that should not be kept")
	}
	if s.recall("none", 0, true) != nil || len(s.tallies) > 0 {
		t.Errorf("%d patterns are kept where none should be", len(s.tallies))
	}
	docs := make([]doc, 1<<16)
	v := &view{}
	for range 20 {
		v.parts = append(v.parts, newPart(newShelf(docs), ""))
		if n := len(v.parts) * len(docs) * v.recalled(); n > recalledDocs {
			t.Errorf("for %d docs %d counts are kept", len(v.parts)*len(docs), n)
		}
	}
}

// again searches for the same with other limits, globs and places to begin after, while files change.
func (g *garden) again(c *Corpus, expression string, times int) {
	g.t.Helper()
	for range times {
		if g.random.IntN(2) == 0 {
			g.change()
		}
		only := gardenGlobs[g.random.IntN(len(gardenGlobs))]
		lines, all := naively(g.t, g.root, expression, only)
		q := Query{Pattern: pattern(g.t, expression, false), Only: globbing(g.t, only), Tally: g.random.IntN(3) == 0}
		q.Limit = g.random.IntN(8) * g.random.IntN(8)
		q.After, q.Context = g.place(lines), g.random.IntN(3)
		want, skipped := paged(lines, q)
		all.Skipped = skipped
		var got []string
		sum, err := c.Search(g.t.Context(), q, func(f Found) bool {
			if q.Tally {
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

// place is that of a line that matches, or anywhere, or none.
func (g *garden) place(lines []string) Place {
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

// paged returns what a query should give of all lines that match, or the files they are in, and how many it should skip.
func paged(lines []string, q Query) (want []string, skipped int) {
	counts := map[string]int{}
	for _, l := range lines {
		path, _ := place(l)
		counts[path]++
	}
	for _, l := range lines {
		path, number := place(l)
		if q.After.Path != "" && (path < q.After.Path || path == q.After.Path && (q.Tally || number <= q.After.Line)) {
			skipped++
			continue
		}
		if q.Tally {
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

// TestRecallModel: in a folder whose texts are all in memory, pages through the same searches find what reading all files finds.
func TestRecallModel(t *testing.T) {
	g := &garden{t: t, root: t.TempDir(), random: rand.New(rand.NewPCG(3, 9))}
	for range 300 {
		g.change()
	}
	c := open(t, g.root, Options{})
	for range 30 {
		g.again(c, gardenPatterns[g.random.IntN(len(gardenPatterns))], 4)
		c.tended()
	}
	known := 0
	for _, tally := range c.view.parts[0].shelf.tallies {
		for i := range tally.docs {
			if _, ok := tally.docs[i].known(); ok {
				known++
			}
		}
	}
	if known == 0 {
		t.Error("nothing was remembered")
	}
}

// TestRecallOfWholes: what was counted until a search was stopped is not kept.
func TestRecallOfWholes(t *testing.T) {
	text := []byte("rose\n")
	j := job{doc: &doc{kind: textual, base: &text[0], length: uint32(len(text))}, slot: &slot{}}
	for _, stopped := range []bool{true, false} {
		s := &search{query: Query{Pattern: pattern(t, "rose", false), Tally: true}}
		s.stop.Store(stopped)
		w := &worker{search: s, tray: &tray{}}
		w.look(&j, j.text(), sheet{stays: true})
		if count, ok := j.slot.known(); ok == stopped || ok && count != 1 {
			t.Errorf("stopped %v: %d is known, %v", stopped, count, ok)
		}
	}
}
