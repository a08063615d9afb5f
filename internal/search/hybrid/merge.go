package hybrid

import (
	"math/bits"
	"slices"
)

// fanIn is how many segments of about one size are joined.
const fanIn = 4

// tidy joins small segments and rewrites those of which a third is gone. moved is told of each core that is made.
func tidy(segments []segment, moved func(*core)) []segment {
	for {
		group := untidy(segments)
		if group == nil {
			return segments
		}
		var joined []segment
		for i := len(group) - 1; i >= 0; i-- {
			joined = append(joined, segments[group[i]])
			segments = slices.Delete(segments, group[i], group[i]+1)
		}
		if c := join(joined); len(c.ids) > 0 {
			moved(c)
			segments = append(segments, whole(c))
		}
	}
}

// untidy returns the numbers, in order, of segments that should become one.
func untidy(segments []segment) []int {
	var classes [16][]int
	for i, s := range segments {
		if s.gone*3 >= len(s.ids) {
			return []int{i}
		}
		class := sizeClass(s.live())
		classes[class] = append(classes[class], i)
		if len(classes[class]) == fanIn && class < sizeClass(maxSegment/fanIn) {
			return classes[class]
		}
	}
	return pair(segments)
}

// sizeClass is the same for numbers that differ by less than fanIn times.
func sizeClass(n int) int { return bits.Len(uint(n)) / 2 }

// pair returns two large segments that fit into one.
func pair(segments []segment) []int {
	last := -1
	for i, s := range segments {
		if sizeClass(s.live()) < sizeClass(maxSegment/fanIn) {
			continue
		}
		if last >= 0 && segments[last].live()+s.live() <= maxSegment {
			return []int{last, i}
		}
		if last < 0 || s.live() < segments[last].live() {
			last = i
		}
	}
	return nil
}

// join makes one core of what is there of some segments.
func join(segments []segment) *core {
	size, dim := 0, segments[0].width
	for _, s := range segments {
		size += s.live()
	}
	c := newCore(size, dim)
	moved := make([][]int32, len(segments))
	for i, s := range segments {
		moved[i] = c.take(s)
	}
	joinPostings(c, segments, moved)
	return c
}

// take adds what is there of a segment, but for the postings, and returns the new slots; -1 is a piece that is gone.
func (c *core) take(s segment) []int32 {
	slots := make([]int32, len(s.ids))
	for slot, id := range s.ids {
		if s.isDead(slot) {
			slots[slot] = -1
			continue
		}
		slots[slot] = int32(len(c.ids))
		c.ids = append(c.ids, id)
		c.addLength(s.lengths[slot])
		c.vectors = append(c.vectors, s.vectors[slot*s.width:][:s.width]...)
		c.scales = append(c.scales, s.scales[slot])
	}
	return slots
}

// joinPostings goes through the terms of all segments in order, at once.
func joinPostings(c *core, segments []segment, moved [][]int32) {
	var w writer
	at := make([]int, len(segments))
	for {
		term, found := least(segments, at)
		if !found {
			break
		}
		for i, s := range segments {
			if at[i] == len(s.terms) || s.terms[at[i]] != term {
				continue
			}
			_, rest := list(s.postings[s.starts[at[i]]:s.starts[at[i]+1]]).count()
			at[i]++
			for slot := -1; len(rest) > 0; {
				var times int
				slot, times, rest = rest.next(slot)
				if to := moved[i][slot]; to >= 0 {
					w.add(int(to), times)
				}
			}
		}
		w.end(term)
	}
	w.into(c)
}

// least returns the first of the terms that come next.
func least(segments []segment, at []int) (term uint64, found bool) {
	for i, s := range segments {
		if at[i] < len(s.terms) && (!found || s.terms[at[i]] < term) {
			term, found = s.terms[at[i]], true
		}
	}
	return term, found
}
