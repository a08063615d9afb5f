package hybrid

import (
	"slices"

	"remit/internal/search/tokenize"
)

// A tally counts words of pieces, one piece after the other. It is used again and again, so that what it needs is not
// asked for with every batch.
type tally struct {
	// terms are the different words, in the order they came.
	terms []tallied
	// places are the numbers of terms, plus 1, at what their hashes say or thereafter; 0 is a free place. There are twice
	// as many as terms at least, and a power of 2.
	places []uint32
	// counts are how often words occur in pieces, the pieces in order.
	counts []occurrence

	// What into needs.
	hashes []uint64
	sorted []occurrence
}

// tallied is a word.
type tallied struct {
	hash uint64
	// pieces is how many have it, and last where its count in the last of them is.
	pieces uint32
	last   uint32
}

// occurrence is how often a word occurs in a piece.
type occurrence struct {
	term  uint32
	slot  uint16
	times uint8
}

// fewest is how many places there are at first.
const fewest = 1 << 12

func newTally() *tally { return &tally{places: make([]uint32, fewest)} }

// reset forgets all words.
func (t *tally) reset() {
	clear(t.places)
	t.terms, t.counts = t.terms[:0], t.counts[:0]
}

// add counts the words of a piece that comes after those before, and returns how many there are.
func (t *tally) add(text string, slot uint16) (length int) {
	for word := range tokenize.In(text) {
		t.count(hash(tokenize.Stem(word)), slot)
		length++
	}
	return length
}

func (t *tally) count(hash uint64, slot uint16) {
	number := t.number(hash)
	term := &t.terms[number]
	if term.pieces > 0 {
		if known := &t.counts[term.last]; known.slot == slot {
			known.times = uint8(min(int(known.times)+1, maxTimes))
			return
		}
	}
	term.pieces++
	term.last = uint32(len(t.counts))
	t.counts = append(t.counts, occurrence{term: number, slot: slot, times: 1})
}

// number returns the number of a word, a new one if need be.
func (t *tally) number(hash uint64) uint32 {
	at := t.place(hash)
	if t.places[at] > 0 {
		return t.places[at] - 1
	}
	t.terms = append(t.terms, tallied{hash: hash})
	t.places[at] = uint32(len(t.terms))
	if 2*len(t.terms) > len(t.places) {
		t.grow()
	}
	return uint32(len(t.terms) - 1)
}

// place returns where the number of a word is, or is to be.
func (t *tally) place(hash uint64) int {
	mask := len(t.places) - 1
	at := int(hash>>32) & mask
	for t.places[at] > 0 && t.terms[t.places[at]-1].hash != hash {
		at = (at + 1) & mask
	}
	return at
}

func (t *tally) grow() {
	t.places = make([]uint32, 2*len(t.places))
	for i := range t.terms {
		t.places[t.place(t.terms[i].hash)] = uint32(i + 1)
	}
}

// into makes the postings of a core that has none.
func (t *tally) into(c *core) {
	t.sort()
	w := writer{terms: make([]uint64, 0, len(t.hashes)), starts: make([]uint32, 0, len(t.hashes)+1), postings: make([]byte, 0, 2*len(t.counts))}
	at := 0
	for _, hash := range t.hashes {
		holders := int(t.terms[t.number(hash)].pieces)
		for _, o := range t.sorted[at : at+holders] {
			w.add(int(o.slot), int(o.times))
		}
		w.end(hash)
		at += holders
	}
	w.into(c)
}

// sort puts the counts of each word together, the words by their hashes. Those of a word stay in the order of pieces.
func (t *tally) sort() {
	t.hashes = t.hashes[:0]
	for i := range t.terms {
		t.hashes = append(t.hashes, t.terms[i].hash)
	}
	slices.Sort(t.hashes)
	next := uint32(0)
	for _, hash := range t.hashes {
		term := &t.terms[t.number(hash)]
		term.last, next = next, next+term.pieces
	}
	t.sorted = slices.Grow(t.sorted[:0], len(t.counts))[:len(t.counts)]
	for _, o := range t.counts {
		term := &t.terms[o.term]
		t.sorted[term.last] = o
		term.last++
	}
}
