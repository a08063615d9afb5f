package hybrid

import (
	"cmp"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestMultiply compares the vector instructions with portable Go, including extreme values.
func TestMultiply(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		width := rowUnit * rapid.IntRange(1, 20).Draw(t, "width")
		count := rapid.IntRange(1, 11).Draw(t, "count")
		limit := min(math.MaxInt16, math.MaxInt32/(math.MaxInt8*width))
		query := make([]int16, width)
		rows := make([]int8, width*count)
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		steep := rapid.Bool().Draw(t, "steep")
		for i := range query {
			query[i] = int16(r.IntN(2*limit+1) - limit)
			if steep {
				query[i] = int16(limit)
			}
		}
		for i := range rows {
			rows[i] = int8(r.IntN(255) - 127)
			if steep {
				rows[i] = 127 * int8(1-2*(i/width%2))
			}
		}
		got, want := make([]int32, count), make([]int32, count)
		if !multiply(query, rows, got) {
			t.Skip("this CPU has no vector instructions")
		}
		multiplyGeneric(query, rows, want)
		if !slices.Equal(got, want) {
			t.Fatalf("%v, want %v", got, want)
		}
		if steep && want[0] != int32(limit)*127*int32(width) {
			t.Fatalf("%d overflowed", want[0])
		}
	})
}

// TestIgnoredVectors adds and searches vectors without a direction.
func TestIgnoredVectors(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	good := []float32{1, 2, 3}
	for _, v := range [][]float32{nil, {}, {0, 0, 0}, {1, 2}, {1, 2, 3, 4}, {nan, 1, 2}, {1, inf, 2}, {-inf, inf, nan}} {
		x := New(3)
		x.Put([]Item{{ID: 1, Text: "word", Vector: v}, {ID: 2, Text: "word", Vector: good}})
		found, err := x.Search(Query{Text: "word", Vector: good, ExactVectors: func(ids []ID) ([][]float32, error) {
			return [][]float32{v, v}, nil
		}})
		if err != nil || len(found.Hits) != 2 || found.Hits[0].ID != 2 || found.Hits[1].Cosine != 0 || !(found.Hits[1].Score > 0) {
			t.Errorf("put %v: %+v, %v", v, found, err)
		}
		found, err = x.Search(Query{Text: "word", Vector: v})
		if err != nil || len(found.Hits) != 2 || found.Hits[0].Score != found.Hits[1].Score {
			t.Errorf("search for %v: %+v, %v", v, found, err)
		}
	}
}

// TestLengthDoesNotMatter compares vectors of very different lengths.
func TestLengthDoesNotMatter(t *testing.T) {
	x := New(2)
	x.Put([]Item{{ID: 1, Vector: []float32{3e30, 4e30}}, {ID: 2, Vector: []float32{3e-40, 4e-40}}})
	found, err := x.Search(Query{Vector: []float32{30, 40}})
	if err != nil || len(found.Hits) != 2 {
		t.Fatalf("%+v, %v", found, err)
	}
	for _, h := range found.Hits {
		if math.Abs(float64(h.Cosine)-1) > 0.01 {
			t.Errorf("%+v", h)
		}
	}
}

// TestManyDimensions has vectors with the largest possible dot product.
func TestManyDimensions(t *testing.T) {
	const dim = 4000
	v := make([]float32, dim)
	for i := range v {
		v[i] = 1
	}
	x := New(dim)
	x.Put([]Item{{ID: 1, Vector: v}})
	found, err := x.Search(Query{Vector: v})
	if err != nil || len(found.Hits) != 1 || math.Abs(float64(found.Hits[0].Cosine)-1) > 1e-3 {
		t.Errorf("%+v, %v", found, err)
	}
}

// randomVectors returns vectors in all directions, or around a few of them. Like those of real
// models, they have a common bias.
func randomVectors(r *rand.Rand, count, dim, clusters int) [][]float32 {
	draw := func(around []float32, spread float64) []float32 {
		v := make([]float32, dim)
		for i := range v {
			v[i] = float32(1 + r.NormFloat64()*spread)
			if around != nil {
				v[i] += around[i]
			}
		}
		return v
	}
	var centres [][]float32
	for range clusters {
		centres = append(centres, draw(nil, 1))
	}
	all := make([][]float32, count)
	for i := range all {
		if clusters == 0 {
			all[i] = draw(nil, 1)
		} else {
			all[i] = draw(centres[r.IntN(clusters)], 0.4)
		}
	}
	return all
}

func nearest(all [][]float32, query []float32, count int) []ID {
	cosines := make([]float64, len(all))
	ids := make([]ID, len(all))
	for i, v := range all {
		cosines[i], ids[i] = cosine(query, v), ID(i)
	}
	slices.SortFunc(ids, func(a, b ID) int { return cmp.Compare(cosines[b], cosines[a]) })
	return ids[:count]
}

// TestRecall compares the best ten hits with those of an exact search.
func TestRecall(t *testing.T) {
	const dim, questions = 256, 10
	count := 1200
	if os.Getenv("REMIT_FULL") == "true" {
		count = 100_000
	}
	for name, clusters := range map[string]int{"random": 0, "clustered": 12} {
		r := rand.New(rand.NewPCG(1, 2))
		all := randomVectors(r, count+questions, dim, clusters)
		all, asked := all[:count], all[count:]
		x := New(dim)
		for chunk := range slices.Chunk(itemsOf(all), 50) {
			x.Put(chunk)
		}
		var want [][]ID
		for _, q := range asked {
			want = append(want, nearest(all, q, 10))
		}
		for kind, fine := range map[string]func([]ID) ([][]float32, error){"fine": reader(all), "8 bits": nil} {
			if got := recall(t, x, asked, want, fine); got < 0.99 && fine != nil || got < 0.8 {
				t.Errorf("%s, %s: recall %.3f", name, kind, got)
			} else {
				t.Logf("%s, %s: recall %.3f", name, kind, got)
			}
		}
	}
}

func reader(all [][]float32) func([]ID) ([][]float32, error) {
	return func(ids []ID) ([][]float32, error) {
		var vectors [][]float32
		for _, id := range ids {
			vectors = append(vectors, all[id])
		}
		return vectors, nil
	}
}

func itemsOf(vectors [][]float32) []Item {
	var items []Item
	for id, v := range vectors {
		items = append(items, Item{ID: ID(id), Vector: v})
	}
	return items
}

func recall(t *testing.T, x *Index, asked [][]float32, want [][]ID, fine func([]ID) ([][]float32, error)) float64 {
	t.Helper()
	hits := 0
	for i, q := range asked {
		found, err := x.Search(Query{Vector: q, ExactVectors: fine})
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range found.Hits {
			if slices.Contains(want[i], h.ID) {
				hits++
			}
		}
	}
	return float64(hits) / float64(10*len(asked))
}
