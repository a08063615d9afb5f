package text

import (
	"bytes"
	"math/bits"
	"slices"
	"strings"
	"sync/atomic"
)

const (
	window  = 3 // bytes of a literal that are searched; the rest is compared where they match
	buckets = 8
)

// A prefilter finds the places where one of many literals occurs. It sorts the literals into
// buckets, one bit each, and has a table of the buckets that match each byte value at each of three
// consecutive places. A place whose tables have no common bucket needs no comparison.
type prefilter struct {
	takes   [window][256]uint8
	nibbles nibbles
	needles [buckets][]needle
	plain   []byte  // the only literal, if bytes.Index is the fastest way
	probes  []probe // probes of the only literal, if bitmaps can be filled with them
	only    needle  // the only literal, if it is longer than the probes
}

// nibbles holds prefilter.takes by the low and the high half of a byte. The buckets in both halves
// match the byte; a few others may appear too. Each table is stored twice, for instructions that
// process 32 bytes.
type nibbles [2 * window][32]uint8

// A needle is a literal and the offset of its window. If the window is longer than the literal, the
// rest of the window matches anything.
type needle struct {
	Literal
	at       int
	nonASCII bool // one of its letters also matches a non-ASCII character
}

// newPrefilter returns nil if the literals cannot be searched this way.
func newPrefilter(literals []Literal) *prefilter {
	if len(literals) == 0 {
		return nil
	}
	s := &prefilter{}
	all := make([]needle, len(literals))
	for i, l := range literals {
		n, ok := newNeedle(l)
		if !ok {
			return nil
		}
		all[i] = n
	}
	if l := literals[0]; len(literals) == 1 && !l.Fold && (len(l.Text) == 1 || !hasVectorScan()) {
		s.plain = []byte(l.Text)
	}
	if n := all[0]; len(all) == 1 && !n.nonASCII && hasVectorScan() {
		s.probes = newProbes(n.Literal)
		if len(n.Text) > maxProbes {
			s.only = n
		}
	}
	// Similar ones into one bucket.
	slices.SortFunc(all, func(a, b needle) int { return strings.Compare(a.Text[a.at:], b.Text[b.at:]) })
	for i, n := range all {
		s.add(n, i*buckets/max(len(all), buckets))
	}
	return s
}

// newNeedle chooses the window. The window excludes letters that also match a non-ASCII character,
// so a literal may have no window.
func newNeedle(l Literal) (n needle, ok bool) {
	n = needle{Literal: l, nonASCII: l.Fold && strings.ContainsAny(l.Text, "ks")}
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

// also returns the non-ASCII character that a byte of the needle matches besides its two cases, or
// "".
func (n *needle) also(c byte) string {
	switch {
	case n.nonASCII && c == 'k':
		return "\u212a"
	case n.nonASCII && c == 's':
		return "\u017f"
	}
	return ""
}

// add puts a needle into a bucket.
func (s *prefilter) add(n needle, bucket int) {
	s.needles[bucket] = append(s.needles[bucket], n)
	open := false // from here on anything matches
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

// take records that the byte c at this place of the window matches a bucket.
func (s *prefilter) take(place int, c byte, bucket int) {
	bit := uint8(1) << bucket
	s.takes[place][c] |= bit
	low, high := &s.nibbles[2*place], &s.nibbles[2*place+1]
	for _, half := range []byte{0, 16} {
		low[half+c&15] |= bit
		high[half+c>>4] |= bit
	}
}

// next searches data from at for the first line that contains a literal, and returns a position in
// that line. It returns -1 if there is none or stop is set.
func (s *prefilter) next(data []byte, at int, stop *atomic.Bool) int {
	for ; at < len(data); at += stopInterval {
		if stop != nil && stop.Load() {
			return -1
		}
		if hit := s.within(data, at, min(at+stopInterval, len(data))); hit >= 0 {
			return hit
		}
	}
	return -1
}

// within searches the places from at up to until.
func (s *prefilter) within(data []byte, at, until int) int {
	if s.plain != nil {
		if hit := bytes.Index(data[at:min(len(data), until+len(s.plain)-1)], s.plain); hit >= 0 {
			return at + hit
		}
		return -1
	}
	for at < until {
		block, marks := s.nibbles.scan(data, at, until)
		if marks == 0 {
			return s.scanBytes(data, block, until)
		}
		for ; marks != 0; marks &= marks - 1 {
			if place := block + bits.TrailingZeros32(marks); s.matchesAt(data, place) {
				return place
			}
		}
		at = block + 32
	}
	return -1
}

// scanBytes is within for CPUs without the vector instructions, and for the last few places.
func (s *prefilter) scanBytes(data []byte, at, until int) int {
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
			if s.matchesAt(data, place) {
				return place
			}
		}
	}
	for ; at < until; at++ {
		if s.matchesAt(data, at) {
			return at
		}
	}
	return -1
}

// matchesAt reports whether the window of a literal, and the literal around it, match at this
// place.
func (s *prefilter) matchesAt(data []byte, at int) bool {
	found := s.takes[0][data[at]]
	for i := 1; i < window && at+i < len(data); i++ {
		found &= s.takes[i][data[at+i]]
	}
	for ; found != 0; found &= found - 1 {
		needles := s.needles[bits.TrailingZeros8(found)]
		for i := range needles {
			if needles[i].matchesAt(data, at) {
				return true
			}
		}
	}
	return false
}

// matchesAt reports whether the needle matches with its window at this place.
func (n *needle) matchesAt(data []byte, at int) bool {
	from, to := at-n.at, at-n.at+len(n.Text)
	switch {
	case n.nonASCII:
		return n.matchSuffix(data[at:]) && n.matchPrefix(data[:at])
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

// matchSuffix reports whether data begins with the part of the needle from its window on.
func (n *needle) matchSuffix(data []byte) bool {
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

// matchPrefix reports whether data ends with the part of the needle before its window.
func (n *needle) matchPrefix(data []byte) bool {
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
