package hybrid

import (
	"fmt"
	"slices"
)

// Query is what is looked for. The functions are called by the goroutine that searches, and no lock is held meanwhile; they
// may be asked about pieces that were dropped a moment ago.
type Query struct {
	Text string
	// Vector is what the text means. One that is nil, all zeros, not finite or not of the index's dimensions says nothing:
	// the pieces are ranked by their words alone.
	Vector []float32
	// Keep is the filter, which is applied first. Nil keeps all.
	Keep func(ID) bool
	// Weigh says what the score of a piece is multiplied by. Nil is 1 for all.
	Weigh func(ID) float32
	// Fine returns the vectors of the best candidates, at least 40 and four times the limit if there are so many, in their
	// order, to compare them once more and closely. A vector that is nil leaves its piece as it is, and so does a nil Fine
	// all of them.
	Fine func([]ID) ([][]float32, error)
	// Limit is how many pieces are returned at most; 0 is 10.
	Limit int
}

// Found is what a search found.
type Found struct {
	// Hits are the best pieces, the best one first.
	Hits []Hit
	// Total is how many pieces are relevant at all.
	Total int
}

// leastCandidates is how many of the best are compared closely at least.
const leastCandidates = 40

// Search returns the pieces that fit a query best. The only error is that of Query.Fine.
func (x *Index) Search(q Query) (Found, error) {
	if q.Limit <= 0 {
		q.Limit = 10
	}
	s := x.newSearch(q)
	for i := range s.view.segments {
		s.through(&s.view.segments[i])
	}
	x.scratch.Put(s.room)
	if err := s.compareClosely(); err != nil {
		return Found{}, err
	}
	hits := s.best.hits
	slices.SortFunc(hits, func(a, b Hit) int {
		if a.before(&b) {
			return -1
		}
		return 1
	})
	hits = hits[:min(len(hits), q.Limit)]
	for i := range hits {
		hits[i].Score = min(hits[i].Score, 1)
		hits[i].Meaning = min(hits[i].Meaning, 1)
	}
	return Found{Hits: hits, Total: s.total}, nil
}

// search is one search on its way.
type search struct {
	Query
	view    *view
	terms   []term
	needle  *needle
	balance balance
	average float32
	room    *room
	best    top
	total   int
}

// room is what a search needs for a segment.
type room struct {
	kept     [maxSegment]bool
	sums     [maxSegment]float32
	products [maxSegment]int32
}

func (x *Index) newSearch(q Query) *search {
	s := &search{Query: q, view: x.now.Load(), terms: questionTerms(q.Text), needle: newNeedle(q.Vector, x.dim)}
	s.terms = s.view.compounds(q.Text, s.terms)
	s.view.weigh(s.terms)
	s.balance = balanceOf(q.Text, s.terms, s.needle != nil)
	s.average = float32(s.view.words) / float32(max(1, s.view.live))
	s.best.size = min(q.Limit, s.view.live)
	if s.closely() {
		s.best.size = max(leastCandidates, 4*s.best.size)
	}
	s.room, _ = x.scratch.Get().(*room)
	if s.room == nil {
		s.room = new(room)
	}
	return s
}

// closely tells whether the best are compared once more.
func (s *search) closely() bool { return s.Fine != nil && s.needle != nil }

// through looks at all pieces of a segment.
func (s *search) through(g *segment) {
	if !s.sift(g) {
		return
	}
	sums := s.room.sums[:len(g.ids)]
	clear(sums)
	g.rate(s.terms, s.average, sums)
	s.multiply(g)
	for slot, id := range g.ids {
		if !s.room.kept[slot] {
			continue
		}
		h := Hit{ID: id, Words: s.balance.share(sums[slot])}
		if s.needle != nil {
			h.Meaning = float32(s.room.products[slot]) * g.scales[slot] * s.needle.scale
		}
		s.consider(h)
	}
}

// sift notes which pieces are there and pass the filter, and tells whether there are any.
func (s *search) sift(g *segment) bool {
	found := false
	for slot, id := range g.ids {
		kept := !g.isDead(slot) && (s.Keep == nil || s.Keep(id))
		s.room.kept[slot] = kept
		found = found || kept
	}
	return found
}

// multiply compares the vectors of the pieces that are kept: as many at once as follow each other.
func (s *search) multiply(g *segment) {
	if s.needle == nil {
		return
	}
	kept := s.room.kept[:len(g.ids)]
	for at := 0; at < len(kept); {
		if !kept[at] {
			at++
			continue
		}
		end := at + 1
		for end < len(kept) && kept[end] {
			end++
		}
		s.needle.products(g.vectors[at*g.width:end*g.width], s.room.products[at:end])
		at = end
	}
}

// consider counts a piece if it is relevant, and keeps it if it is among the best.
func (s *search) consider(h Hit) {
	h.Score = s.balance.fuse(h.Words, h.Meaning)
	if !s.balance.relevant(h.Score, h.Words) {
		return
	}
	s.total++
	s.weigh(&h)
	s.best.add(h)
}

// weigh applies what the caller says about a piece.
func (s *search) weigh(h *Hit) {
	if s.Weigh != nil {
		h.Score *= s.Weigh(h.ID)
	}
	if !(h.Score > 0) {
		h.Score = 0
	}
}

// compareClosely computes the scores of the best anew, with the vectors as they were before they were made small.
func (s *search) compareClosely() error {
	hits := s.best.hits
	if !s.closely() || len(hits) == 0 {
		return nil
	}
	ids := make([]ID, len(hits))
	for i, h := range hits {
		ids[i] = h.ID
	}
	vectors, err := s.Fine(ids)
	if err != nil {
		return fmt.Errorf("read vectors: %w", err)
	}
	for i := range min(len(hits), len(vectors)) {
		if cosine, ok := s.needle.cosine(vectors[i]); ok {
			hits[i].Meaning = cosine
			hits[i].Score = s.balance.fuse(hits[i].Words, cosine)
			s.weigh(&hits[i])
		}
	}
	return nil
}
