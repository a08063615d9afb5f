package pairs

import "remit/tools/trainembed/internal/extract"

// seen records the pairs so far.
type seen struct {
	pairs map[uint64]struct{}
	heads map[uint64]uint8
}

func newSeen() *seen { return &seen{pairs: map[uint64]struct{}{}, heads: map[uint64]uint8{}} }

const (
	// maxAlike is how often the same question may occur with different answers in all packages,
	// and in one.
	maxAlike     = 20
	maxAlikeHere = 4
	// opening is the number of words at the start of an answer that identify it within its package.
	opening = 24
)

// fresh reports whether the pair is new and its question has not occurred too often, and records
// it.
func (s *seen) fresh(pair extract.Pair) bool {
	a, b := join(words(pair.A, nil)), join(words(pair.B, nil))
	return s.note(a, join([]uint64{a, b}), maxAlike)
}

// freshHere does the same within a package, where an answer that begins like another one is not new
// either: the same documentation often exists in two formats, and the same code in two dialects.
// Dictionaries are exempt, because they say the same of many words.
func (s *seen) freshHere(pair extract.Pair) bool {
	if pair.Kind == "syn" {
		return s.fresh(pair)
	}
	answer := words(pair.B, nil)
	head := answer[:min(len(answer), opening)]
	return s.note(join(words(pair.A, nil)), join(head), maxAlikeHere)
}

func (s *seen) note(question, pair uint64, limit uint8) bool {
	if _, ok := s.pairs[pair]; ok || s.heads[question] >= limit {
		return false
	}
	s.pairs[pair] = struct{}{}
	s.heads[question]++
	return true
}
