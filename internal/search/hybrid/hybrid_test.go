package hybrid

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// TestSearchWhileChanging replaces one chunk repeatedly while others are added and dropped, and
// checks that each search finds it once.
func TestSearchWhileChanging(t *testing.T) {
	x := New(testDim)
	vector := []float32{3: 1, testDim - 1: 2}
	x.Put([]Item{{ID: 7, Text: "quixotic", Vector: vector}})
	var done atomic.Bool
	var writers sync.WaitGroup
	for w := range 2 {
		writers.Go(func() {
			for i := range 300 {
				others := []ID{ID(100 + 2*(i%50) + w), ID(300 + 2*(i*7%50) + w)}
				x.Put([]Item{{ID: 7, Text: fmt.Sprintf("quixotic version%d", i), Vector: vector}, {ID: others[0], Text: "plain"}, {ID: others[1], Text: "plain"}})
				x.Drop(others[:1])
			}
		})
	}
	var watcher sync.WaitGroup
	watcher.Go(func() { writers.Wait(); done.Store(true) })
	defer watcher.Wait()
	for last := false; !last; {
		last = done.Load()
		found, err := x.Search(Query{Text: "quixotic", Filter: func(id ID) bool { return id == 7 || x.Len() > 0 }})
		if err != nil || len(found.Hits) != 1 || found.Hits[0].ID != 7 {
			t.Fatalf("%+v, %v", found, err)
		}
	}
	if x.Len() != 101 {
		t.Errorf("%d chunks are left, want 101", x.Len())
	}
}

func TestFine(t *testing.T) {
	x := New(2)
	var items []Item
	for i := range 100 {
		items = append(items, Item{ID: ID(i), Text: "word", Vector: []float32{1, float32(i) / 1e6}})
	}
	x.Put(items)
	for limit, want := range map[int]int{1: 40, 10: 40, 20: 80, 90: 100} {
		found, err := x.Search(Query{Text: "word", Vector: []float32{1, 0}, Limit: limit, ExactVectors: func(ids []ID) ([][]float32, error) {
			if slices.Sort(ids); len(slices.Compact(ids)) != want {
				t.Errorf("limit %d: rescored %d, want %d", limit, len(ids), want)
			}
			return make([][]float32, 3), nil
		}})
		if err != nil || len(found.Hits) != limit || found.Total != 100 {
			t.Errorf("limit %d: %d of %d, %v", limit, len(found.Hits), found.Total, err)
		}
	}
	broken := errors.New("broken")
	_, err := x.Search(Query{Text: "word", Vector: []float32{1, 0}, ExactVectors: func([]ID) ([][]float32, error) { return nil, broken }})
	if !errors.Is(err, broken) {
		t.Error(err)
	}
	_, err = x.Search(Query{Text: "word", ExactVectors: func([]ID) ([][]float32, error) { return nil, broken }})
	if err != nil {
		t.Errorf("without a vector: %v", err)
	}
}

func TestEmptyThings(t *testing.T) {
	x := New(3)
	x.Put(nil)
	x.Drop([]ID{1, 2})
	for _, q := range []Query{{}, {Text: "word"}, {Vector: []float32{1, 2, 3}}, {Text: "word", Vector: []float32{1, 2, 3}}} {
		if found, err := x.Search(q); err != nil || len(found.Hits) != 0 || found.Total != 0 {
			t.Errorf("%+v: %+v, %v", q, found, err)
		}
	}
	x.Put([]Item{{ID: 1}, {ID: 1, Text: "word"}, {ID: 2}})
	if found, err := x.Search(Query{Text: "word words ... WORD"}); err != nil || len(found.Hits) != 1 || x.Len() != 2 {
		t.Errorf("%d chunks, %+v, %v", x.Len(), found, err)
	}
	if found, err := x.Search(Query{}); err != nil || found.Total != 0 {
		t.Errorf("empty query: %+v, %v", found, err)
	}
}

func TestLimitAndTies(t *testing.T) {
	x := New(1)
	var items []Item
	for i := range 30 {
		items = append(items, Item{ID: ID(29 - i), Text: "same text"})
	}
	x.Put(items)
	for limit, want := range map[int]int{0: 10, -1: 10, 3: 3, 100: 30, math.MaxInt: 30} {
		found, err := x.Search(Query{Text: "text", Limit: limit, Boost: func(ID) float32 { return 100 }})
		if err != nil || len(found.Hits) != want || found.Total != 30 {
			t.Fatalf("limit %d: %+v, %v", limit, found, err)
		}
		for i, h := range found.Hits {
			if h.ID != ID(i) || h.Score != 1 {
				t.Errorf("limit %d, hit %d: %+v", limit, i, h)
			}
		}
	}
}

// TestLongTexts has a chunk and a query with more words than are counted.
func TestLongTexts(t *testing.T) {
	var many strings.Builder
	for i := range maxLength + 10 {
		fmt.Fprintf(&many, "w%d ", i)
	}
	x := New(1)
	x.Put([]Item{{ID: 1, Text: many.String()}, {ID: 2, Text: strings.Repeat("w ", 1000)}, {ID: 3, Text: "other"}})
	found, err := x.Search(Query{Text: many.String()})
	if err != nil || len(found.Hits) != 1 || found.Hits[0].ID != 1 {
		t.Errorf("%+v, %v", found, err)
	}
	x.Put([]Item{{ID: 4, Text: strings.Repeat("often ", maxTimes+1)}, {ID: 5, Text: "often " + strings.Repeat("other ", maxTimes)}})
	found, err = x.Search(Query{Text: "often"})
	if err != nil || len(found.Hits) != 2 || found.Hits[0].ID != 4 {
		t.Errorf("%+v, %v", found, err)
	}
}

// TestBalance has queries with an increasing number of known words.
func TestBalance(t *testing.T) {
	for _, c := range []struct {
		name, text   string
		known, words int
		vector       bool
		share        float32
	}{
		{"no words", "", 0, 0, true, 0},
		{"unknown words", "a b", 0, 5, true, 0},
		{"few", "a b", 3, 3, true, 0.25},
		{"few of several", "a b", 3, 6, true, 0.125},
		{"a name", " parseFile\n", 2, 2, true, 0.45},
		{"a name known in part", "parseFile", 1, 2, true, 0.225},
		{"halfway", "a b", 11, 12, true, 0.5},
		{"many", "a b", 33, 40, true, 0.9},
		{"no meaning", "a b", 3, 6, false, 1},
		{"neither", "a", 0, 2, false, 1},
	} {
		terms := make([]term, c.words)
		for i := range terms {
			terms[i] = term{idf: 1 / (saturation + 1), known: i < c.known}
		}
		b := balanceOf(c.text, terms, c.vector)
		if math.Abs(float64(b.words-c.share)) > 1e-6 || b.words+b.meaning != 1 || math.Abs(float64(b.maxBM25)-float64(c.words)) > 1e-4 {
			t.Errorf("%s: %+v, want a share of %v", c.name, b, c.share)
		}
	}
	for _, c := range []struct {
		words, meaning, score float32
		relevant              bool
	}{
		{0, 0, 0, false},
		{1, 1, 1, true},
		{1, -1, 0.4, true},
		{0, 0.5, 0.3, true},
		{0.5, 0.5, 0.5, true},
		{0, 0.1, 0.06, false},
		{0.05, 0.1, 0.08, false},
		{0.25, 0, 0.1, true},
		{0, -1, 0, false},
	} {
		b := balance{words: 0.4, meaning: 0.6, floor: 0.12}
		score := b.fuse(c.words, c.meaning)
		if relevant := b.relevant(score, c.words); math.Abs(float64(score-c.score)) > 1e-6 || relevant != c.relevant {
			t.Errorf("%v and %v: %v, %v", c.words, c.meaning, score, relevant)
		}
	}
}

// TestCommonWords searches for words that every chunk contains, and for one that is rare.
func TestCommonWords(t *testing.T) {
	x := New(testDim)
	var items []Item
	for i := range 1000 {
		items = append(items, Item{ID: ID(i), Text: fmt.Sprintf("the way of thing%d and how it is done", i), Vector: []float32{testDim - 1: -1}})
	}
	items[7].Text = strings.Repeat(items[8].Text, 5) + " quixotic"
	x.Put(items)
	for _, vector := range [][]float32{nil, {testDim - 1: 1}} {
		for question, want := range map[string]int{"quixotic": 1, "how is the quixotic done": 1, "xqzzt": 0} {
			found, err := x.Search(Query{Text: question, Vector: vector})
			if err != nil || found.Total != want {
				t.Errorf("%s: %d, want %d, %v", question, found.Total, want, err)
			}
		}
	}
}

// TestViewsDoNotChange checks that dropping chunks does not change earlier views.
func TestViewsDoNotChange(t *testing.T) {
	x := New(1)
	var items []Item
	for i := range 20 {
		items = append(items, Item{ID: ID(i), Text: "word"})
	}
	x.Put(items)
	for id := range ID(4) {
		before := x.now.Load()
		deleted := before.segments[0].deleted
		x.Drop([]ID{id})
		dead := 0
		for slot := range before.segments[0].ids {
			if before.segments[0].isDead(slot) {
				dead++
			}
		}
		if dead != deleted {
			t.Errorf("after dropping %d, a view from before has %d deleted chunks, not %d", id, dead, deleted)
		}
	}
}

// TestPastedText searches for a long text of which a chunk contains only a few words.
func TestPastedText(t *testing.T) {
	var pasted strings.Builder
	for i := range 300 {
		pasted.WriteString(letters(uint64(i+1000)) + " ")
	}
	x := New(1)
	x.Put([]Item{{ID: 1, Text: strings.Join(strings.Fields(pasted.String())[100:106], " ")}, {ID: 2, Text: "other"}})
	found, err := x.Search(Query{Text: pasted.String()})
	if err != nil || len(found.Hits) != 1 || found.Hits[0].ID != 1 {
		t.Errorf("%+v, %v", found, err)
	}
}
