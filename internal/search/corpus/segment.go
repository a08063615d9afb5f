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

// A doc is a file, with its text if that is kept in memory.
type doc struct {
	file   *tree.File
	base   *byte  // start of its text in the arena; nil if it is not in memory
	arena  *arena // the arena of the text
	length uint32 // length of the text
	serial uint32 // distinguishes reads of the same file; later reads have greater numbers
	kind   kind
}

// text returns the searchable text of a doc, or nil if it is not in memory.
func (d *doc) text() []byte {
	if d.base == nil {
		return nil
	}
	return unsafe.Slice(d.base, int(d.length))
}

// onDisk reports whether the text must be read from disk for each search.
func (d *doc) onDisk() bool { return d.base == nil && d.length > 0 || d.kind == unread }

// searchable reports whether the doc is, or may be, a text that is not empty.
func (d *doc) searchable() bool { return d.kind == textual && d.length > 0 || d.kind == unread }

// find returns the index at which the doc of a path is, or would be, among sorted docs.
func find(docs []doc, path string) (int, bool) {
	return slices.BinarySearchFunc(docs, path, func(d doc, path string) int { return strings.Compare(d.file.Path, path) })
}

// A bitset has one bit per doc of a segment. A nil bitset is empty.
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

// each calls found for every set bit.
func (b bitset) each(found func(i int)) {
	for n, w := range b {
		for ; w != 0; w &= w - 1 {
			found(64*n + bits.TrailingZeros64(w))
		}
	}
}

// A segment is an immutable list of docs in the order of their paths.
type segment struct {
	docs       []doc
	texts      int   // number of docs known to be texts
	unread     int   // number of docs that were never read
	bytes      int64 // size of the texts in memory
	maintained bool  // its docs are in memory and have trigrams, as far as the budget allows

	mu     sync.Mutex
	globs  []globMatches   // recently used globs, the latest first
	counts []patternCounts // counts of recently searched patterns, the latest first
	names  []uint32        // docs sorted by the last element of their path; built on first use
}

// globMatches holds the docs that match a glob.
type globMatches struct {
	glob  string
	docs  bitset
	texts int // number of those known to be texts
}

func newSegment(docs []doc) *segment {
	s := &segment{docs: docs}
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

// matchGlob returns the docs that match a glob. It caches the results of the last few globs.
func (s *segment) matchGlob(only *glob.Pattern) globMatches {
	const remembered = 8
	s.mu.Lock()
	defer s.mu.Unlock()
	name := only.String()
	if i := slices.IndexFunc(s.globs, func(c globMatches) bool { return c.glob == name }); i >= 0 {
		c := s.globs[i]
		copy(s.globs[1:], s.globs[:i])
		s.globs[0] = c
		return c
	}
	c := globMatches{glob: name, docs: newBitset(len(s.docs))}
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

// named calls found for every doc whose last path element is name.
func (s *segment) named(name string, found func(i int)) {
	names := s.byName()
	i, _ := slices.BinarySearchFunc(names, name, func(i uint32, name string) int {
		return strings.Compare(lastElement(s.docs[i].file.Path), name)
	})
	for ; i < len(names) && lastElement(s.docs[names[i]].file.Path) == name; i++ {
		found(int(names[i]))
	}
}

func (s *segment) byName() []uint32 {
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
	maxCountedPatterns = 8 // maximum number of patterns whose counts a segment caches
	// Maximum number of cached counts in all segments, for all patterns.
	maxCounts     = 1 << 20
	maxCountedKey = 1 << 10 // longer patterns are not cached
)

// patternCounts caches how many lines of each doc of a segment match a pattern. Docs do not change,
// so counts stay valid. Docs on disk are read anew by each search, so their counts are not cached.
type patternCounts struct {
	key  string
	docs []slot
}

// A slot holds the count of a doc plus one, or 0 if it is not known. A nil slot stores nothing.
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

// countSlots returns the slots of a pattern, which searches fill as they go, or nil if there are
// none. It creates slots for a new pattern if worth is set. It keeps those of the latest patterns
// only, at most as many as patterns says.
func (s *segment) countSlots(key string, patterns int, worth bool) []slot {
	s.mu.Lock()
	defer s.mu.Unlock()
	var t patternCounts
	if i := slices.IndexFunc(s.counts, func(t patternCounts) bool { return t.key == key }); i >= 0 {
		t = s.counts[i]
		s.counts = slices.Delete(s.counts, i, i+1)
	} else if worth && patterns > 0 && len(key) <= maxCountedKey && s.bytes > 0 {
		t = patternCounts{key, make([]slot, len(s.docs))}
	}
	if t.docs != nil {
		s.counts = slices.Insert(s.counts, 0, t)
	}
	s.counts = slices.Delete(s.counts, min(len(s.counts), patterns), len(s.counts))
	return t.docs
}

// maxPatterns returns how many patterns the segments of a view may cache.
func (v *view) maxPatterns() int {
	docs := 1
	for _, p := range v.parts {
		docs += len(p.segment.docs)
	}
	return min(maxCountedPatterns, maxCounts/docs)
}
