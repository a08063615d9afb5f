package knowledge

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"remit/internal/search/chunk"
	"remit/internal/search/hybrid"
)

// discoveryLine returns a line of a memory file.
func discoveryLine(kind, module, date, text string) string {
	return fmt.Sprintf(`{"type":%q,"module":%q,"date":%q,"content":%q}`, kind, module, date, text)
}

func contents(a Answer) (texts []string) {
	for _, h := range a.Hits {
		texts = append(texts, h.Content)
	}
	return texts
}

func TestFilters(t *testing.T) {
	b := newBench(t)
	b.project()
	subjects := map[string][2]string{}
	for _, kind := range []string{chunk.Pattern, chunk.Rule, chunk.Decision, chunk.Issue} {
		for _, module := range []string{"auth", "auth2", "billing"} {
			text := fmt.Sprintf("The login of users is about %s in %s", strings.ToUpper(kind), strings.ToUpper(module))
			subjects[text] = [2]string{kind, module}
			b.memory.add("discoveries.jsonl", discoveryLine(kind, module, "2026-01-01", text))
		}
	}
	x := b.open()
	for _, kind := range []string{"", "all", chunk.Pattern, chunk.Rule, chunk.Decision, chunk.Issue, "nonsense"} {
		for _, module := range []string{"", "auth", "auth2", "billing", "Auth", "docs", "nonsense"} {
			a := b.search(x, Query{Text: "login of users", Type: kind, Module: module, Limit: 20})
			anyKind := kind == "" || kind == "all"
			var want, got []string
			for text, has := range subjects {
				if (anyKind || has[0] == kind) && (module == "" || has[1] == module) {
					want = append(want, text)
				}
			}
			for _, h := range a.Hits {
				if h.Source == chunk.Discovery {
					got = append(got, h.Content)
				} else if !anyKind || module != "" && h.Module != module {
					t.Errorf("%q, %q: %+v", kind, module, h)
				}
			}
			slices.Sort(want)
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%q, %q: %s", kind, module, diff)
			}
		}
	}
	if a := b.search(x, Query{Text: "login of users"}); len(a.Hits) != 5 || a.Total < 12 {
		t.Errorf("%d of %d", len(a.Hits), a.Total)
	}
	if a := b.search(x, Query{Text: "login of users", Limit: 2}); len(a.Hits) != 2 {
		t.Errorf("%d of %d", len(a.Hits), a.Total)
	}
}

func TestGibberishFindsNothing(t *testing.T) {
	b := newBench(t)
	b.project()
	x := b.open()
	for _, text := range []string{"xqzzt vrrkp wqqq", "!!!", "   ", "\x00\xff", strings.Repeat("ß", 500)} {
		if a := b.search(x, Query{Text: text}); len(a.Hits) != 0 || a.Total != 0 {
			t.Errorf("%q: %+v", text, a)
		}
	}
}

func TestFold(t *testing.T) {
	b := newBench(t)
	same := "Use optimistic locking for the orders table because many clerks edit the same order at once"
	b.memory.add("discoveries.jsonl", discoveryLine("decision", "orders", "2026-01-01", same))
	b.memory.add("discoveries.jsonl", discoveryLine("decision", "orders", "2026-01-02", same))
	b.memory.add("discoveries.jsonl", discoveryLine("decision", "orders", "2026-01-03", strings.ToUpper(same)+"!"))
	b.memory.add("discoveries.jsonl", discoveryLine("decision", "orders", "2026-01-04", "Orders are locked by the clerk who opens them"))
	b.write("copy.md", "# Locking\n\n"+same+".\n")
	x := b.open()
	a := b.search(x, Query{Text: "optimistic locking of orders", Limit: 10})
	alike := 0
	for _, text := range contents(a) {
		if strings.Contains(strings.ToLower(text), "many clerks") {
			alike++
		}
	}
	if alike != 1 || a.Total != 2 || len(a.Hits) != 2 {
		t.Errorf("%d of %d: %q", len(a.Hits), a.Total, contents(a))
	}
}

func TestFoldAlone(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want bool
	}{
		{"one two three", "three, two: ONE!", true},
		{"one two three", "one two four", false},
		{"", "", false},
		{"!!", "??", false},
		{"a b c d e f g h i j k l m n o p q r s t", "a b c d e f g h i j k l m n o p q r s z", true},
		{"a b c d e f g h i j", "a b c d e f g h i z", false},
		{"Ünïcode wörter", "ünïcode WÖRTER", true},
	} {
		if got := isAlike(bagOf(test.a), bagOf(test.b)); got != test.want || isAlike(bagOf(test.b), bagOf(test.a)) != got {
			t.Errorf("%q and %q: %v", test.a, test.b, got)
		}
	}
}

// TestBoosts specifies the effect of age, reads and sources on a score.
func TestBoosts(t *testing.T) {
	b := newBench(t)
	text := "The quagga grazes here"
	today := b.now.Format(time.DateOnly)
	b.memory.add("a.jsonl", discoveryLine("rule", "m1", "2020-01-01", text))
	b.memory.add("b.jsonl", discoveryLine("rule", "m2", today, text))
	x := b.open()
	score := func(module string) float64 {
		a := b.search(x, Query{Text: "quagga", Module: module})
		if len(a.Hits) != 1 {
			t.Fatalf("%+v", a)
		}
		return a.Hits[0].Score
	}
	if ratio := score("m2") / score("m1"); math.Abs(ratio-1-recencyBoost) > 0.002 {
		t.Errorf("what is new counts %v times as much", ratio)
	}
	if b.finds(x, "quagga grazes", "b.jsonl"); t.Failed() {
		return
	}
	for days, want := range map[int]float64{-1: 1, 0: 1, 9: 0.9, 45: 0.5, 90: 0, 4000: 0} {
		if got := recency(b.now.AddDate(0, 0, -days).Unix(), b.now); math.Abs(got-want) > 1e-6 {
			t.Errorf("after %d days %v, want %v", days, got, want)
		}
	}
}

func TestReadsOfFiles(t *testing.T) {
	b := newBench(t)
	b.write("one/a.md", "# Title\n\nThe quagga grazes here, says the first keeper of the park.\n")
	b.write("two/a.md", "# Title\n\nThe quagga grazes here, says another person, who has left.\n")
	var reads map[string]float64
	var failure error
	x := b.open(func(o *Options) {
		o.Boosts = func(_ context.Context, paths []string) (map[string]float64, error) {
			if !slices.Contains(paths, "one/a.md") || !slices.Contains(paths, "two/a.md") {
				t.Errorf("asked for %q", paths)
			}
			return reads, failure
		}
	})
	for _, path := range []string{"one/a.md", "two/a.md"} {
		reads = map[string]float64{path: 1}
		a := b.search(x, Query{Text: "quagga grazes here"})
		if len(a.Hits) != 2 || a.Hits[0].Path != path {
			t.Errorf("%s is read, but %+v", path, a.Hits)
		}
		reads = nil
		for _, h := range b.search(x, Query{Text: "quagga grazes here"}).Hits {
			if h.Path == path && math.Abs(a.Hits[0].Score/h.Score-1.05) > 0.001 {
				t.Errorf("%v, without reads %v", a.Hits[0].Score, h.Score)
			}
		}
	}
	failure = errors.New("no reads")
	b.search(x, Query{Text: "quagga"})
}

// TestIdentity: every chunk has a unique id, the same in every process.
func TestIdentity(t *testing.T) {
	names := map[string]bool{}
	for _, parts := range [][3]string{{"a", "b", "c"}, {"ab", "", "c"}, {"a", "bc", ""}, {"", "", ""}} {
		for again := range 3 {
			names[identify(parts[0], parts[1], parts[2], again)] = true
		}
	}
	if len(names) != 12 {
		t.Errorf("%d names", len(names))
	}
	if got := identify("a", "b", "c", 0); got != identify("a", "b", "c", 0) || len(got) != 36 {
		t.Error(got)
	}
	b := newBench(t)
	c := newCatalog(func() int { return 0 }, nil)
	s := Source{Path: "p", Generation: 1}
	for i, text := range []string{"x", "y", "x", "x"} {
		s.Chunks = append(s.Chunks, newChunk("p", i, chunk.Chunk{Source: chunk.Code, Text: text}))
	}
	c.apply([]Source{s}, nil)
	var again []int
	for _, id := range c.origins["p"].ids {
		again = append(again, c.again(c.table.get(id)))
	}
	if diff := cmp.Diff([]int{0, 0, 1, 2}, again); diff != "" {
		b.t.Error(diff)
	}
}

// TestCatalog compares a catalog with a map.
func TestCatalog(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b := &bench{t: t}
		x := &Index{catalog: newCatalog(func() int { return 0 }, nil)}
		want := map[string]Source{}
		for generation := range rapid.Int64Range(1, 30).Draw(rt, "changes") {
			path := rapid.SampledFrom([]string{"a", "b", "memory:c", ":mark"}).Draw(rt, "path")
			s := Source{Path: path, Generation: generation + 1, Gone: rapid.Bool().Draw(rt, "gone")}
			if !s.Gone {
				for i := range rapid.IntRange(0, 4).Draw(rt, "pieces") {
					s.Chunks = append(s.Chunks, newChunk(path, i, chunk.Chunk{Source: chunk.Docs, Text: fmt.Sprint(generation, i)}))
				}
			}
			searching := rapid.Bool().Draw(rt, "searching")
			if searching {
				x.catalog.searching.RLock()
			}
			x.catalog.apply([]Source{s}, nil)
			x.catalog.apply([]Source{{Path: path, Generation: generation}}, nil) // is older
			if searching {
				x.catalog.searching.RUnlock()
			}
			want[path] = s
			b.sound(x)
		}
		sources, total := 0, 0
		for path, s := range want {
			if _, _, found := x.catalog.known(path); found == s.Gone {
				rt.Fatalf("%s: %v", path, found)
			}
			if !s.Gone && !isMark(path) {
				sources++
			}
			total += len(s.Chunks)
			for i, id := range x.catalog.origins[path].ids {
				if x.catalog.table.get(id).key != s.Chunks[i].Key {
					rt.Fatalf("%s: chunk %d differs", path, i)
				}
			}
		}
		if gotSources, got := x.catalog.counts(); got != total || gotSources != sources {
			rt.Fatalf("%d, %d, want %d, %d", gotSources, got, sources, total)
		}
	})
}

// TestSlowChange: a change that is overtaken by a newer one of the same source has no effect.
func TestSlowChange(t *testing.T) {
	b := &bench{t: t}
	x := &Index{catalog: newCatalog(func() int { return 0 }, nil)}
	c := x.catalog
	source := func(generation int64) Source {
		return Source{Path: "p", Generation: generation, Chunks: []Chunk{newChunk("p", 0, chunk.Chunk{Text: fmt.Sprint(generation)})}}
	}
	slow := source(1)
	o, news := c.begin(slow)
	ids := c.take(1)
	c.local().Put([]hybrid.Item{{ID: ids[0], Text: "1"}})
	c.apply([]Source{source(2)}, nil)
	c.swap([]change{{Source: slow, origin: o, ids: ids, entries: []*entry{c.entry(o, slow, 0)}}})
	if e := c.table.get(o.ids[0]); !news || e.key != source(2).Chunks[0].Key || o.generation != 2 {
		t.Errorf("%+v of %+v", e, o)
	}
	b.sound(x)
}

func TestOverview(t *testing.T) {
	b := newBench(t)
	b.project()
	for i := range 15 {
		b.memory.add("discoveries.jsonl", discoveryLine("decision", "billing", fmt.Sprintf("2026-01-%02d", i+1), fmt.Sprintf("Decision number%d about subject%d and so%d on%d", i, i, i, i)))
	}
	b.memory.add("discoveries.jsonl", discoveryLine("issue", "auth", "2026-02-01", "The mutex of tokens was held for too long"))
	x := b.open()
	o, err := x.Overview(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Count{{"discovery", 16}, {"code", 1}, {"docs", 1}}, o.Sources); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]Count{{"decision", 15}, {"issue", 1}}, o.Types); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(ModuleCount{Name: "billing", Files: 1, Chunks: 15, Discoveries: 15}, o.Modules[0]); diff != "" {
		t.Error(diff)
	}
	if len(o.Newest) != newestShown || o.Newest[0].Type != "issue" || !strings.Contains(o.Newest[1].Content, "number14") {
		t.Errorf("%+v", o.Newest)
	}
	v, err := x.Module(t.Context(), "auth")
	if err != nil || len(v.Discoveries) != 1 || v.Discoveries[0].Type != "issue" {
		t.Fatalf("%+v, %v", v, err)
	}
	if diff := cmp.Diff([]Count{{"internal/auth/login.go", 1}}, v.Files); diff != "" {
		t.Error(diff)
	}
	v, err = x.Module(t.Context(), "billing")
	if err != nil || len(v.Discoveries) != 15 || !strings.Contains(v.Discoveries[0].Content, "number14") || v.Files != nil {
		t.Errorf("%+v, %v", v, err)
	}
	if v, err = x.Module(t.Context(), "nonsense"); err != nil || v.Discoveries != nil || v.Docs != nil || v.Files != nil {
		t.Errorf("%+v, %v", v, err)
	}
}
