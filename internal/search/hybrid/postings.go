package hybrid

import (
	"encoding/binary"
	"slices"
)

// maxLength and maxTimes are where a piece's words, and the times a word occurs in it, stop being counted.
const (
	maxLength = 1<<16 - 1
	maxTimes  = 255
)

// hash is FNV-1a. Words that share a hash by chance would be taken for one another: with a million words, one chance in
// thirty million.
func hash(word []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, b := range word {
		h = (h ^ uint64(b)) * 1099511628211
	}
	return h
}

// list says in which pieces a word occurs: how many there are, then for each the step from the one before, twice, plus 1 if
// it occurs more than once, in which case a byte says how often.
type list []byte

// count returns how many pieces there are, and the postings that next reads.
func (l list) count() (int, list) {
	n, size := binary.Uvarint(l)
	return int(n), l[size:]
}

// next returns the piece that comes after a slot, -1 for the first, how often the word occurs in it, and what follows.
func (l list) next(slot int) (at, times int, rest list) {
	step, size := int(l[0]), 1
	if step >= 0x80 {
		u, n := binary.Uvarint(l)
		step, size = int(u), n
	}
	if step&1 == 0 {
		return slot + step>>1, 1, l[size:]
	}
	return slot + step>>1, int(l[size]), l[size+1:]
}

// writer makes the postings of a core: the terms in order, the pieces of each in order.
type writer struct {
	terms    []uint64
	starts   []uint32
	postings []byte

	entries []byte
	count   int
	last    int
}

// add says that the term that ends next occurs in a piece.
func (w *writer) add(slot, times int) {
	step := uint64(slot+1-w.last) << 1
	if times > 1 {
		w.entries = append(binary.AppendUvarint(w.entries, step|1), byte(min(times, maxTimes)))
	} else {
		w.entries = binary.AppendUvarint(w.entries, step)
	}
	w.last = slot + 1
	w.count++
}

// end finishes a term, which is left out if it occurs nowhere.
func (w *writer) end(term uint64) {
	if w.count > 0 {
		w.terms = append(w.terms, term)
		w.starts = append(w.starts, uint32(len(w.postings)))
		w.postings = append(binary.AppendUvarint(w.postings, uint64(w.count)), w.entries...)
	}
	w.entries, w.count, w.last = w.entries[:0], 0, 0
}

// into hands over what was written, in no more room than it needs.
func (w *writer) into(c *core) {
	c.terms = slices.Clone(w.terms)
	c.starts = slices.Clone(append(w.starts, uint32(len(w.postings))))
	c.postings = slices.Clone(w.postings)
}
