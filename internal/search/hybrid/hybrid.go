// Package hybrid ranks chunks of text by their words (BM25) and by their meaning (vectors). It
// stores neither the texts nor the exact vectors, and computes no embeddings.
package hybrid

import (
	"sync"
	"sync/atomic"
)

// ID is the caller's number of a chunk. Numbers may be reused after Drop.
type ID uint32

// Item is a chunk of text to index. The index keeps neither the text nor the vector.
type Item struct {
	ID   ID
	Text string
	// Vector is the embedding of the text, of any length above 0. A vector that is nil, all zeros,
	// not finite or not of the index's dimensions is ignored: the chunk is ranked by its words
	// alone.
	Vector []float32
}

// Index stores chunks and searches them. All methods are safe for concurrent use. Search never
// blocks: it sees a snapshot of the index while others call Put and Drop.
type Index struct {
	// Pause is called by Put before each chunk, to let more urgent work go first. It may be nil,
	// and must be set before any other use.
	Pause func()

	dim      int
	now      atomic.Pointer[view]
	scratch  sync.Pool // of *room
	counters sync.Pool // of *tally

	// writing serializes changes of the index, and guards where.
	writing sync.Mutex
	where   map[ID]place
}

// view is an immutable snapshot of the index.
type view struct {
	segments []segment
	// live is the number of chunks, and words the number of words in them.
	live  int
	words int64
}

// place is where a chunk is stored.
type place struct {
	in   *core
	slot uint16
}

// batch is the maximum number of chunks that become visible at once in a large Put.
const batch = maxSegment

// New returns an empty index of vectors with dim dimensions.
func New(dim int) *Index {
	x := &Index{dim: dim, where: map[ID]place{}}
	x.now.Store(&view{})
	return x
}

// Len returns the number of chunks.
func (x *Index) Len() int { return x.now.Load().live }

// Put adds chunks. A chunk replaces an earlier one with the same ID. Of two items with the same ID
// the later one wins.
func (x *Index) Put(items []Item) {
	t, _ := x.counters.Get().(*termCounter)
	if t == nil {
		t = newTermCounter()
	}
	for len(items) > 0 {
		n := min(batch, len(items))
		x.put(x.build(lastOfEach(items[:n]), t))
		items = items[n:]
	}
	x.counters.Put(t)
}

func (x *Index) put(c *core) {
	x.writing.Lock()
	defer x.writing.Unlock()
	segments := x.without(c.ids)
	x.recordPlaces(c)
	x.publish(compact(append(segments, whole(c)), x.recordPlaces))
}

// Drop removes chunks. It ignores unknown IDs.
func (x *Index) Drop(ids []ID) {
	x.writing.Lock()
	defer x.writing.Unlock()
	x.publish(compact(x.without(ids), x.recordPlaces))
}

// without returns the current segments with some chunks marked as deleted.
func (x *Index) without(ids []ID) []segment {
	deleted := map[*core][]uint16{}
	for _, id := range ids {
		if at, ok := x.where[id]; ok {
			deleted[at.in] = append(deleted[at.in], at.slot)
			delete(x.where, id)
		}
	}
	var segments []segment
	for _, s := range x.now.Load().segments {
		segments = append(segments, s.without(deleted[s.core]))
	}
	return segments
}

// recordPlaces records where the chunks of a core are.
func (x *Index) recordPlaces(c *core) {
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

// lastOfEach removes items whose ID occurs again later.
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
