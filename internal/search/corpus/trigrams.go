package corpus

import (
	varint "encoding/binary"
	"math/bits"
	"slices"
	"strings"

	"remit/internal/search/text"
)

// Trigrams tell which texts may contain a literal: those that have all of its runs of three bytes. Bytes are put into 64
// classes, in which letters have no case, so that there are 2^18 trigrams, each with a list of the texts that have it.
// A list has numbers of texts, ascending, each as its distance from the one before in as few bytes as it takes.
type trigrams struct {
	memory  *arena
	starts  []uint32 // of each list in lists, and where the last one ends
	common  []uint32 // a bit for each trigram that is in most texts and has no list
	lists   []byte
	covered int      // the texts before this one are in it
	strange []uint32 // texts with a letter that is no k or s but is the same as one where case does not matter
	always  []uint32 // texts of which nothing is known
}

const (
	classBits    = 6
	trigramCount = 1 << (3 * classBits)
	trigramMask  = trigramCount - 1
	trigramTable = 4*(trigramCount+1) + trigramCount/8 // the bytes of starts and common
)

// A classTable has the class of each byte.
type classTable [256]uint8

// newClassTable gives letters, digits and the signs that are common in source a class of their own. The bytes of
// characters beyond ASCII have as many classes as there are, so that the scripts of the world are told apart too.
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

// of returns the different trigrams of a literal.
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

// A demand is what trigrams can tell of a pattern: a text that has a match has all the trigrams of one of the alternatives.
type demand struct {
	alternatives [][]uint32
	strange      bool // texts with strange letters may match whatever trigrams they have
}

// newDemand returns nil if trigrams can tell nothing.
func newDemand(classes *classTable, needs []text.Literal) *demand {
	if len(needs) == 0 {
		return nil
	}
	d := &demand{}
	for _, l := range needs {
		grams := classes.of(l.Text)
		if len(grams) == 0 {
			return nil
		}
		d.alternatives = append(d.alternatives, grams)
		d.strange = d.strange || l.Fold && strings.ContainsAny(l.Text, "ks")
	}
	return d
}

// candidates returns the texts, of those that are covered, that may match, ascending. It returns false if those are so many
// that asking was of no use.
func (x *trigrams) candidates(d *demand) ([]uint32, bool) {
	var all []uint32
	for _, grams := range d.alternatives {
		some, ok := x.withAll(grams)
		if !ok {
			return nil, false
		}
		all = union(all, some)
	}
	if d.strange {
		all = union(all, x.strange)
	}
	all = union(all, x.always)
	return all, len(all) <= x.covered/4*3
}

// withAll returns the texts that have all of these trigrams, or false if all of them are common.
func (x *trigrams) withAll(grams []uint32) ([]uint32, bool) {
	const worth = 256 // a text that need not be searched is worth reading so many bytes of a list
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

// numbersOf returns the numbers of a list.
func numbersOf(list []byte) []uint32 {
	all := make([]uint32, 0, len(list))
	at := ^uint32(0) // the first distance is counted from before the first text
	for len(list) > 0 {
		var distance uint32
		distance, list = cutNumber(list)
		at += distance
		all = append(all, at)
	}
	return all
}

// intersect leaves in some what is also in the list.
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

// sizeOf returns how many bytes a number takes in a list.
func sizeOf(n uint32) uint32 { return uint32(bits.Len32(n|1)+6) / 7 }

// cutNumber takes the number that a list begins with.
func cutNumber(list []byte) (n uint32, rest []byte) {
	if n = uint32(list[0]); n < 0x80 {
		return n, list[1:]
	}
	long, size := varint.Uvarint(list)
	return uint32(long), list[size:]
}
