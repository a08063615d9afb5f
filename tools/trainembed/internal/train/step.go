package train

import (
	"remit/internal/search/model"
	"remit/tools/trainembed/internal/train/vector"
)

// learner holds the trained table, and the buffers of one step.
type learner struct {
	options        Options
	corpus         *corpus
	rows, mean, sq []float32 // the table, and Adam's two means of its gradients
	contrast       *contrast
	sides          [2][]float32 // vectors of the texts of a batch
	gradients      [2][]float32 // gradients of the vectors
	lengths        [2][]float32
	uses           uses
	first, second  float64 // powers of Adam's betas
}

func newLearner(c *corpus, rows []float32, options Options) *learner {
	size := options.Batch * options.Dim
	l := &learner{
		options: options, corpus: c, rows: rows,
		mean: make([]float32, len(rows)), sq: make([]float32, len(rows)),
		contrast: newContrast(options.Batch, options.Dim, float32(options.Scale)),
		first:    1, second: 1,
		uses: uses{heads: make([]int32, len(rows)/options.Dim+1)},
	}
	for side := range 2 {
		l.sides[side], l.gradients[side] = make([]float32, size), make([]float32, size)
		l.lengths[side] = make([]float32, options.Batch)
	}
	return l
}

// step trains on one batch and returns its loss.
func (l *learner) step(batch []int, number int, rate float64) float64 {
	l.uses.reset(l.corpus, batch)
	for side := range 2 {
		spans(len(batch), rowsAtOnce, func(from, to int) {
			for i := from; i < to; i++ {
				l.read(batch[i], side, i, number)
			}
		})
	}
	loss := l.contrast.run(l.sides[0], l.sides[1], l.gradients[0], l.gradients[1], l.corpus.twins(batch))
	for side := range 2 {
		spans(len(batch), rowsAtOnce, func(from, to int) { l.through(side, from, to) })
	}
	l.uses.sort(len(l.rows) / l.options.Dim)
	l.improve(rate)
	return loss
}

// read computes the vector of a text. It leaves out some words at random.
func (l *learner) read(pair, side, place, number int) {
	dim := l.options.Dim
	v := l.sides[side][place*dim : (place+1)*dim]
	clear(v)
	r := seeded(l.options.Seed, 4, uint64(number), uint64(2*place+side))
	kept := l.uses.text(2*place + side)
	copy(kept, l.corpus.text(2*pair+side))
	drop(kept, &r, uint64(l.options.Dropout*(1<<32)))
	for _, t := range kept {
		if t.Factor > 0 {
			row := int(t.Row) * dim
			vector.Add(v, l.rows[row:row+dim], float32(t.Factor)/model.UnitFactor)
		}
	}
	length := vector.Root(vector.Dot(v, v))
	l.lengths[side][place] = length
	if length > 0 {
		for i := range v {
			v[i] /= length
		}
	}
}

// drop clears the factors of tokens at random, but keeps at least one.
func drop(tokens []model.Token, r *random, limit uint64) {
	spared := r.below(len(tokens))
	for i := range tokens {
		if r.next()>>32 < limit && i != spared {
			tokens[i].Factor = 0
		}
	}
}

// through propagates gradients back through the normalisation to length 1.
func (l *learner) through(side, from, to int) {
	dim := l.options.Dim
	factor := float32(l.options.Scale / 2 / float64(l.options.Batch))
	for i := from; i < to; i++ {
		v, g := l.sides[side][i*dim:(i+1)*dim], l.gradients[side][i*dim:(i+1)*dim]
		if l.lengths[side][i] == 0 {
			clear(g)
			continue
		}
		vector.Add(g, v, -vector.Dot(g, v))
		by := factor / l.lengths[side][i]
		for j := range g {
			g[j] *= by
		}
	}
}

// improve updates every row that the batch has used.
func (l *learner) improve(rate float64) {
	const beta1, beta2 = .9, .98
	l.first *= beta1
	l.second *= beta2
	adam := vector.Adam{
		Keep1: beta1, New1: 1 - beta1, Keep2: beta2, New2: 1 - beta2,
		Rate: float32(rate / (1 - l.first)), Unbias: float32(1 / (1 - l.second)), Epsilon: 1e-8,
	}
	dim := l.options.Dim
	spans(len(l.rows)/dim, 64, func(from, to int) {
		gradient := make([]float32, dim)
		for row := from; row < to; row++ {
			used := l.uses.of(row)
			if len(used) == 0 {
				continue
			}
			clear(gradient)
			for _, u := range used {
				vector.Add(gradient, l.gradients[u.text%2][int(u.text/2)*dim:][:dim], float32(u.factor)/model.UnitFactor)
			}
			at := row * dim
			adam.Step(l.rows[at:at+dim], l.mean[at:at+dim], l.sq[at:at+dim], gradient)
		}
	})
}
