package chunk

import (
	"math"
	"strings"
)

const (
	maxWindow  = 60  // maximum lines of a chunk of code
	paragraphs = 40  // approximate lines of a chunk of text without declarations
	minStretch = 120 // bytes: a smaller stretch is merged with its neighbour
	maxMerged  = 500 // maximum bytes of merged stretches
)

// windows splits a range of lines into chunks of similar size, all with the same name. It prefers
// to split before a blank line or after a line with little indentation.
func (c *cutter) windows(from, to int, name string) {
	for from <= to {
		left := max((to-from+maxWindow)/maxWindow, (c.size(from, to)+MaxText-1)/MaxText)
		if left <= 1 {
			c.add(from, to, name)
			return
		}
		end := c.windowEnd(from, to, c.size(from, to)/left)
		c.add(from, end, name)
		from = end + 1
	}
}

// windowEnd returns the last line of a window of about aim bytes.
func (c *cutter) windowEnd(from, to, aim int) int {
	best, bestCost := from, math.MaxInt
	for n := from; n <= to && n-from < maxWindow && c.size(from, n) <= MaxText; n++ {
		size := c.size(from, n)
		if size*3 < aim*2 && n < to {
			best = n
			continue
		}
		cost := 8*indent(c.line(n)) + 100*max(size-aim, aim-size)/aim
		if n < to && c.isBlank(n+1) {
			cost -= 60
		}
		if cost < bestCost {
			best, bestCost = n, cost
		}
		if size*3 > aim*4 {
			break
		}
	}
	return best
}

// add adds one window. A single line may exceed the maximum size of a chunk: then only its
// beginning is shown.
func (c *cutter) add(from, to int, name string) {
	if from, to = c.trim(from, to); from <= to {
		c.laid = append(c.laid, stretch{from, to, name})
	}
}

// paragraphs splits lines without an outline, at blank lines before an unindented line.
func (c *cutter) paragraphs(from, to int, name string) {
	from, to = c.trim(from, to)
	for start := from; from <= to; from++ {
		n := from - start + 1
		size := c.size(start, from)
		ends := from == to || n >= maxWindow || size+c.size(from+1, from+1) > MaxText
		if !ends && (n >= paragraphs/2 || size >= maxMerged) && c.isBlank(from) {
			ends = n >= paragraphs || indent(c.line(from+1)) == 0
		}
		if ends {
			if wordBytes(c.span(start, from)) > 0 { // not just the brace that ends a type
				c.add(start, from, name)
			}
			start = from + 1
		}
	}
}

// gather merges small neighbours.
func (c *cutter) gather() []stretch {
	kept := c.laid[:0]
	for _, s := range c.laid {
		if last := len(kept) - 1; last >= 0 && c.join(&kept[last], s) {
			continue
		}
		kept = append(kept, s)
	}
	return kept
}

// join merges a stretch into the one before: if both are small, or one is small and they are
// related.
func (c *cutter) join(before *stretch, s stretch) bool {
	a, b := c.size(before.from, before.to), c.size(s.from, s.to)
	small := max(a, b) < 2*minStretch || min(a, b) < minStretch && related(before.name, s.name)
	if !small || s.from-before.to > 4 || s.to-before.from >= paragraphs || c.size(before.from, s.to) > maxMerged {
		return false
	}
	before.to = s.to
	before.name = joinNames(before.name, s.name)
	return true
}

// related reports whether two names belong to one type, or one of them is empty.
func related(a, b string) bool {
	if i := strings.LastIndex(a, ", "); i >= 0 {
		a = a[i+2:]
	}
	a, _, _ = strings.Cut(a, ".")
	b, _, _ = strings.Cut(b, ".")
	return a == b || a == "" || b == ""
}

func joinNames(a, b string) string {
	switch {
	case a == "" || a == b:
		return b
	case b == "" || strings.HasSuffix(a, ", "+b) || len(a)+len(b) > maxName/2:
		return a
	}
	return a + ", " + b
}
