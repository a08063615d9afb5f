package hybrid

import (
	"strings"
	"unicode"
)

// How much of a score the words have.
//
// A question that shares few words with the pieces is worded unlike its answers, and the meaning must find them. One that
// shares many is about their very subject: each word adds to what the words tell, while the one vector of a long question
// blurs. On sets of questions, those of six words were answered best with 0.2 to 0.4 for the words, those of sixteen with
// 0.6 to 0.7, whatever the table of vectors. Who asks with a single name, though, looks for that name.
const (
	// halfway is how many known words it takes until they count as much as the meaning.
	halfway = 11
	// fewWords is what words have at least, if the pieces know all of them.
	fewWords = 0.25
	// oneName is what they have in a question without a space.
	oneName = 0.45
)

// A piece is relevant if its score, or what its words give alone, comes up to a floor. The floors are where no answer that
// is worth something was lost on any set: those worded unlike the question have cosines of hardly more.
const (
	leastScore = 0.1
	leastWords = 0.15
	// leastAlone is for questions whose meaning is not known.
	leastAlone = 0.03
	// longQuestion is how many words a question has before the floors sink: of a text that was pasted whole, even the best
	// piece has but a few.
	longQuestion = 20
)

// balance says how much words and meaning count for one question.
type balance struct {
	// words and meaning are the shares of both, 1 in all.
	words, meaning float32
	// most is what BM25 cannot exceed: the words that no piece has count too, so that a few of many known ones say little.
	most float32
	// floor is the least score that is relevant.
	floor float32
}

// balanceOf weighs words against meaning for a question; vector tells whether there is a meaning.
func balanceOf(text string, terms []term, vector bool) balance {
	known, told := 0, float32(0)
	b := balance{words: 1, floor: leastAlone}
	for _, t := range terms {
		b.most += t.idf * (saturation + 1)
		if t.known {
			known++
			told += t.idf * (saturation + 1)
		}
	}
	if vector {
		square := float32(known * known)
		least := b.share(told) * fewWords
		if !strings.ContainsFunc(strings.TrimSpace(text), unicode.IsSpace) {
			least = b.share(told) * oneName
		}
		b.words = max(least, square/(square+halfway*halfway))
		b.floor = leastScore
	}
	b.meaning = 1 - b.words
	b.floor *= min(1, longQuestion/float32(max(1, len(terms))))
	return b
}

// share returns how much of all that BM25 could give it does give, from 0 to 1.
func (b *balance) share(sum float32) float32 {
	if b.most == 0 {
		return 0
	}
	return sum / b.most
}

// fuse makes one score of both, from 0 to 1.
func (b *balance) fuse(words, meaning float32) float32 {
	return min(b.words*words+b.meaning*max(0, meaning), 1)
}

// relevant tells whether a piece with such a score has anything to do with the question.
func (b *balance) relevant(score, words float32) bool {
	return score >= b.floor || words >= leastWords
}
