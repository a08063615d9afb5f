package train

import (
	"math"
)

// rare is the share of all words below which a word keeps its full weight at the start.
const rare = 1e-3

// start returns the initial rows: GloVe's vectors rotated into a space of more dimensions, and
// random vectors for words that it lacks. Common words get shorter vectors.
func (v *vocabulary) start(glove map[string][]float32, used map[string]*usage, options Options) []float32 {
	r := seeded(options.Seed, 1)
	turn := rotation(&r, gloveDim, options.Dim)
	mean := meanOf(glove, v)
	total := 0
	for _, u := range used {
		total += u.count
	}
	rows := make([]float32, len(v.rows)*options.Dim)
	for i, e := range v.rows {
		own := seeded(options.Seed, 2, uint64(i))
		vector := e.vector(glove, mean, turn, &own, options.Dim)
		uses := 0
		for _, w := range e.words {
			uses += used[w].count
		}
		scale(rows[i*options.Dim:(i+1)*options.Dim], vector, rare/(rare+float64(uses)/float64(total)))
	}
	return rows
}

// vector returns the initial direction of a row, of any length.
func (e entry) vector(glove map[string][]float32, mean []float64, turn [][]float64, r *random, dim int) []float64 {
	vector := make([]float64, dim)
	for _, w := range e.words {
		if known, ok := glove[w]; ok {
			for i, x := range known {
				along(vector, turn[i], float64(x)-mean[i])
			}
			return vector
		}
	}
	for i := range vector {
		vector[i] = r.normal()
	}
	return vector
}

// meanOf returns the mean of GloVe's vectors, which carries no information about any word.
func meanOf(glove map[string][]float32, v *vocabulary) []float64 {
	mean := make([]float64, gloveDim)
	n := 0.0
	for _, e := range v.rows {
		if vector, ok := glove[e.key]; ok {
			n++
			for i, x := range vector {
				mean[i] += float64(x)
			}
		}
	}
	for i := range mean {
		mean[i] /= max(n, 1)
	}
	return mean
}

// rotation returns orthogonal directions.
func rotation(r *random, n, dim int) [][]float64 {
	directions := make([][]float64, n)
	for i := range directions {
		d := make([]float64, dim)
		for j := range d {
			d[j] = r.normal()
		}
		for _, before := range directions[:min(i, dim-1)] {
			along(d, before, -inner(d, before))
		}
		length := math.Sqrt(inner(d, d))
		for j := range d {
			d[j] /= length
		}
		directions[i] = d
	}
	return directions
}

func along(v, direction []float64, far float64) {
	for i, x := range direction {
		v[i] += float64(x * far)
	}
}

func inner(a, b []float64) float64 {
	sum := 0.0
	for i := range a {
		sum += float64(a[i] * b[i])
	}
	return sum
}

// scale writes a vector with the given length.
func scale(row []float32, vector []float64, length float64) {
	now := math.Sqrt(inner(vector, vector))
	if now == 0 {
		return
	}
	for i, x := range vector {
		row[i] = float32(float64(x*length) / now)
	}
}
