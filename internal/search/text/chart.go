package text

import "math/bits"

// A chart shows a stretch of text, a bit for each byte: where the literal begins, and where lines end. Where matches are close
// together it is faster to draw one, whatever is there, than to stop at each of them.
type chart struct {
	places [chartWords]uint64
	ends   [chartWords]uint64
	from   int // where the stretch begins in the text
	words  int // of 64 bytes each that it has
}

const (
	chartWords = 32
	chartSize  = 64 * chartWords
	maxProbes  = 8
)

// A probe is a byte of a literal: what stands at its place is that byte once it has the bits of the mask, which is not 0 for
// letters without case. It is there 32 times, for instructions that look at as many bytes.
type probe struct{ mask, want [32]uint8 }

// newProbes returns the bytes that a literal begins with.
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

// survey goes on where matches are close together, as long as they are. It ends where all before is done, which may be within
// a line in which nothing was found so far.
func (s *search) survey() {
	const far = chartSize / 2 // from one match to the next, on the average
	var c chart
	for !s.over && !s.halted() && s.sieve.draw(&c, s.data, s.at) {
		before := s.lines
		s.at += 64 * c.words
		var open uint64
		if s.found == nil {
			open = s.countOn(&c)
		} else {
			open = s.tellOn(&c)
		}
		if open != 0 && !s.over {
			s.report(s.at)
		}
		if (s.lines-before)*far < 64*c.words {
			return
		}
	}
}

// countOn counts the lines that match and end on the chart. It returns 1 if a line matches that does not, or else 0.
//
// A word in which all bits but those of line ends are set gets the places added. From a place a carry runs over the set bits up
// to the end of the line, and no further. So the ends that are set then are those of lines that match.
func (s *search) countOn(c *chart) (open uint64) {
	for w, ends := range c.ends[:c.words] {
		var sum uint64
		sum, open = bits.Add64(^ends, c.places[w], open)
		s.lines += bits.OnesCount64(sum & ends)
	}
	return open
}

// tellOn is countOn that tells of the lines.
func (s *search) tellOn(c *chart) (open uint64) {
	for w, ends := range c.ends[:c.words] {
		from := c.from + 64*w
		var sum uint64
		sum, open = bits.Add64(^ends, c.places[w], open)
		for hits := sum & ends; hits != 0; hits &= hits - 1 {
			end := hits & -hits
			s.pass(ends&(end-1), from)
			ends &= -end << 1
			if s.tell(from + bits.TrailingZeros64(end)); s.over {
				return 0
			}
		}
		s.pass(ends, from)
	}
	return open
}

// pass notes that lines end at the bits of a word and do not match.
func (s *search) pass(ends uint64, from int) {
	if ends != 0 {
		s.number += bits.OnesCount64(ends)
		s.seen = from + bits.Len64(ends)
	}
}

// draw makes a chart of what follows from a place on. It returns false if that is too short, or cannot be drawn.
func (s *sieve) draw(c *chart, data []byte, at int) bool {
	c.from, c.words = at, min(len(data)-(len(s.probes)-1)-at, chartSize)/64
	if c.words <= 0 || len(s.probes) == 0 {
		return false
	}
	drawChart(s.probes, data[at:], c)
	if s.only.Text != "" {
		s.only.confirm(c, data)
	}
	return true
}

// confirm leaves the places on a chart where the whole literal stands, and not only its beginning.
func (n *needle) confirm(c *chart, data []byte) {
	for w := range c.places[:c.words] {
		for places := c.places[w]; places != 0; places &= places - 1 {
			if !n.stands(data, c.from+64*w+bits.TrailingZeros64(places)+n.at) {
				c.places[w] &^= places & -places
			}
		}
	}
}
