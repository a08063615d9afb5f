package hybrid

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"remit/internal/search/tokenize"
)

// referenceIndex is a simple implementation of the index: a map that is searched as a whole.
type referenceIndex map[ID]stemmed

// stemmed is an item with its stemmed words.
type stemmed struct {
	Item
	stems []string
}

func stems(text string) []string {
	all := tokenize.Words(text)
	for i := range all {
		all[i] = tokenize.Stem(all[i])
	}
	return all
}

func distinct(all []string) []string {
	var kept []string
	for _, word := range all {
		if !slices.Contains(kept, word) {
			kept = append(kept, word)
		}
	}
	return kept
}

func count(all []string, word string) (n float64) {
	for _, w := range all {
		if w == word {
			n++
		}
	}
	return n
}

func (p referenceIndex) average() float64 {
	total := 0
	for _, item := range p {
		total += len(item.stems)
	}
	return float64(total) / float64(max(1, len(p)))
}

func (p referenceIndex) terms(text string) []term {
	var terms []term
	holders := map[string]int{}
	for _, item := range p {
		for _, word := range distinct(item.stems) {
			holders[word]++
		}
	}
	for _, word := range distinct(stems(text)) {
		holders := holders[word]
		terms = append(terms, term{hash: hash([]byte(word)), idf: inverseFrequency(holders, len(p)), known: holders > 0})
	}
	return terms
}

func bm25(terms []term, all, question []string, average float64) (sum float64) {
	for i, word := range question {
		n := count(all, word)
		norm := 1 - lengthWeight + lengthWeight*float64(len(all))/average
		if n > 0 {
			sum += float64(terms[i].idf) * n * (saturation + 1) / (n + saturation*norm)
		}
	}
	return sum
}

func cosine(a, b []float32) float64 {
	_, la, okA := measure(a, len(b))
	_, lb, okB := measure(b, len(a))
	if !okA || !okB {
		return 0
	}
	var sum float64
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum / la / lb
}

// all returns every relevant chunk with its score, and those so close to the threshold that
// quantization may decide either way.
func (p referenceIndex) all(q Query) (all, edge map[ID]Hit) {
	const slack = 0.02
	all, edge = map[ID]Hit{}, map[ID]Hit{}
	terms, question, average := p.terms(q.Text), distinct(stems(q.Text)), p.average()
	b := balanceOf(q.Text, terms, newQueryVector(q.Vector, testDim) != nil)
	for id, item := range p {
		if q.Filter != nil && !q.Filter(id) {
			continue
		}
		h := Hit{ID: id, Cosine: float32(cosine(q.Vector, item.Vector))}
		h.WordScore = b.share(float32(bm25(terms, item.stems, question, average)))
		h.Score = b.fuse(h.WordScore, h.Cosine)
		low, high := b.fuse(h.WordScore-1e-4, h.Cosine-slack), b.fuse(h.WordScore+1e-4, h.Cosine+slack)
		if q.Boost != nil {
			h.Score *= q.Boost(id)
		}
		switch {
		case b.relevant(low, h.WordScore-1e-4):
			all[id] = h
		case b.relevant(high, h.WordScore+1e-4):
			edge[id] = h
		}
	}
	return all, edge
}

const testDim = 20

func someVector() *rapid.Generator[[]float32] {
	return rapid.Custom(func(t *rapid.T) []float32 {
		if rapid.IntRange(0, 9).Draw(t, "none") == 0 {
			return nil
		}
		return rapid.SliceOfN(rapid.Map(rapid.IntRange(-9, 9), func(n int) float32 { return float32(n) }), testDim, testDim).Draw(t, "vector")
	})
}

func someText() *rapid.Generator[string] {
	word := rapid.SampledFrom(strings.Fields("token tokens cookie race parse parsing parseHTTPRequest index db cache the a of how 42"))
	return rapid.Map(rapid.SliceOfN(word, 0, 12), func(all []string) string { return strings.Join(all, " ") })
}

func someIDs() *rapid.Generator[[]ID] {
	return rapid.SliceOfN(rapid.Map(rapid.IntRange(0, 40), func(n int) ID { return ID(n) }), 0, 12)
}

func someQuery(t *rapid.T, p referenceIndex) Query {
	q := Query{Text: someText().Draw(t, "question"), Vector: someVector().Draw(t, "meaning"), Limit: rapid.IntRange(1, 12).Draw(t, "limit")}
	if rapid.Bool().Draw(t, "filtered") {
		keep := rapid.Uint64().Draw(t, "keep")
		q.Filter = func(id ID) bool { return keep>>(id%64)&1 == 1 }
	}
	if rapid.Bool().Draw(t, "weighed") {
		q.Boost = func(id ID) float32 { return 0.5 + float32(id%5)/10 }
	}
	q.ExactVectors = func(ids []ID) ([][]float32, error) {
		vectors := make([][]float32, len(ids))
		for i, id := range ids {
			vectors[i] = p[id].Vector
		}
		return vectors, nil
	}
	return q
}

// check compares the result of a search with the reference.
func check(t *rapid.T, p referenceIndex, q Query, found Results) {
	const slack = 1e-4
	all, edge := p.all(q)
	if found.Total < len(all) || found.Total > len(all)+len(edge) {
		t.Fatalf("%d are relevant, want %d and perhaps %d", found.Total, len(all), len(edge))
	}
	if len(found.Hits) != min(q.Limit, found.Total) {
		t.Fatalf("%d hits of %d", len(found.Hits), found.Total)
	}
	maps.Copy(all, edge)
	scores := slices.SortedFunc(maps.Values(all), func(a, b Hit) int {
		if a.before(&b) {
			return -1
		}
		return 1
	})
	for i, h := range found.Hits {
		want, ok := all[h.ID]
		if !ok || math.Abs(float64(h.Score-want.Score)) > slack {
			t.Fatalf("hit %d is %+v, want %+v", i, h, want)
		}
		if len(edge) == 0 && math.Abs(float64(h.Score-scores[i].Score)) > slack {
			t.Fatalf("hit %d is %+v, want %+v", i, h, scores[i])
		}
		if i > 0 && !found.Hits[i-1].before(&found.Hits[i]) {
			t.Fatalf("hit %d is better than the one before", i)
		}
	}
}

// TestModel applies random operations to an index and to the reference.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, p := New(testDim), referenceIndex{}
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) {
				if x.Len() != len(p) || len(x.where) != len(p) {
					t.Fatalf("%d chunks, at %d places, want %d", x.Len(), len(x.where), len(p))
				}
			},
			"put": func(t *rapid.T) {
				var items []Item
				for _, id := range someIDs().Draw(t, "ids") {
					items = append(items, Item{ID: id, Text: someText().Draw(t, "text"), Vector: someVector().Draw(t, "vector")})
					p[id] = stemmed{items[len(items)-1], stems(items[len(items)-1].Text)}
				}
				x.Put(items)
			},
			"drop": func(t *rapid.T) {
				ids := someIDs().Draw(t, "ids")
				for _, id := range ids {
					delete(p, id)
				}
				x.Drop(ids)
			},
			"save and restore": func(t *rapid.T) {
				out := someIDs().Draw(t, "left out")
				saved := save(t, x, func(id ID) (ID, bool) { return id, !slices.Contains(out, id) })
				for _, id := range out {
					delete(p, id)
				}
				x = New(testDim)
				if err := x.Restore(saved); err != nil {
					t.Fatal(err)
				}
			},
			"search": func(t *rapid.T) {
				q := someQuery(t, p)
				found, err := x.Search(q)
				if err != nil {
					t.Fatal(err)
				}
				check(t, p, q, found)
			},
		})
	})
}

// TestManyAndFewAgain fills an index beyond one segment and empties it, and checks that nothing of
// the dropped chunks remains.
func TestManyAndFewAgain(t *testing.T) {
	const many = maxSegment*2 + 1000
	x := New(testDim)
	var items []Item
	for i := range many {
		items = append(items, Item{ID: ID(i), Text: fmt.Sprintf("piece number%d of kind%d", i, i%7), Vector: []float32{19: float32(i%5) - 2}})
	}
	x.Put(items)
	if n := len(x.now.Load().segments); x.Len() != many || n > 12 {
		t.Fatalf("%d chunks in %d segments", x.Len(), n)
	}
	for _, i := range []int{0, 1, 511, 512, maxSegment, many - 1} {
		found, err := x.Search(Query{Text: fmt.Sprintf("number%d", i)})
		if err != nil || found.Hits[0].ID != ID(i) {
			t.Errorf("chunk %d: %+v, %v", i, found, err)
		}
	}
	var ids []ID
	for i := range many {
		if i%100 != 0 {
			ids = append(ids, ID(i))
		}
	}
	for chunk := range slices.Chunk(ids, 700) {
		x.Drop(chunk)
	}
	kept, rows := 0, 0
	for _, s := range x.now.Load().segments {
		kept, rows = kept+s.live(), rows+cap(s.ids)
	}
	if want := (many + 99) / 100; x.Len() != want || kept != want || rows > 2*want {
		t.Errorf("%d chunks, %d live, %d rows; want %d", x.Len(), kept, rows, want)
	}
	found, err := x.Search(Query{Text: "kind3", Limit: 1})
	if err != nil || len(found.Hits) != 1 || found.Total == 0 {
		t.Errorf("%+v, %v", found, err)
	}
}
