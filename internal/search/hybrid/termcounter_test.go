package hybrid

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTermCounter compares the postings of a reused term counter with those of a map.
func TestTermCounter(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	counts := newTermCounter()
	// The second has more words than the initial hash table has places.
	for _, size := range []int{3, 400, 0, 40} {
		want, c := map[uint64]map[int]int{}, newCore(0, 0)
		counts.reset()
		for slot := range size {
			text := strings.Repeat("many ", r.IntN(2*maxTimes))
			for range 30 {
				text += letters(20+r.Uint64N(30_000)) + " "
			}
			all := stems(text)
			if got := counts.add(text, uint16(slot)); got != len(all) {
				t.Fatalf("%d words, want %d", got, len(all))
			}
			for _, word := range all {
				chunks := want[hash([]byte(word))]
				if chunks == nil {
					chunks = map[int]int{}
					want[hash([]byte(word))] = chunks
				}
				chunks[slot] = min(chunks[slot]+1, maxTimes)
			}
		}
		counts.into(c)
		if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), c.terms, cmp.Transformer("nil", func(all []uint64) string { return fmt.Sprint(all) })); diff != "" {
			t.Fatalf("of %d chunks: terms (-want +got)\n%s", size, diff)
		}
		for term, chunks := range want {
			if diff := cmp.Diff(chunks, postingsOf(t, c, term)); diff != "" {
				t.Fatalf("of %d chunks: postings of %x (-want +got)\n%s", size, term, diff)
			}
		}
	}
}

// postingsOf returns the number of occurrences of a term by chunk.
func postingsOf(t *testing.T, c *core, term uint64) map[int]int {
	t.Helper()
	l, ok := c.list(term)
	if !ok {
		t.Fatalf("%x is not there", term)
	}
	count, rest := l.count()
	chunks := map[int]int{}
	for slot := -1; len(rest) > 0; {
		var times int
		slot, times, rest = rest.next(slot, maxSegment)
		chunks[slot] = times
	}
	if len(chunks) != count {
		t.Errorf("%x: the list has a count of %d, but %d chunks", term, count, len(chunks))
	}
	return chunks
}

// TestPause checks that Put calls Pause before each chunk, and holds no lock meanwhile.
func TestPause(t *testing.T) {
	x, paused := New(0), 0
	x.Pause = func() {
		paused++
		x.Drop([]ID{99})
		if _, err := x.Search(Query{Text: "word"}); err != nil {
			t.Error(err)
		}
	}
	x.Put([]Item{{ID: 1, Text: "a word"}, {ID: 2, Text: "another word"}})
	if paused != 2 || x.Len() != 2 {
		t.Errorf("%d pauses for %d chunks", paused, x.Len())
	}
}
