package corpus

import (
	varint "encoding/binary"
	"math/bits"
	"slices"
	"strings"

	"remit/internal/search/text"
)

// trigrams is an index that finds the texts that may contain a literal: those that have all of its
// runs of three bytes. It maps bytes to 64 classes and ignores the case of letters, so there are
// 2^18 trigrams. Each has a list of the texts that contain it: ascending text numbers, encoded as
// varints of the differences.
type trigrams struct {
	memory    *arena
	starts    []uint32 // start of each list in lists, and the end of the last one
	common    []uint32 // one bit per trigram that is in most texts and has no list
	lists     []byte
	covered   int      // texts with lower numbers are indexed
	foldTexts []uint32 // texts with non-ASCII letters that match k or s if case is ignored
	always    []uint32 // texts that are not indexed and always match
}

const (
	classBits    = 6
	trigramCount = 1 << (3 * classBits)
	trigramMask  = trigramCount - 1
	trigramTable = 4*(trigramCount+1) + trigramCount/8 // bytes of starts and common
)

// A classTable holds the class of each byte.
type classTable [256]uint8

// newClassTable gives letters, digits and the punctuation that is common in source a class of their
// own. It spreads the bytes of non-ASCII characters over all classes, so that texts in other
// scripts are distinguished too.
func newClassTable() *classTable {
	const alone = "abcdefghijklmnopqrstuvwxyz0123456789 _.,()=\"/\t:;*-{}[]&'<>+#!|$"
	var t classTable
	for c := range t {
		t[c] = uint8(c) & (1<<classBits - 1)
	}
	for c := range 128 {
		t[c] = 1<<classBits - 1
	}
	for i, c := range []byte(alone) {
		t[c] = uint8(i)
	}
	for c := 'A'; c <= 'Z'; c++ {
		t[c] = t[c|0x20]
	}
	return &t
}

// of returns the distinct trigrams of a literal.
func (t *classTable) of(literal string) []uint32 {
	var all []uint32
	gram := uint32(0)
	for i := range len(literal) {
		gram = gram<<classBits&trigramMask | uint32(t[literal[i]])
		if i >= 2 && !slices.Contains(all, gram) {
			all = append(all, gram)
		}
	}
	return all
}

// A trigramQuery describes the texts that may match a pattern: every matching text has all trigrams
// of at least one alternative.
type trigramQuery struct {
	alternatives [][]uint32
	foldTexts    bool // texts in trigrams.foldTexts may match whatever their trigrams are
}

// newTrigramQuery returns nil if trigrams cannot narrow the search.
func newTrigramQuery(classes *classTable, needs []text.Literal) *trigramQuery {
	if len(needs) == 0 {
		return nil
	}
	d := &trigramQuery{}
	for _, l := range needs {
		grams := classes.of(l.Text)
		if len(grams) == 0 {
			return nil
		}
		d.alternatives = append(d.alternatives, grams)
		d.foldTexts = d.foldTexts || l.Fold && strings.ContainsAny(l.Text, "ks")
	}
	return d
}

// candidates returns the numbers of indexed texts that may match, ascending. It returns false if
// there are so many that the index is of no use.
func (x *trigrams) candidates(d *trigramQuery) ([]uint32, bool) {
	var all []uint32
	for _, grams := range d.alternatives {
		some, ok := x.withAll(grams)
		if !ok {
			return nil, false
		}
		all = union(all, some)
	}
	if d.foldTexts {
		all = union(all, x.foldTexts)
	}
	all = union(all, x.always)
	return all, len(all) <= x.covered/4*3
}

// withAll returns the texts that have all of these trigrams. It returns false if all of the
// trigrams are common.
func (x *trigrams) withAll(grams []uint32) ([]uint32, bool) {
	const worth = 256 // read up to this many bytes of a list to exclude one text
	var rare []uint32
	for _, g := range grams {
		if x.common[g/32]>>(g%32)&1 == 0 {
			rare = append(rare, g)
		}
	}
	if len(rare) == 0 {
		return nil, false
	}
	slices.SortFunc(rare, func(a, b uint32) int { return len(x.list(a)) - len(x.list(b)) })
	some := numbersOf(x.list(rare[0]))
	for _, g := range rare[1:] {
		list := x.list(g)
		if len(list) > len(some)*worth {
			break
		}
		some = intersect(some, list)
	}
	return some, true
}

func (x *trigrams) list(gram uint32) []byte { return x.lists[x.starts[gram]:x.starts[gram+1]] }

// numbersOf decodes a list.
func numbersOf(list []byte) []uint32 {
	all := make([]uint32, 0, len(list))
	at := ^uint32(0) // so that the first difference leads to text 0 or later
	for len(list) > 0 {
		var distance uint32
		distance, list = cutNumber(list)
		at += distance
		all = append(all, at)
	}
	return all
}

// intersect returns the numbers in some that are also in the list. It overwrites some.
func intersect(some []uint32, list []byte) []uint32 {
	kept := some[:0]
	at := ^uint32(0)
	for len(list) > 0 && len(some) > 0 {
		distance := uint32(list[0])
		if distance < 0x80 { // most are; a call for each would take half as long again
			list = list[1:]
		} else {
			distance, list = cutNumber(list)
		}
		at += distance
		for len(some) > 0 && some[0] < at {
			some = some[1:]
		}
		if len(some) > 0 && some[0] == at {
			kept = append(kept, at)
			some = some[1:]
		}
	}
	return kept
}

// union merges two ascending lists.
func union(a, b []uint32) []uint32 {
	if len(a) == 0 {
		return b
	}
	if len(b) == 0 {
		return a
	}
	both := make([]uint32, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] < b[0]:
			both, a = append(both, a[0]), a[1:]
		case a[0] > b[0]:
			both, b = append(both, b[0]), b[1:]
		default:
			both, a, b = append(both, a[0]), a[1:], b[1:]
		}
	}
	return append(append(both, a...), b...)
}

// sizeOf returns the encoded size of a number.
func sizeOf(n uint32) uint32 { return uint32(bits.Len32(n|1)+6) / 7 }

// cutNumber decodes the first number of a list.
func cutNumber(list []byte) (n uint32, rest []byte) {
	if n = uint32(list[0]); n < 0x80 {
		return n, list[1:]
	}
	long, size := varint.Uvarint(list)
	return uint32(long), list[size:]
}
