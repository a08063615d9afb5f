package train

import (
	"cmp"
	"slices"

	"remit/internal/search/model"
	"remit/tools/trainembed/internal/train/vector"
)

// nearKind is the kind of the pairs of neighbours.
const nearKind = "near"

// addNeighbours adds for each word in GloVe a pair of the word and its nearest words, so that the
// training does not lose GloVe's knowledge.
func (c *corpus) addNeighbours(v *vocabulary, glove map[string][]float32, n int) {
	rows, vectors := known(v, glove)
	if n == 0 || len(rows) == 0 {
		return
	}
	found := make([][]model.Token, len(rows))
	var packed vector.Packed
	packed.Pack(vector.Of(vectors, len(vectors)/gloveDim, gloveDim).Flip(), each)
	spans(len(rows), rowsAtOnce, func(from, to int) {
		near := make([]float32, rowsAtOnce*len(vectors)/gloveDim)
		left := vector.Of(vectors[from*gloveDim:], rowsAtOnce, gloveDim)
		vector.Multiply(vector.Of(near, rowsAtOnce, len(vectors)/gloveDim), left, &packed, 0, rowsAtOnce)
		for i := from; i < to; i++ {
			found[i] = nearest(near[(i-from)*len(vectors)/gloveDim:][:len(rows)], rows, i, n)
		}
	})
	source := c.sourceCount()
	for i, tokens := range found {
		c.tokens = append(c.tokens, model.Token{Row: uint16(rows[i]), Factor: model.UnitFactor})
		c.ends = append(c.ends, len(c.tokens))
		c.tokens = append(c.tokens, tokens...)
		c.ends = append(c.ends, len(c.tokens))
		c.digests = append(c.digests, digest(c.text(len(c.ends)-2)), digest(tokens))
		c.kinds = append(c.kinds, nearKind)
		c.sources = append(c.sources, source)
	}
}

// known returns the rows with a vector in GloVe, and those vectors, centred on their mean and
// scaled to length 1. It adds vectors of zeros until their number is a multiple of 32.
func known(v *vocabulary, glove map[string][]float32) (rows []int, vectors []float32) {
	mean := meanOf(glove, v)
	for row, e := range v.rows {
		if numbers, ok := glove[e.key]; ok && e.common {
			centred := make([]float64, gloveDim)
			for i, x := range numbers {
				centred[i] = float64(x) - mean[i]
			}
			rows = append(rows, row)
			vectors = append(vectors, make([]float32, gloveDim)...)
			scale(vectors[len(vectors)-gloveDim:], centred, 1)
		}
	}
	for len(vectors)/gloveDim%rowsAtOnce != 0 {
		vectors = append(vectors, make([]float32, gloveDim)...)
	}
	return rows, vectors
}

// nearest returns the rows that are nearest to the one at a place, sorted by row.
func nearest(near []float32, rows []int, place, n int) []model.Token {
	best := make([]int, 0, n+1)
	for i, x := range near {
		if i == place || len(best) == n && x <= near[best[n-1]] {
			continue
		}
		at, _ := slices.BinarySearchFunc(best, x, func(b int, x float32) int { return cmp.Compare(x, near[b]) })
		for at < len(best) && near[best[at]] == x {
			at++
		}
		best = slices.Insert(best, at, i)
		best = best[:min(len(best), n)]
	}
	slices.Sort(best)
	tokens := make([]model.Token, len(best))
	for i, b := range best {
		tokens[i] = model.Token{Row: uint16(rows[b]), Factor: model.UnitFactor}
	}
	return tokens
}
