package text

import (
	"bytes"
	"math/bits"
	"slices"
	"strings"
	"sync/atomic"
)

const (
	window  = 3 // bytes of a literal that are looked for; the rest is compared where they stand
	buckets = 8
)

// A sieve finds the places where one of many literals stands. It sorts them into buckets, a bit each. For each of three bytes that
// follow each other it knows the buckets that take it, so that few places are left to compare.
type sieve struct {
	takes   [window][256]uint8
	nibbles nibbles
	needles [buckets][]needle
	plain   []byte  // the only literal, if a plain search is the fastest way
	probes  []probe // bytes that it begins with, if charts can be drawn with them
	only    needle  // the only literal, if it has more bytes than probes
}

// nibbles are what sieve.takes is, by the low and the high half of a byte: the buckets that are in both take it, and sometimes others.
// Each table is there twice, for instructions that look at 32 bytes.
type nibbles [2 * window][32]uint8

// A needle is a literal and the place of its window. If it is shorter, anything may stand in the rest.
type needle struct {
	Literal
	at     int
	beyond bool // a letter of it is also a character beyond ASCII
}

// newSieve returns nil if the literals cannot be looked for so.
func newSieve(literals []Literal) *sieve {
	if len(literals) == 0 {
		return nil
	}
	s := &sieve{}
	all := make([]needle, len(literals))
	for i, l := range literals {
		n, ok := newNeedle(l)
		if !ok {
			return nil
		}
		all[i] = n
	}
	if l := literals[0]; len(literals) == 1 && !l.Fold && (len(l.Text) == 1 || !sifts()) {
		s.plain = []byte(l.Text)
	}
	if n := all[0]; len(all) == 1 && !n.beyond && sifts() {
		s.probes = newProbes(n.Literal)
		if len(n.Text) > maxProbes {
			s.only = n
		}
	}
	slices.SortFunc(all, func(a, b needle) int { return strings.Compare(a.Text[a.at:], b.Text[b.at:]) }) // alike into one bucket
	for i, n := range all {
		s.add(n, i*buckets/max(len(all), buckets))
	}
	return s
}

// newNeedle chooses the window. A letter that is also a character beyond ASCII is in none, so there may be no window.
func newNeedle(l Literal) (n needle, ok bool) {
	n = needle{Literal: l, beyond: l.Fold && strings.ContainsAny(l.Text, "ks")}
	best := -1
	for at := range len(l.Text) {
		score, within := 0, 0
		for _, c := range []byte(l.Text[at:min(at+window, len(l.Text))]) {
			if n.also(c) != "" {
				break
			}
			score += rank(c) + 1
			within++
		}
		if within > 0 && score > best {
			best, n.at = score, at
		}
	}
	return n, best >= 0
}

// also returns what a byte of the needle stands for besides itself and its other case, or nothing.
func (n *needle) also(c byte) string {
	switch {
	case n.beyond && c == 'k':
		return "\u212a"
	case n.beyond && c == 's':
		return "\u017f"
	}
	return ""
}

// add puts a needle into a bucket.
func (s *sieve) add(n needle, bucket int) {
	s.needles[bucket] = append(s.needles[bucket], n)
	open := false // from here on anything may stand
	for i := range window {
		var c byte
		if n.at+i < len(n.Text) {
			c = n.Text[n.at+i]
			open = open || n.also(c) != ""
		} else {
			open = true
		}
		switch {
		case open:
			for b := range 256 {
				s.take(i, byte(b), bucket)
			}
		case n.Fold && 'a' <= c && c <= 'z':
			s.take(i, c-'a'+'A', bucket)
			fallthrough
		default:
			s.take(i, c, bucket)
		}
	}
}

// take lets a byte at a place of the window through to a bucket.
func (s *sieve) take(place int, c byte, bucket int) {
	bit := uint8(1) << bucket
	s.takes[place][c] |= bit
	low, high := &s.nibbles[2*place], &s.nibbles[2*place+1]
	for _, half := range []byte{0, 16} {
		low[half+c&15] |= bit
		high[half+c>>4] |= bit
	}
}

// next returns a place in the first line, of those that begin at or after at, in which a literal stands, or -1. It gives up when
// stop is set.
func (s *sieve) next(data []byte, at int, stop *atomic.Bool) int {
	for ; at < len(data); at += patience {
		if stop != nil && stop.Load() {
			return -1
		}
		if hit := s.within(data, at, min(at+patience, len(data))); hit >= 0 {
			return hit
		}
	}
	return -1
}

// within looks at the places from at up to until.
func (s *sieve) within(data []byte, at, until int) int {
	if s.plain != nil {
		if hit := bytes.Index(data[at:min(len(data), until+len(s.plain)-1)], s.plain); hit >= 0 {
			return at + hit
		}
		return -1
	}
	for at < until {
		block, marks := s.nibbles.sift(data, at, until)
		if marks == 0 {
			return s.crawl(data, block, until)
		}
		for ; marks != 0; marks &= marks - 1 {
			if place := block + bits.TrailingZeros32(marks); s.stands(data, place) {
				return place
			}
		}
		at = block + 32
	}
	return -1
}

// crawl is within for machines that have no instructions for it, and for the last few places.
func (s *sieve) crawl(data []byte, at, until int) int {
	first, second, third := &s.takes[0], &s.takes[1], &s.takes[2]
	for ; at+4 <= until && at+4+window-1 <= len(data); at += 4 {
		text := data[at : at+4+window-1]
		found := first[text[0]]&second[text[1]]&third[text[2]] |
			first[text[1]]&second[text[2]]&third[text[3]] |
			first[text[2]]&second[text[3]]&third[text[4]] |
			first[text[3]]&second[text[4]]&third[text[5]]
		if found == 0 {
			continue
		}
		for place := at; place < at+4; place++ {
			if s.stands(data, place) {
				return place
			}
		}
	}
	for ; at < until; at++ {
		if s.stands(data, at) {
			return at
		}
	}
	return -1
}

// stands tells whether a literal is where its window is at this place.
func (s *sieve) stands(data []byte, at int) bool {
	found := s.takes[0][data[at]]
	for i := 1; i < window && at+i < len(data); i++ {
		found &= s.takes[i][data[at+i]]
	}
	for ; found != 0; found &= found - 1 {
		needles := s.needles[bits.TrailingZeros8(found)]
		for i := range needles {
			if needles[i].stands(data, at) {
				return true
			}
		}
	}
	return false
}

// stands tells whether the needle's window at this place is in the needle.
func (n *needle) stands(data []byte, at int) bool {
	from, to := at-n.at, at-n.at+len(n.Text)
	switch {
	case n.beyond:
		return n.ends(data[at:]) && n.begins(data[:at])
	case from < 0 || to > len(data):
		return false
	case !n.Fold:
		return string(data[from:to]) == n.Text
	}
	text := data[from:to]
	for i, c := range text {
		if folded(c) != n.Text[i] {
			return false
		}
	}
	return true
}

// ends tells whether data begins with what the needle is from its window on.
func (n *needle) ends(data []byte) bool {
	for _, c := range []byte(n.Text[n.at:]) {
		size := 1
		switch also := n.also(c); {
		case len(data) == 0:
			return false
		case folded(data[0]) == c:
		case also != "" && bytes.HasPrefix(data, []byte(also)):
			size = len(also)
		default:
			return false
		}
		data = data[size:]
	}
	return true
}

// begins tells whether data ends with what the needle is before its window.
func (n *needle) begins(data []byte) bool {
	for i := n.at - 1; i >= 0; i-- {
		c, size := n.Text[i], 1
		switch also := n.also(c); {
		case len(data) == 0:
			return false
		case folded(data[len(data)-1]) == c:
		case also != "" && bytes.HasSuffix(data, []byte(also)):
			size = len(also)
		default:
			return false
		}
		data = data[:len(data)-size]
	}
	return true
}

// folded returns the byte in lower case.
func folded(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c | 0x20
	}
	return c
}
