package corpus

import (
	"context"
	"testing"

	"remit/internal/search/tree"
)

// BenchmarkSearch measures searches of texts in memory, with trigrams, for patterns without cached
// counts.
func BenchmarkSearch(b *testing.B) {
	c := open(b, goSource(b), Options{})
	c.search(b, Query{Pattern: pattern(b, "quixotic", false), Limit: 50})
	c.maintained()
	for _, k := range []struct {
		name, expression string
		ignoreCase       bool
	}{
		{"rare literal", "quixotic", false},
		{"common literal", "fmt.Println", false},
		{"very common literal", "return", false},
		{"without case", "println", true},
		{"alternation", "quixotic|zephyr|xylophone", false},
		{"long alternation", "Unmarshal|Deadline|Semaphore|Mutex|WaitGroup|Context", false},
		{"regex with literal", `func \w+Handler\(`, false},
		{"word", `\bserver\b`, false},
		{"no literal", `[A-Z][a-z]+\d{3}`, false},
		{"beginning", `^#+ `, false},
		{"no match", "nowhere-to-be-found", false},
		{"no match, no literal", `[xq]{7}\d`, false},
		{"dense", "e", false},
		{"every line", ".", false},
	} {
		b.Run(k.name, func(b *testing.B) {
			for b.Loop() {
				c.forgetCounts()
				c.search(b, Query{Pattern: pattern(b, k.expression, k.ignoreCase), Limit: 50})
			}
		})
	}
	b.Run("again", func(b *testing.B) {
		for b.Loop() {
			c.search(b, Query{Pattern: pattern(b, "return", false), Limit: 50})
		}
	})
	b.Run("all lines", func(b *testing.B) {
		for b.Loop() {
			c.forgetCounts()
			_, err := c.Search(b.Context(), Query{Pattern: pattern(b, "return", false)}, func(FileMatches) bool { return true })
			if err != nil {
				b.Fatal(err)
			}
		}
	})
}

// forgetCounts removes the cached counts of earlier searches.
func (c *Corpus) forgetCounts() {
	v := c.acquireView()
	defer v.release()
	for _, p := range v.parts {
		p.segment.countSlots("", 0, false)
	}
}

// BenchmarkFirst measures the first search.
func BenchmarkFirst(b *testing.B) {
	for b.Loop() {
		searchOnce(b, func(*Corpus) {})
	}
}

// BenchmarkMaintain measures the first search and the maintenance after it, which loads all texts
// and builds their trigrams.
func BenchmarkMaintain(b *testing.B) {
	for b.Loop() {
		searchOnce(b, func(c *Corpus) {
			c.maintained()
			b.ReportMetric(float64(c.textBytes.Load())/(1<<20), "textMB")
			b.ReportMetric(float64(c.indexBytes.Load())/(1<<20), "indexMB")
		})
	}
}

// searchOnce searches a corpus that is created for it.
func searchOnce(b *testing.B, then func(*Corpus)) {
	files, err := tree.Open(tree.Options{Root: goSource(b), Env: noEnvironment})
	if err != nil {
		b.Fatal(err)
	}
	c := New(files, Options{})
	if _, err := c.Search(context.Background(), Query{Pattern: pattern(b, "quixotic", false), Limit: 50}, func(FileMatches) bool { return true }); err != nil {
		b.Fatal(err)
	}
	then(c)
	c.Close()
	if err := files.Close(); err != nil {
		b.Fatal(err)
	}
}
