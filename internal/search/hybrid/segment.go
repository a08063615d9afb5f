package hybrid

import "slices"

// maxSegment is the maximum number of chunks in a segment. It bounds the time and memory of a
// merge.
const maxSegment = 8192

// core holds chunks as they were added. It is immutable.
type core struct {
	ids     []ID
	lengths []uint16
	length  int64

	// terms holds the sorted hashes of all words. The postings of term i are at
	// starts[i]:starts[i+1]. Only hashes are stored, so that nothing remains of words whose chunks
	// are dropped.
	terms    []uint64
	starts   []uint32
	postings []byte

	// vectors has a row of width bytes for each chunk. A row times its scale is the vector,
	// normalized to length 1. A chunk without a vector has a scale of 0.
	width   int
	vectors []int8
	scales  []float32
}

// segment is a core without the chunks that were deleted since.
type segment struct {
	*core
	// dead has a bit for each deleted chunk; nil if there are none.
	dead    []uint64
	deleted int
	words   int64
}

func whole(c *core) segment { return segment{core: c, words: c.length} }

func (s *segment) live() int { return len(s.ids) - s.deleted }

func (s *segment) isDead(slot int) bool {
	return s.dead != nil && s.dead[slot>>6]&(1<<(slot&63)) != 0
}

// without returns a segment in which more chunks are deleted. All of them must be live.
func (s segment) without(slots []uint16) segment {
	if len(slots) == 0 {
		return s
	}
	dead := make([]uint64, (len(s.ids)+63)/64)
	copy(dead, s.dead)
	s.dead = dead
	for _, slot := range slots {
		dead[slot>>6] |= 1 << (slot & 63)
		s.deleted++
		s.words -= int64(s.lengths[slot])
	}
	return s
}

// list returns the postings of a term.
func (c *core) list(term uint64) (list, bool) {
	i, ok := slices.BinarySearch(c.terms, term)
	if !ok {
		return nil, false
	}
	return c.postings[c.starts[i]:c.starts[i+1]], true
}

// liveCount returns the number of live chunks in a list.
func (s *segment) liveCount(l list) int {
	count, rest := l.count()
	if s.dead == nil {
		return count
	}
	live := 0
	for slot := -1; len(rest) > 0; {
		slot, _, rest = rest.next(slot, len(s.ids))
		if !s.isDead(slot) {
			live++
		}
	}
	return live
}

// build builds a core of at most maxSegment items with different IDs.
func (x *Index) build(items []Item, t *termCounter) *core {
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
