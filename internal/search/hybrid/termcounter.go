package hybrid

import (
	"slices"

	"remit/internal/search/tokenize"
)

// A termCounter counts the words of chunks, one chunk after the other. It is reused to avoid
// allocations for every batch.
type termCounter struct {
	// terms are the distinct words, in the order of their first occurrence.
	terms []countedTerm
	// places is an open-addressing hash table of term numbers plus 1; 0 is a free place. Its size
	// is a power of 2 and at least twice the number of terms.
	places []uint32
	// counts holds the occurrences of words, in the order of chunks.
	counts []occurrence

	// hashes and sorted are buffers of into.
	hashes []uint64
	sorted []occurrence
}

// countedTerm is a distinct word.
type countedTerm struct {
	hash uint64
	// chunks is the number of chunks that contain it, and last the index of its count in the last
	// of them.
	chunks uint32
	last   uint32
}

// occurrence is the number of times a word occurs in a chunk.
type occurrence struct {
	term  uint32
	slot  uint16
	times uint8
}

// minPlaces is the initial size of the hash table.
const minPlaces = 1 << 12

func newTermCounter() *termCounter { return &termCounter{places: make([]uint32, minPlaces)} }

// reset removes all words.
func (t *termCounter) reset() {
	clear(t.places)
	t.terms, t.counts = t.terms[:0], t.counts[:0]
}

// add counts the words of a chunk, and returns their number. Slots must be added in ascending
// order.
func (t *termCounter) add(text string, slot uint16) (length int) {
	for word := range tokenize.All(text) {
		t.count(hash(tokenize.Stem(word)), slot)
		length++
	}
	return length
}

func (t *termCounter) count(hash uint64, slot uint16) {
	number := t.number(hash)
	term := &t.terms[number]
	if term.chunks > 0 {
		if known := &t.counts[term.last]; known.slot == slot {
			known.times = uint8(min(int(known.times)+1, maxTimes))
			return
		}
	}
	term.chunks++
	term.last = uint32(len(t.counts))
	t.counts = append(t.counts, occurrence{term: number, slot: slot, times: 1})
}

// number returns the number of a word, and adds the word if it is new.
func (t *termCounter) number(hash uint64) uint32 {
	at := t.place(hash)
	if t.places[at] > 0 {
		return t.places[at] - 1
	}
	t.terms = append(t.terms, countedTerm{hash: hash})
	t.places[at] = uint32(len(t.terms))
	if 2*len(t.terms) > len(t.places) {
		t.grow()
	}
	return uint32(len(t.terms) - 1)
}

// place returns the index in the hash table at which a word is, or would be.
func (t *termCounter) place(hash uint64) int {
	mask := len(t.places) - 1
	at := int(hash>>32) & mask
	for t.places[at] > 0 && t.terms[t.places[at]-1].hash != hash {
		at = (at + 1) & mask
	}
	return at
}

func (t *termCounter) grow() {
	t.places = make([]uint32, 2*len(t.places))
	for i := range t.terms {
		t.places[t.place(t.terms[i].hash)] = uint32(i + 1)
	}
}

// into stores the postings in a core that has none.
func (t *termCounter) into(c *core) {
	t.sort()
	w := writer{terms: make([]uint64, 0, len(t.hashes)), starts: make([]uint32, 0, len(t.hashes)+1), postings: make([]byte, 0, 2*len(t.counts))}
	at := 0
	for _, hash := range t.hashes {
		holders := int(t.terms[t.number(hash)].chunks)
		for _, o := range t.sorted[at : at+holders] {
			w.add(int(o.slot), int(o.times))
		}
		w.end(hash)
		at += holders
	}
	w.into(c)
}

// sort groups the counts by word, with the words sorted by their hashes. Within a word the order of
// chunks is kept.
func (t *termCounter) sort() {
	t.hashes = t.hashes[:0]
	for i := range t.terms {
		t.hashes = append(t.hashes, t.terms[i].hash)
	}
	slices.Sort(t.hashes)
	next := uint32(0)
	for _, hash := range t.hashes {
		term := &t.terms[t.number(hash)]
		term.last, next = next, next+term.chunks
	}
	t.sorted = slices.Grow(t.sorted[:0], len(t.counts))[:len(t.counts)]
	for _, o := range t.counts {
		term := &t.terms[o.term]
		t.sorted[term.last] = o
		term.last++
	}
}
