package hybrid

import (
	"encoding/binary"
	"slices"
)

// maxLength and maxTimes limit the counts of a chunk's words and of the occurrences of a word in
// it.
const (
	maxLength = 1<<16 - 1
	maxTimes  = 255
)

// hash returns the FNV-1a hash of a word. Words with the same hash are treated as one; with a
// million words the chance of that is one in thirty million.
func hash(word []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, b := range word {
		h = (h ^ uint64(b)) * 1099511628211
	}
	return h
}

// list is the encoded postings of a word: the number of chunks, then for each chunk the difference
// from the previous slot times two, plus 1 if the word occurs more than once, in which case a byte
// with the number of occurrences follows.
type list []byte

// count returns the number of chunks, and the rest of the list, which next decodes.
func (l list) count() (int, list) {
	n, size := binary.Uvarint(l)
	if size <= 0 || n > maxSegment {
		return 0, nil // damaged
	}
	return int(n), l[size:]
}

// next decodes the posting after slot, which is -1 for the first. It returns its slot, which is
// below limit, the number of occurrences, and the remaining postings. If the list is damaged, times
// is 0, slot 0, and nothing remains.
func (l list) next(slot, limit int) (at, times int, rest list) {
	step, size := uint64(l[0]), 1
	if step >= 0x80 {
		step, size = binary.Uvarint(l)
	}
	at, times = slot+int(step>>1&(1<<32-1)), 1
	if step&1 != 0 {
		if size <= 0 || size >= len(l) {
			return 0, 0, nil
		}
		times = int(l[size])
		size++
	}
	if at <= slot || at >= limit || size <= 0 {
		return 0, 0, nil
	}
	return at, times, l[size:]
}

// writer encodes the postings of a core. Terms, and the chunks of each term, must be added in
// order.
type writer struct {
	terms    []uint64
	starts   []uint32
	postings []byte

	entries []byte
	count   int
	last    int
}

// add adds a chunk to the current term.
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

// end completes the current term. It is left out if it occurs nowhere.
func (w *writer) end(term uint64) {
	if w.count > 0 {
		w.terms = append(w.terms, term)
		w.starts = append(w.starts, uint32(len(w.postings)))
		w.postings = append(binary.AppendUvarint(w.postings, uint64(w.count)), w.entries...)
	}
	w.entries, w.count, w.last = w.entries[:0], 0, 0
}

// into stores what was written in the core, without spare capacity.
func (w *writer) into(c *core) {
	c.terms = slices.Clone(w.terms)
	c.starts = slices.Clone(append(w.starts, uint32(len(w.postings))))
	c.postings = slices.Clone(w.postings)
}
