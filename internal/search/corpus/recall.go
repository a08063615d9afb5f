package corpus

import (
	"slices"
	"sync/atomic"
)

const (
	recalledPatterns = 8       // whose counts a shelf keeps at most
	recalledDocs     = 1 << 20 // that counts are kept for, in all shelves and for all patterns
	recalledKey      = 1 << 10 // a longer pattern is not kept
)

// tallied is how many lines of each doc of a shelf match a pattern, as far as that is known. Docs do not change, so it stays
// true; but for those that are read when they are searched, so theirs are not kept.
type tallied struct {
	key  string
	docs []slot
}

// A slot has the count of a doc, plus one; 0 if it is not known. A nil slot knows nothing and keeps nothing.
type slot struct{ atomic.Uint32 }

func (s *slot) known() (count int, ok bool) {
	if s == nil {
		return 0, false
	}
	n := s.Load()
	return int(n) - 1, n > 0
}

func (s *slot) keep(count int) {
	if s != nil {
		s.Store(uint32(count) + 1)
	}
}

// recall returns the slots of a pattern, which searches fill as they go, or nil if none are kept. A pattern that is not known
// yet gets some if they are worth it. Those of no more patterns than said are kept, the last ones.
func (s *shelf) recall(key string, patterns int, worth bool) []slot {
	s.mu.Lock()
	defer s.mu.Unlock()
	var t tallied
	if i := slices.IndexFunc(s.tallies, func(t tallied) bool { return t.key == key }); i >= 0 {
		t = s.tallies[i]
		s.tallies = slices.Delete(s.tallies, i, i+1)
	} else if worth && patterns > 0 && len(key) <= recalledKey && s.bytes > 0 {
		t = tallied{key, make([]slot, len(s.docs))}
	}
	if t.docs != nil {
		s.tallies = slices.Insert(s.tallies, 0, t)
	}
	s.tallies = slices.Delete(s.tallies, min(len(s.tallies), patterns), len(s.tallies))
	return t.docs
}

// recalled returns how many patterns the shelves of a view may keep.
func (v *view) recalled() int {
	docs := 1
	for _, p := range v.parts {
		docs += len(p.shelf.docs)
	}
	return min(recalledPatterns, recalledDocs/docs)
}
