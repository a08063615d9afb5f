package train

import (
	"hash/fnv"
	"slices"

	"remit/internal/search/model"
	"remit/tools/trainembed/internal/pairs"
	"remit/tools/trainembed/internal/table"
)

// corpus holds pairs as rows of the table: texts 2i and 2i+1 belong together.
type corpus struct {
	tokens  []model.Token
	ends    []int    // where the tokens of each text end
	digests []uint64 // equal for texts with the same tokens
	sources []int    // the source of each pair, by number
	kinds   []string // the kind of each pair
}

// take converts pairs to rows. It leaves out pairs with a side that has no known word.
func take(all []pairs.Pair, l *table.Lexicon, cut [2]int) *corpus {
	const size = 4096
	parts := make([]*corpus, (len(all)+size-1)/size)
	spans(len(all), size, func(from, to int) {
		part := &corpus{}
		for _, pair := range all[from:to] {
			part.add(pair, l, cut)
		}
		parts[from/size] = part
	})
	return join(parts, all)
}

func (c *corpus) add(pair pairs.Pair, l *table.Lexicon, cut [2]int) {
	start := len(c.tokens)
	c.tokens = l.Tokens(c.tokens, pair.A, cut[0])
	middle := len(c.tokens)
	c.tokens = l.Tokens(c.tokens, pair.B, cut[1])
	if middle == start || len(c.tokens) == middle {
		c.tokens = c.tokens[:start]
		c.kinds = append(c.kinds, "")
		return
	}
	c.kinds = append(c.kinds, pair.Kind)
	c.ends = append(c.ends, middle, len(c.tokens))
	c.digests = append(c.digests, digest(c.tokens[start:middle]), digest(c.tokens[middle:]))
}

// join concatenates parts in their order.
func join(parts []*corpus, all []pairs.Pair) *corpus {
	c := &corpus{}
	numbers := map[string]int{}
	i := 0
	for _, part := range parts {
		base := len(c.tokens)
		c.tokens = append(c.tokens, part.tokens...)
		c.digests = append(c.digests, part.digests...)
		for _, end := range part.ends {
			c.ends = append(c.ends, base+end)
		}
		for _, kind := range part.kinds {
			if kind != "" {
				c.kinds = append(c.kinds, kind)
				c.sources = append(c.sources, number(numbers, all[i].Source))
			}
			i++
		}
	}
	c.tokens = slices.Clip(c.tokens)
	return c
}

// number returns the number of a name; a new name gets the next one.
func number(numbers map[string]int, name string) int {
	n, ok := numbers[name]
	if !ok {
		n = len(numbers)
		numbers[name] = n
	}
	return n
}

// text returns the tokens of a text.
func (c *corpus) text(i int) []model.Token {
	start := 0
	if i > 0 {
		start = c.ends[i-1]
	}
	return c.tokens[start:c.ends[i]]
}

func digest(tokens []model.Token) uint64 {
	h := fnv.New64a()
	for _, t := range tokens {
		h.Write([]byte{uint8(t.Row), uint8(t.Row >> 8), uint8(t.Factor), uint8(t.Factor >> 8)})
	}
	return h.Sum64()
}
