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

// TestTally compares the postings of a tally that is used again and again with those of a map.
func TestTally(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	counts := newTally()
	for _, size := range []int{3, 400, 0, 40} { // the second has more words than there are places at first
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
				pieces := want[hash([]byte(word))]
				if pieces == nil {
					pieces = map[int]int{}
					want[hash([]byte(word))] = pieces
				}
				pieces[slot] = min(pieces[slot]+1, maxTimes)
			}
		}
		counts.into(c)
		if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), c.terms, cmp.Transformer("nil", func(all []uint64) string { return fmt.Sprint(all) })); diff != "" {
			t.Fatalf("of %d pieces: terms (-want +got)\n%s", size, diff)
		}
		for term, pieces := range want {
			if diff := cmp.Diff(pieces, postingsOf(t, c, term)); diff != "" {
				t.Fatalf("of %d pieces: postings of %x (-want +got)\n%s", size, term, diff)
			}
		}
	}
}

// postingsOf reads how often a word is in which pieces.
func postingsOf(t *testing.T, c *core, term uint64) map[int]int {
	t.Helper()
	l, ok := c.list(term)
	if !ok {
		t.Fatalf("%x is not there", term)
	}
	count, rest := l.count()
	pieces := map[int]int{}
	for slot := -1; len(rest) > 0; {
		var times int
		slot, times, rest = rest.next(slot)
		pieces[slot] = times
	}
	if len(pieces) != count {
		t.Errorf("%x is in %d pieces, says the list of %d", term, count, len(pieces))
	}
	return pieces
}

// TestPause: whoever puts pieces gives way before each of them, and holds nothing that others need.
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
		t.Errorf("%d pauses for %d pieces", paused, x.Len())
	}
}
