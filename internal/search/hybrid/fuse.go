package hybrid

import (
	"strings"
	"unicode"
)

// The weight of words in a score.
//
// A query that shares few words with the chunks is worded differently from its answers, so meaning
// must find them. A query that shares many is about their very subject: each word adds to the word
// score, while the single vector of a long query becomes less specific. On our evaluation sets,
// queries of six words were answered best with a weight of 0.2 to 0.4 for words, those of sixteen
// with 0.6 to 0.7, whatever the embedding model. A query of a single name, however, looks for that
// name.
const (
	// halfway is the number of known words at which words and meaning have the same weight.
	halfway = 11
	// minWordWeight is the minimum weight of words, if the chunks contain all of them.
	minWordWeight = 0.25
	// minNameWeight is the same for a query without a space.
	minNameWeight = 0.45
)

// A chunk is relevant if its score, or its word score alone, reaches a threshold. With these
// thresholds no useful answer was lost on any evaluation set: answers that are worded differently
// from the query have cosines only slightly above them.
const (
	minScore     = 0.1
	minWordScore = 0.15
	// minScoreWordsOnly is for queries without a vector.
	minScoreWordsOnly = 0.03
	// longQuery is the number of words above which the threshold decreases: even the best chunk
	// contains only a few words of a text that was pasted as a whole.
	longQuery = 20
)

// balance holds the weights of words and meaning for one query.
type balance struct {
	// words and meaning are the weights; their sum is 1.
	words, meaning float32
	// maxBM25 is the upper bound of BM25. It includes the words that no chunk contains, so that a
	// few known words among many have little effect.
	maxBM25 float32
	// floor is the minimum relevant score.
	floor float32
}

// balanceOf computes the weights for a query. vector says whether it has a vector.
func balanceOf(text string, terms []term, vector bool) balance {
	known, knownMax := 0, float32(0)
	b := balance{words: 1, floor: minScoreWordsOnly}
	for _, t := range terms {
		b.maxBM25 += t.idf * (saturation + 1)
		if t.known {
			known++
			knownMax += t.idf * (saturation + 1)
		}
	}
	if vector {
		square := float32(known * known)
		least := b.share(knownMax) * minWordWeight
		if !strings.ContainsFunc(strings.TrimSpace(text), unicode.IsSpace) {
			least = b.share(knownMax) * minNameWeight
		}
		b.words = max(least, square/(square+halfway*halfway))
		b.floor = minScore
	}
	b.meaning = 1 - b.words
	b.floor *= min(1, longQuery/float32(max(1, len(terms))))
	return b
}

// share returns a BM25 score as a fraction of its upper bound, from 0 to 1.
func (b *balance) share(sum float32) float32 {
	if b.maxBM25 == 0 {
		return 0
	}
	return sum / b.maxBM25
}

// fuse combines both scores into one, from 0 to 1.
func (b *balance) fuse(words, meaning float32) float32 {
	return min(b.words*words+b.meaning*max(0, meaning), 1)
}

// relevant reports whether a chunk with such scores is relevant to the query.
func (b *balance) relevant(score, words float32) bool {
	return score >= b.floor || words >= minWordScore
}
