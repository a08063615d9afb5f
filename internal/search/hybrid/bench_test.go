package hybrid

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
)

// randomItems returns chunks of about 60 distinct words each, with a realistic distribution of
// frequencies.
func randomItems(r *rand.Rand, count, dim int) []Item {
	zipf := rand.NewZipf(r, 1.05, 20, 60_000)
	var items []Item
	for id, v := range randomVectors(r, count, dim, 50) {
		var text strings.Builder
		for range 100 {
			fmt.Fprintf(&text, "w%s ", letters(zipf.Uint64()))
		}
		items = append(items, Item{ID: ID(id), Text: text.String(), Vector: v})
	}
	return items
}

// letters converts a number to a word.
func letters(n uint64) string {
	var word []byte
	for ; n > 0; n /= 20 {
		word = append(word, "bcdfghjklmnpqrtvwxzk"[n%20])
	}
	return string(word)
}

func filled(b *testing.B, count, dim int) (*Index, []Item) {
	r := rand.New(rand.NewPCG(1, 2))
	x, sample := New(dim), []Item(nil)
	for range count / 4000 {
		items := randomItems(r, 4000, dim)
		for i := range items {
			items[i].ID = ID(x.Len() + i)
		}
		x.Put(items)
		sample = items
	}
	b.ResetTimer()
	return x, sample
}

func BenchmarkSearch(b *testing.B) {
	x, items := filled(b, 100_000, 256)
	question := strings.Join(strings.Fields(items[7].Text)[:8], " ")
	vectors := reader(func() (all [][]float32) {
		for range x.Len() {
			all = append(all, items[3].Vector)
		}
		return all
	}())
	for name, q := range map[string]Query{
		"both":     {Text: question, Vector: items[7].Vector},
		"fine":     {Text: question, Vector: items[7].Vector, ExactVectors: vectors},
		"words":    {Text: question},
		"meaning":  {Vector: items[7].Vector},
		"filtered": {Text: question, Vector: items[7].Vector, Filter: func(id ID) bool { return id%3 == 0 }, Boost: func(id ID) float32 { return 1 }},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := x.Search(q); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkPut(b *testing.B) {
	items := randomItems(rand.New(rand.NewPCG(1, 2)), 5000, 256)
	for b.Loop() {
		x := New(256)
		for at := 0; at < len(items); at += 50 {
			x.Put(items[at : at+50])
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*len(items)), "us/chunk")
}

// BenchmarkMemory measures the memory of an index without its vectors.
func BenchmarkMemory(b *testing.B) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	x, _ := filled(b, 120_000, 16)
	for b.Loop() {
		runtime.GC()
	}
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/1e6, "MB")
	runtime.KeepAlive(x)
}
