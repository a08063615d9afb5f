package text

import "math/bits"

// A bitmap covers a section of the text with one bit per byte. It marks where the literal begins
// and where lines end. Where matches are dense, filling a bitmap is faster than stopping at each
// match.
type bitmap struct {
	places [bitmapWords]uint64
	ends   [bitmapWords]uint64
	from   int // offset of the section in the text
	words  int // number of words in use, 64 bytes of text each
}

const (
	bitmapWords = 32
	bitmapSize  = 64 * bitmapWords
	maxProbes   = 8
)

// A probe matches one byte of a literal: the byte at its place, ORed with the mask, must equal
// want. The mask is not 0 for letters that match in both cases. Both are repeated 32 times for
// vector instructions.
type probe struct{ mask, want [32]uint8 }

// newProbes returns probes for the first bytes of a literal.
func newProbes(l Literal) []probe {
	probes := make([]probe, min(len(l.Text), maxProbes))
	for i := range probes {
		c := l.Text[i]
		for n := range probes[i].want {
			probes[i].want[n] = c
			if l.Fold && 'a' <= c && c <= 'z' {
				probes[i].mask[n] = 0x20
			}
		}
	}
	return probes
}

// searchDense searches with bitmaps as long as matches are dense. It stops where everything before
// is done. That may be within a line in which nothing was found yet.
func (s *search) searchDense() {
	const far = bitmapSize / 2 // average distance between matches
	var c bitmap
	for !s.over && !s.halted() && s.prefilter.fill(&c, s.data, s.at) {
		before := s.lines
		s.at += 64 * c.words
		var open uint64
		if s.found == nil {
			open = s.countLines(&c)
		} else {
			open = s.emitLines(&c)
		}
		if open != 0 && !s.over {
			s.report(s.at)
		}
		if (s.lines-before)*far < 64*c.words {
			return
		}
	}
}

// countLines counts the lines that match and end in the bitmap. It returns 1 if the last,
// unfinished line matches, or else 0.
//
// The matching places are added to a word in which all bits but those of line ends are set. From
// each place a carry runs over the set bits up to the end of the line and stops there. The line
// ends whose bits are set in the sum belong to lines that match.
func (s *search) countLines(c *bitmap) (open uint64) {
	for w, ends := range c.ends[:c.words] {
		var sum uint64
		sum, open = bits.Add64(^ends, c.places[w], open)
		s.lines += bits.OnesCount64(sum & ends)
	}
	return open
}

// emitLines is like countLines but also emits the lines.
func (s *search) emitLines(c *bitmap) (open uint64) {
	for w, ends := range c.ends[:c.words] {
		from := c.from + 64*w
		var sum uint64
		sum, open = bits.Add64(^ends, c.places[w], open)
		for hits := sum & ends; hits != 0; hits &= hits - 1 {
			end := hits & -hits
			s.skipLines(ends&(end-1), from)
			ends &= -end << 1
			if s.emit(from + bits.TrailingZeros64(end)); s.over {
				return 0
			}
		}
		s.skipLines(ends, from)
	}
	return open
}

// skipLines records that the lines that end at the bits of a word do not match.
func (s *search) skipLines(ends uint64, from int) {
	if ends != 0 {
		s.number += bits.OnesCount64(ends)
		s.seen = from + bits.Len64(ends)
	}
}

// fill fills the bitmap from offset at on. It returns false if the rest of the data is too short or
// the literal has no probes.
func (s *prefilter) fill(c *bitmap, data []byte, at int) bool {
	c.from, c.words = at, min(len(data)-(len(s.probes)-1)-at, bitmapSize)/64
	if c.words <= 0 || len(s.probes) == 0 {
		return false
	}
	fillBitmap(s.probes, data[at:], c)
	if s.only.Text != "" {
		s.only.confirm(c, data)
	}
	return true
}

// confirm clears the bits of places where only the beginning of the literal matches.
func (n *needle) confirm(c *bitmap, data []byte) {
	for w := range c.places[:c.words] {
		for places := c.places[w]; places != 0; places &= places - 1 {
			if !n.matchesAt(data, c.from+64*w+bits.TrailingZeros64(places)+n.at) {
				c.places[w] &^= places & -places
			}
		}
	}
}
