package hybrid

import (
	"fmt"
	"slices"
)

// Query describes a search. Its functions are called by the goroutine that searches, without any
// lock held. They may be called for chunks that were dropped a moment ago.
type Query struct {
	Text string
	// Vector is the embedding of the text. A vector that is nil, all zeros, not finite or not of
	// the index's dimensions is ignored: the chunks are ranked by their words alone.
	Vector []float32
	// Filter is a filter that is applied first. Nil keeps all chunks.
	Filter func(ID) bool
	// Boost returns the factor by which the score of a chunk is multiplied. Nil means 1 for all.
	Boost func(ID) float32
	// ExactVectors returns the exact vectors of the best candidates, in their order, for rescoring.
	// It is called with at least 40 candidates, or four times the limit if that is more, as far as
	// there are that many. A nil vector leaves the score of its chunk unchanged, and a nil
	// ExactVectors leaves all scores unchanged.
	ExactVectors func([]ID) ([][]float32, error)
	// Limit is the maximum number of hits; 0 means 10.
	Limit int
}

// Results is the result of a search.
type Results struct {
	// Hits are the best chunks, the best first.
	Hits []Hit
	// Total is the number of relevant chunks.
	Total int
}

// minCandidates is the minimum number of candidates that are rescored.
const minCandidates = 40

// Search returns the chunks that match a query best. It returns an error only if Query.ExactVectors
// does.
func (x *Index) Search(q Query) (Results, error) {
	if q.Limit <= 0 {
		q.Limit = 10
	}
	s := x.newSearch(q)
	for i := range s.view.segments {
		s.scoreSegment(&s.view.segments[i])
	}
	x.scratch.Put(s.buffers)
	if err := s.rescore(); err != nil {
		return Results{}, err
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
		hits[i].Cosine = min(hits[i].Cosine, 1)
	}
	return Results{Hits: hits, Total: s.total}, nil
}

// search is the state of one search.
type search struct {
	Query
	view        *view
	terms       []term
	queryVector *queryVector
	balance     balance
	average     float32
	buffers     *buffers
	best        top
	total       int
}

// buffers is the memory that a search needs for a segment.
type buffers struct {
	kept     [maxSegment]bool
	sums     [maxSegment]float32
	products [maxSegment]int32
}

func (x *Index) newSearch(q Query) *search {
	s := &search{Query: q, view: x.now.Load(), terms: queryTerms(q.Text), queryVector: newQueryVector(q.Vector, x.dim)}
	s.terms = s.view.compounds(q.Text, s.terms)
	s.view.weigh(s.terms)
	s.balance = balanceOf(q.Text, s.terms, s.queryVector != nil)
	s.average = float32(s.view.words) / float32(max(1, s.view.live))
	s.best.size = min(q.Limit, s.view.live)
	if s.rescores() {
		s.best.size = max(minCandidates, 4*s.best.size)
	}
	s.buffers, _ = x.scratch.Get().(*buffers)
	if s.buffers == nil {
		s.buffers = new(buffers)
	}
	return s
}

// rescores reports whether the best hits are rescored with exact vectors.
func (s *search) rescores() bool { return s.ExactVectors != nil && s.queryVector != nil }

// scoreSegment scores all chunks of a segment.
func (s *search) scoreSegment(g *segment) {
	if !s.filter(g) {
		return
	}
	sums := s.buffers.sums[:len(g.ids)]
	clear(sums)
	g.addBM25(s.terms, s.average, sums)
	s.multiply(g)
	for slot, id := range g.ids {
		if !s.buffers.kept[slot] {
			continue
		}
		h := Hit{ID: id, WordScore: s.balance.share(sums[slot])}
		if s.queryVector != nil {
			h.Cosine = float32(s.buffers.products[slot]) * g.scales[slot] * s.queryVector.scale
		}
		s.consider(h)
	}
}

// filter marks the live chunks that pass the filter, and reports whether there are any.
func (s *search) filter(g *segment) bool {
	found := false
	for slot, id := range g.ids {
		kept := !g.isDead(slot) && (s.Filter == nil || s.Filter(id))
		s.buffers.kept[slot] = kept
		found = found || kept
	}
	return found
}

// multiply computes the dot products of the chunks that are kept, in runs of consecutive chunks.
func (s *search) multiply(g *segment) {
	if s.queryVector == nil {
		return
	}
	kept := s.buffers.kept[:len(g.ids)]
	for at := 0; at < len(kept); {
		if !kept[at] {
			at++
			continue
		}
		end := at + 1
		for end < len(kept) && kept[end] {
			end++
		}
		s.queryVector.products(g.vectors[at*g.width:end*g.width], s.buffers.products[at:end])
		at = end
	}
}

// consider counts a chunk if it is relevant, and keeps it if it is among the best.
func (s *search) consider(h Hit) {
	h.Score = s.balance.fuse(h.WordScore, h.Cosine)
	if !s.balance.relevant(h.Score, h.WordScore) {
		return
	}
	s.total++
	s.weigh(&h)
	s.best.add(h)
}

// weigh applies the caller's factor to a hit.
func (s *search) weigh(h *Hit) {
	if s.Boost != nil {
		h.Score *= s.Boost(h.ID)
	}
	if !(h.Score > 0) {
		h.Score = 0
	}
}

// rescore computes the scores of the best hits again, with the exact vectors instead of the
// quantized ones.
func (s *search) rescore() error {
	hits := s.best.hits
	if !s.rescores() || len(hits) == 0 {
		return nil
	}
	ids := make([]ID, len(hits))
	for i, h := range hits {
		ids[i] = h.ID
	}
	vectors, err := s.ExactVectors(ids)
	if err != nil {
		return fmt.Errorf("read vectors: %w", err)
	}
	for i := range min(len(hits), len(vectors)) {
		if cosine, ok := s.queryVector.cosine(vectors[i]); ok {
			hits[i].Cosine = cosine
			hits[i].Score = s.balance.fuse(hits[i].WordScore, cosine)
			s.weigh(&hits[i])
		}
	}
	return nil
}
