// Package vector does arithmetic on rows of float32 with the same bits on every machine: with
// vector instructions if there are any, and otherwise in plain Go with the same steps.
package vector

import "math"

// Lanes is the number that the length of every row must be a multiple of.
const Lanes = 8

// Add adds weight x src to dst.
func Add(dst, src []float32, weight float32) {
	if fast {
		addFast(dst, src[:len(dst)], weight)
		return
	}
	addPlain(dst, src, weight)
}

// Exp replaces each x of a row by e^(scale x - shift) and adds the results to eight sums, one for
// every eighth element. The exponent must be between -80 and 80.
func Exp(row []float32, scale, shift float32, sums *[Lanes]float32) {
	if fast {
		expFast(row, scale, shift, sums)
		return
	}
	expPlain(row, scale, shift, sums)
}

// Blend multiplies each x of a row by own plus the element of others at the same index.
func Blend(row, others []float32, own float32) {
	if fast {
		blendFast(row, others[:len(row)], own)
		return
	}
	blendPlain(row, others, own)
}

// Adam is one step of the Adam optimiser.
type Adam struct {
	Keep1, New1 float32 // beta 1, and 1 - beta 1
	Keep2, New2 float32
	Rate        float32 // the learning rate, divided by 1 - beta 1 ^ step
	Unbias      float32 // 1 / (1 - beta 2 ^ step)
	Epsilon     float32
}

// Step moves x against its gradient, with its running mean m and mean square v.
func (p *Adam) Step(x, m, v, gradient []float32) {
	if fast {
		adamFast(p, x, m[:len(x)], v[:len(x)], gradient[:len(x)])
		return
	}
	adamPlain(p, x, m, v, gradient)
}

// Sum adds eight sums, from the first to the last.
func Sum(sums *[Lanes]float32) float32 {
	total := sums[0]
	for _, s := range sums[1:] {
		total += s
	}
	return total
}

// Dot returns the sum of the products of two rows. Every eighth element has its own partial sum.
func Dot(a, b []float32) float32 {
	var sums [Lanes]float32
	for len(a) >= Lanes && len(b) >= Lanes {
		for lane := range Lanes {
			sums[lane] += float32(a[lane] * b[lane])
		}
		a, b = a[Lanes:], b[Lanes:]
	}
	return Sum(&sums)
}

// Root returns the square root, which every machine rounds in the same way.
func Root(x float32) float32 { return float32(math.Sqrt(float64(x))) }
