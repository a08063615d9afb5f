package train

// epoch returns the order of the pairs in an epoch: batches, one after the other. A batch consists
// of groups from one source, whose texts are hard to tell apart.
func (c *corpus) epoch(number int, options Options) []int {
	r := seeded(options.Seed, 3, uint64(number))
	bySource := make([][]int, c.sourceCount())
	for i, source := range c.sources {
		for range options.repeats(c.kinds[i]) {
			bySource[source] = append(bySource[source], i)
		}
	}
	var groups [][]int
	var rest []int
	for _, pairs := range bySource {
		shuffle(&r, pairs)
		for len(pairs) >= options.Group {
			groups = append(groups, pairs[:options.Group])
			pairs = pairs[options.Group:]
		}
		rest = append(rest, pairs...)
	}
	for len(rest) >= options.Group {
		groups = append(groups, rest[:options.Group])
		rest = rest[options.Group:]
	}
	shuffle(&r, groups)
	order := make([]int, 0, len(groups)*options.Group)
	for _, g := range groups {
		order = append(order, g...)
	}
	return order[:len(order)/options.Batch*options.Batch]
}

func (c *corpus) sourceCount() int {
	n := 0
	for _, s := range c.sources {
		n = max(n, s+1)
	}
	return n
}

// twins returns the places in a batch with the same text on either side. Neither is a wrong answer
// for the other.
func (c *corpus) twins(batch []int) [][2]int {
	var found [][2]int
	for side := range 2 {
		first := map[uint64][]int{}
		for place, pair := range batch {
			d := c.digests[2*pair+side]
			for _, other := range first[d] {
				found = append(found, [2]int{other, place}, [2]int{place, other})
			}
			first[d] = append(first[d], place)
		}
	}
	return found
}
