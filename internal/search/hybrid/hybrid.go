// Package hybrid ranks pieces of text by their words and by their meaning.
package hybrid

import (
	"sync"
	"sync/atomic"
)

// ID is the caller's number of a piece. Numbers may be used again after Drop.
type ID uint32

// Item is a piece of text as the index takes it. Neither the text nor the vector is kept.
type Item struct {
	ID   ID
	Text string
	// Vector is what the text means, of any length above 0. One that is nil, all zeros, not finite or not of the index's
	// dimensions says nothing: the piece is ranked by its words alone.
	Vector []float32
}

// Index holds pieces and finds them. All methods are safe for concurrent use, and a Search waits for nobody: it sees the
// index as it was at one moment, while others put and drop.
type Index struct {
	// Pause is called between one piece and the next by those who put them, to let others go first; nil for nobody. It is
	// set before anything else is done.
	Pause func()

	dim     int
	now     atomic.Pointer[view]
	scratch sync.Pool // of *room
	tallies sync.Pool // of *tally

	// writing is held by who changes the index, and guards where.
	writing sync.Mutex
	where   map[ID]place
}

// view is the index at one moment. It never changes.
type view struct {
	segments []segment
	// live is how many pieces there are, and words how many words they have.
	live  int
	words int64
}

// place is where a piece is kept.
type place struct {
	in   *core
	slot uint16
}

// batch is how many pieces become visible at once, at most, when many are put.
const batch = maxSegment

// New returns an empty index of vectors with so many dimensions.
func New(dim int) *Index {
	x := &Index{dim: dim, where: map[ID]place{}}
	x.now.Store(&view{})
	return x
}

// Len returns how many pieces there are.
func (x *Index) Len() int { return x.now.Load().live }

// Put adds pieces, each in the place of the one with the same ID. Of two items with one ID the later one stays.
func (x *Index) Put(items []Item) {
	t, _ := x.tallies.Get().(*tally)
	if t == nil {
		t = newTally()
	}
	for len(items) > 0 {
		n := min(batch, len(items))
		x.put(x.build(lastOfEach(items[:n]), t))
		items = items[n:]
	}
	x.tallies.Put(t)
}

func (x *Index) put(c *core) {
	x.writing.Lock()
	defer x.writing.Unlock()
	segments := x.without(c.ids)
	x.settle(c)
	x.publish(tidy(append(segments, whole(c)), x.settle))
}

// Drop removes pieces. Those that are not there are left alone.
func (x *Index) Drop(ids []ID) {
	x.writing.Lock()
	defer x.writing.Unlock()
	x.publish(tidy(x.without(ids), x.settle))
}

// without returns the present segments with some pieces marked as gone.
func (x *Index) without(ids []ID) []segment {
	gone := map[*core][]uint16{}
	for _, id := range ids {
		if at, ok := x.where[id]; ok {
			gone[at.in] = append(gone[at.in], at.slot)
			delete(x.where, id)
		}
	}
	var segments []segment
	for _, s := range x.now.Load().segments {
		segments = append(segments, s.without(gone[s.core]))
	}
	return segments
}

// settle notes where the pieces of a core are.
func (x *Index) settle(c *core) {
	for slot, id := range c.ids {
		x.where[id] = place{in: c, slot: uint16(slot)}
	}
}

func (x *Index) publish(segments []segment) {
	v := &view{segments: segments}
	for _, s := range segments {
		v.live += s.live()
		v.words += s.words
	}
	x.now.Store(v)
}

// lastOfEach leaves out items whose ID comes again.
func lastOfEach(items []Item) []Item {
	last := make(map[ID]int, len(items))
	for i, item := range items {
		last[item.ID] = i
	}
	if len(last) == len(items) {
		return items
	}
	kept := make([]Item, 0, len(last))
	for i, item := range items {
		if last[item.ID] == i {
			kept = append(kept, item)
		}
	}
	return kept
}
