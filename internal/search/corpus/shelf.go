package corpus

import (
	"math/bits"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"remit/internal/search/glob"
	"remit/internal/search/tree"
)

// A doc is a file, and its text if that is kept in memory.
type doc struct {
	file   *tree.File
	base   *byte  // where its text begins, in the arena; nil if it is not in memory
	arena  *arena // that the text is in
	length uint32 // of the text
	serial uint32 // tells what was read of a file from what was read of it later
	kind   kind
}

// text is what is searched of a doc that is in memory; nil if it is not.
func (d *doc) text() []byte {
	if d.base == nil {
		return nil
	}
	return unsafe.Slice(d.base, int(d.length))
}

// far tells that the text must be read from the disk whenever it is searched.
func (d *doc) far() bool { return d.base == nil && d.length > 0 || d.kind == unread }

// searchable tells whether the doc is, or may be, a text with something in it.
func (d *doc) searchable() bool { return d.kind == textual && d.length > 0 || d.kind == unread }

// find returns where the doc of a path is among sorted docs, or would be.
func find(docs []doc, path string) (int, bool) {
	return slices.BinarySearchFunc(docs, path, func(d doc, path string) int { return strings.Compare(d.file.Path, path) })
}

// A bitset has a bit for each doc of a shelf. nil has none set.
type bitset []uint64

func newBitset(size int) bitset { return make(bitset, (size+63)/64) }

func (b bitset) has(i int) bool { return b != nil && i >= 0 && b[i/64]>>(i%64)&1 != 0 }

func (b bitset) add(i int) { b[i/64] |= 1 << (i % 64) }

func (b bitset) count() (n int) {
	for _, w := range b {
		n += bits.OnesCount64(w)
	}
	return n
}

// each calls found for every bit that is set.
func (b bitset) each(found func(i int)) {
	for n, w := range b {
		for ; w != 0; w &= w - 1 {
			found(64*n + bits.TrailingZeros64(w))
		}
	}
}

// A shelf is docs in the order of their paths. It never changes.
type shelf struct {
	docs   []doc
	texts  int   // how many are known to be texts
	unread int   // how many nobody has looked at
	bytes  int64 // of texts in memory
	tended bool  // its docs are in memory, and have trigrams, as far as there is room

	mu      sync.Mutex
	globs   []chosen  // what was asked for lately, the last one first
	tallies []tallied // of patterns that were searched for lately, the last one first
	names   []uint32  // docs by the last element of their path; made when it is first asked for
}

// chosen is the docs that a glob matches.
type chosen struct {
	glob  string
	docs  bitset
	texts int // how many of them are known to be texts
}

func newShelf(docs []doc) *shelf {
	s := &shelf{docs: docs}
	for i := range docs {
		switch docs[i].kind {
		case unread:
			s.unread++
		case textual:
			s.texts++
		}
		if docs[i].base != nil {
			s.bytes += int64(docs[i].length)
		}
	}
	return s
}

// choose returns the docs that a glob matches. The answers to the last few are remembered.
func (s *shelf) choose(only *glob.Pattern) chosen {
	const remembered = 8
	s.mu.Lock()
	defer s.mu.Unlock()
	name := only.String()
	if i := slices.IndexFunc(s.globs, func(c chosen) bool { return c.glob == name }); i >= 0 {
		c := s.globs[i]
		copy(s.globs[1:], s.globs[:i])
		s.globs[0] = c
		return c
	}
	c := chosen{glob: name, docs: newBitset(len(s.docs))}
	for i := range s.docs {
		if only.Match(s.docs[i].file.Path) {
			c.docs.add(i)
			if s.docs[i].kind == textual {
				c.texts++
			}
		}
	}
	s.globs = slices.Insert(s.globs, 0, c)
	s.globs = s.globs[:min(len(s.globs), remembered)]
	return c
}

// named calls found for every doc whose path ends with this name.
func (s *shelf) named(name string, found func(i int)) {
	names := s.byName()
	i, _ := slices.BinarySearchFunc(names, name, func(i uint32, name string) int {
		return strings.Compare(lastElement(s.docs[i].file.Path), name)
	})
	for ; i < len(names) && lastElement(s.docs[names[i]].file.Path) == name; i++ {
		found(int(names[i]))
	}
}

func (s *shelf) byName() []uint32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.names == nil {
		s.names = make([]uint32, len(s.docs))
		for i := range s.names {
			s.names[i] = uint32(i)
		}
		slices.SortStableFunc(s.names, func(a, b uint32) int {
			return strings.Compare(lastElement(s.docs[a].file.Path), lastElement(s.docs[b].file.Path))
		})
	}
	return s.names
}

func lastElement(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

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
