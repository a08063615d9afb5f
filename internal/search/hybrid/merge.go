package hybrid

import (
	"math/bits"
	"slices"
)

// fanIn is the number of segments of about the same size that are merged.
const fanIn = 4

// compact merges small segments and rewrites those of which a third is deleted. It calls moved for
// each core that it creates.
func compact(segments []segment, moved func(*core)) []segment {
	for {
		group := mergeCandidates(segments)
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

// mergeCandidates returns the sorted indexes of segments that should be merged.
func mergeCandidates(segments []segment) []int {
	var classes [16][]int
	for i, s := range segments {
		if s.deleted*3 >= len(s.ids) {
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

// sizeClass returns the same class for numbers that differ by less than a factor of fanIn.
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

// join merges the live chunks of segments into one core.
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

// take adds the live chunks of a segment, except for their postings, and returns their new slots;
// -1 for a deleted chunk.
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

// joinPostings merges the sorted terms of all segments.
func joinPostings(c *core, segments []segment, moved [][]int32) {
	var w writer
	at := make([]int, len(segments))
	for {
		term, found := smallestTerm(segments, at)
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
				slot, times, rest = rest.next(slot, len(s.ids))
				if to := moved[i][slot]; to >= 0 && times > 0 {
					w.add(int(to), times)
				}
			}
		}
		w.end(term)
	}
	w.into(c)
}

// smallestTerm returns the smallest of the next terms.
func smallestTerm(segments []segment, at []int) (term uint64, found bool) {
	for i, s := range segments {
		if at[i] < len(s.terms) && (!found || s.terms[at[i]] < term) {
			term, found = s.terms[at[i]], true
		}
	}
	return term, found
}
