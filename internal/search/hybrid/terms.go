package hybrid

import (
	"math"

	"remit/internal/search/tokenize"
)

// The parameters of BM25: how quickly repetitions of a word lose effect (k1), and how much a long
// text lowers a score (b).
const (
	saturation   = 1.2
	lengthWeight = 0.75
)

// maxTerms is the maximum number of distinct words of a query.
const maxTerms = 512

// term is a word of a query.
type term struct {
	hash uint64
	// idf is the inverse document frequency of the word.
	idf float32
	// known reports whether any chunk contains it.
	known bool
	// word is the word as written; empty for a part of a compound.
	word string
}

// queryTerms returns the distinct words of a query, in order.
func queryTerms(text string) []term {
	var terms []term
	seen := map[uint64]bool{}
	for word := range tokenize.All(text) {
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

// weigh computes the inverse document frequency of each term in a view.
func (v *view) weigh(terms []term) {
	for i := range terms {
		holders := 0
		for _, s := range v.segments {
			if l, ok := s.list(terms[i].hash); ok {
				holders += s.liveCount(l)
			}
		}
		terms[i].known = holders > 0
		terms[i].idf = inverseFrequency(holders, v.live)
	}
}

// inverseFrequency returns the inverse document frequency of a word that occurs in holders of all
// chunks.
func inverseFrequency(holders, all int) float32 {
	return float32(math.Log1p((float64(all-holders) + 0.5) / (float64(holders) + 0.5)))
}

// addBM25 adds the BM25 scores of a segment's chunks to sums.
func (s *segment) addBM25(terms []term, average float32, sums []float32) {
	for _, t := range terms {
		l, ok := s.list(t.hash)
		if !ok {
			continue
		}
		_, rest := l.count()
		for slot := -1; len(rest) > 0; {
			var times int
			slot, times, rest = rest.next(slot, len(sums))
			n := float32(times)
			size := 1 - lengthWeight + lengthWeight*float32(s.lengths[slot])/average
			sums[slot] += t.idf * n * (saturation + 1) / (n + saturation*size)
		}
	}
}
