package hybrid

import (
	"math"

	"remit/internal/search/tokenize"
)

// The parameters of BM25: how soon more of one word counts no more, and how much a long text is held against a piece.
const (
	saturation = 1.2
	byLength   = 0.75
)

// maxTerms is how many different words of a question count.
const maxTerms = 512

// term is a word of a question.
type term struct {
	hash uint64
	// idf is how much the word says: more, the fewer pieces have it.
	idf float32
	// known tells whether any piece has it.
	known bool
	// word is how it is written; empty if it is only a part of how it was.
	word string
}

// questionTerms returns the different words of a question, in order.
func questionTerms(text string) []term {
	var terms []term
	seen := map[uint64]bool{}
	for word := range tokenize.In(text) {
		h := hash(tokenize.Stem(word))
		if seen[h] {
			continue
		}
		seen[h] = true
		if terms = append(terms, term{hash: h, word: string(word)}); len(terms) == maxTerms {
			break
		}
	}
	return terms
}

// weigh finds out how much each word says among the pieces of a view.
func (v *view) weigh(terms []term) {
	for i := range terms {
		holders := 0
		for _, s := range v.segments {
			if l, ok := s.list(terms[i].hash); ok {
				holders += s.holds(l)
			}
		}
		terms[i].known = holders > 0
		terms[i].idf = inverse(holders, v.live)
	}
}

// inverse is the inverse document frequency of a word that some of all pieces have.
func inverse(holders, all int) float32 {
	return float32(math.Log1p((float64(all-holders) + 0.5) / (float64(holders) + 0.5)))
}

// rate adds up BM25 for the pieces of a segment. The sums are 0 before.
func (s *segment) rate(terms []term, average float32, sums []float32) {
	for _, t := range terms {
		l, ok := s.list(t.hash)
		if !ok {
			continue
		}
		_, rest := l.count()
		for slot := -1; len(rest) > 0; {
			var times int
			slot, times, rest = rest.next(slot)
			n := float32(times)
			size := 1 - byLength + byLength*float32(s.lengths[slot])/average
			sums[slot] += t.idf * n * (saturation + 1) / (n + saturation*size)
		}
	}
}
