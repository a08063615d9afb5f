package pairs

import "remit/tools/trainembed/internal/extract"

// seen knows what was given before.
type seen struct {
	pairs map[uint64]struct{}
	heads map[uint64]uint8
}

func newSeen() *seen { return &seen{pairs: map[uint64]struct{}{}, heads: map[uint64]uint8{}} }

const (
	// mostAlike is how often the same question may come with different answers in all packages, and within one.
	mostAlike     = 20
	mostAlikeHere = 4
	// opening is how many words of an answer tell it from others of its package.
	opening = 24
)

// fresh says that neither the pair was there before nor its question too often, and remembers it.
func (s *seen) fresh(pair extract.Pair) bool {
	a, b := join(words(pair.A, nil)), join(words(pair.B, nil))
	return s.note(a, join([]uint64{a, b}), mostAlike)
}

// freshHere says the same within a package, where an answer that begins like another one is not fresh either: the same
// documentation is often there in two formats, and the same code in two dialects. A dictionary says the same of many words.
func (s *seen) freshHere(pair extract.Pair) bool {
	if pair.Kind == "syn" {
		return s.fresh(pair)
	}
	answer := words(pair.B, nil)
	head := answer[:min(len(answer), opening)]
	return s.note(join(words(pair.A, nil)), join(head), mostAlikeHere)
}

func (s *seen) note(question, pair uint64, most uint8) bool {
	if _, ok := s.pairs[pair]; ok || s.heads[question] >= most {
		return false
	}
	s.pairs[pair] = struct{}{}
	s.heads[question]++
	return true
}
