package text

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"strings"
)

// A needle is a literal with the two of its bytes that are looked for. They are the rarest, so that the rest is seldom compared.
type needle struct {
	literal
	first, second int    // their offsets
	rarest        int    // the offset of the rarer one
	a, b          uint64 // eight times each
	caseA, caseB  uint64 // the bit that tells upper from lower case, where both are meant
	beyond        bool   // a letter of it is also a character beyond ASCII
}

const (
	each     = 0x0101010101010101
	highBits = 0x80 * each
	caseBit  = 0x20
)

func newNeedles(set []literal) []needle {
	var all []needle
	for _, l := range set {
		n := needle{literal: l}
		n.first, n.second = l.rarest()
		n.rarest = n.first
		if rank(l.text[n.second]) > rank(l.text[n.first]) {
			n.rarest = n.second
		}
		n.a, n.caseA = l.spread(n.first)
		n.b, n.caseB = l.spread(n.second)
		n.beyond = l.fold && strings.ContainsAny(l.text, "ks")
		all = append(all, n)
	}
	return all
}

// spread returns the byte at i eight times, and its case bit, or 0 if it stands for itself alone.
func (l literal) spread(i int) (value, cases uint64) {
	c := l.text[i]
	if l.fold && 'a' <= c && c <= 'z' {
		return uint64(c) * each, caseBit * each
	}
	return uint64(c) * each, 0
}

// next returns the first place at or after at where the needle stands, or -1.
func (n *needle) next(data []byte, at int) int {
	if n.fold {
		return n.nextByBoth(data, at)
	}
	return n.nextByRarest(data, at)
}

// nextByRarest looks for the rarest byte alone, which is fastest where it is rare.
func (n *needle) nextByRarest(data []byte, at int) int {
	const patience, worth = 8, 32 // that many bytes should be skipped with each that was not it
	c := n.text[n.rarest]
	for from, missed := at, 0; at+len(n.text) <= len(data); at++ {
		hit := bytes.IndexByte(data[at+n.rarest:], c)
		if hit < 0 {
			return -1
		}
		at += hit
		if n.stands(data, at) {
			return at
		}
		if missed++; missed > patience && at-from < missed*worth {
			return n.nextByBoth(data, at+1)
		}
	}
	return -1
}

// nextByBoth looks for both bytes, at sixteen places at a time.
func (n *needle) nextByBoth(data []byte, at int) int {
	wantA, wantB, caseA, caseB := n.a, n.b, n.caseA, n.caseB
	apart := n.second - n.first
	for ; at+n.second+16 <= len(data); at += 16 {
		window := data[at+n.first:]
		y := window[apart : apart+16]
		x := window[:16]
		// A byte of these is zero where both bytes are.
		low := ((binary.LittleEndian.Uint64(x) | caseA) ^ wantA) | ((binary.LittleEndian.Uint64(y) | caseB) ^ wantB)
		high := ((binary.LittleEndian.Uint64(x[8:]) | caseA) ^ wantA) | ((binary.LittleEndian.Uint64(y[8:]) | caseB) ^ wantB)
		if zeros(low)|zeros(high) == 0 {
			continue
		}
		if place := n.check(data, at, zeros(low)); place >= 0 {
			return place
		}
		if place := n.check(data, at+8, zeros(high)); place >= 0 {
			return place
		}
	}
	for ; at+len(n.text) <= len(data); at++ {
		if n.stands(data, at) {
			return at
		}
	}
	return -1
}

// zeros returns the high bit of each byte that is zero, and perhaps of bytes above one.
func zeros(w uint64) uint64 { return (w - each) &^ w & highBits }

// check returns the first of the places marked, counted from at, where the needle stands, or -1.
func (n *needle) check(data []byte, at int, marks uint64) int {
	for ; marks != 0; marks &= marks - 1 {
		if place := at + bits.TrailingZeros64(marks)/8; n.stands(data, place) {
			return place
		}
	}
	return -1
}

// stands tells whether the needle is at this place.
func (n *needle) stands(data []byte, at int) bool {
	if at+len(n.text) > len(data) {
		return false
	}
	text := data[at : at+len(n.text)]
	if !n.fold {
		return string(text) == n.text
	}
	for i, c := range text {
		if 'A' <= c && c <= 'Z' {
			c |= caseBit
		}
		if c != n.text[i] {
			return false
		}
	}
	return true
}

// A hunt is a search for several needles in one text.
type hunt struct {
	needles []needle
	places  [maxLiterals]int // where each stands next, as far as is known
}

// fits tells whether needles are all there is to find in data: without case, k is also the Kelvin sign and s the long s.
func fits(needles []needle, data []byte) bool {
	for i := range needles {
		if needles[i].beyond {
			return !bytes.Contains(data, []byte("\u017f")) && !bytes.Contains(data, []byte("\u212a"))
		}
	}
	return true
}

// next returns the first place at or after at where a needle stands, or -1.
func (h *hunt) next(data []byte, at int) int {
	nearest := len(data)
	for i := range h.needles {
		if h.places[i] <= at {
			h.places[i] = h.needles[i].next(data, at)
			if h.places[i] < 0 {
				h.places[i] = len(data)
			}
		}
		nearest = min(nearest, h.places[i])
	}
	if nearest == len(data) {
		return -1
	}
	return nearest
}
