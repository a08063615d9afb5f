package hybrid

import "slices"

// maxSegment is how many pieces a segment has at most, so that joining segments is short work and needs little room.
const maxSegment = 8192

// core holds pieces as they were put. It never changes.
type core struct {
	ids     []ID
	lengths []uint16
	length  int64

	// terms are the hashes of all words, in order; those of number i have their postings at starts[i]:starts[i+1].
	// Hashes stand for the words, so that nothing is left of words that are gone.
	terms    []uint64
	starts   []uint32
	postings []byte

	// vectors has a row of width bytes for each piece; times its scale it is the vector, of length 1. A scale of 0 is a
	// piece without a vector.
	width   int
	vectors []int8
	scales  []float32
}

// segment is a core without the pieces that are gone since.
type segment struct {
	*core
	// dead has a bit for each piece; nil if all are there.
	dead  []uint64
	gone  int
	words int64
}

func whole(c *core) segment { return segment{core: c, words: c.length} }

func (s *segment) live() int { return len(s.ids) - s.gone }

func (s *segment) isDead(slot int) bool {
	return s.dead != nil && s.dead[slot>>6]&(1<<(slot&63)) != 0
}

// without returns a segment in which some more pieces are gone, all of which were there.
func (s segment) without(slots []uint16) segment {
	if len(slots) == 0 {
		return s
	}
	dead := make([]uint64, (len(s.ids)+63)/64)
	copy(dead, s.dead)
	s.dead = dead
	for _, slot := range slots {
		dead[slot>>6] |= 1 << (slot & 63)
		s.gone++
		s.words -= int64(s.lengths[slot])
	}
	return s
}

// list returns the postings of a word.
func (c *core) list(term uint64) (list, bool) {
	i, ok := slices.BinarySearch(c.terms, term)
	if !ok {
		return nil, false
	}
	return c.postings[c.starts[i]:c.starts[i+1]], true
}

// holds returns in how many pieces that are there a list's word occurs.
func (s *segment) holds(l list) int {
	count, rest := l.count()
	if s.dead == nil {
		return count
	}
	live := 0
	for slot := -1; len(rest) > 0; {
		slot, _, rest = rest.next(slot)
		if !s.isDead(slot) {
			live++
		}
	}
	return live
}

// build makes a core of items with different IDs, at most maxSegment of them.
func (x *Index) build(items []Item, t *tally) *core {
	c := newCore(len(items), x.dim)
	t.reset()
	for slot, item := range items {
		if x.Pause != nil {
			x.Pause()
		}
		c.ids = append(c.ids, item.ID)
		c.addLength(uint16(min(t.add(item.Text, uint16(slot)), maxLength)))
		c.addVector(item.Vector, x.dim)
	}
	t.into(c)
	return c
}

func newCore(size, dim int) *core {
	width := rowWidth(dim)
	return &core{
		ids: make([]ID, 0, size), lengths: make([]uint16, 0, size), width: width,
		vectors: make([]int8, 0, size*width), scales: make([]float32, 0, size),
	}
}

func (c *core) addLength(n uint16) {
	c.lengths = append(c.lengths, n)
	c.length += int64(n)
}
