package train

import (
	"math"

	"remit/tools/trainembed/internal/train/vector"
)

// contrast computes the InfoNCE loss in both directions. It is smaller the closer the texts of a
// pair are, and the further apart all other texts of a batch are.
type contrast struct {
	batch, dim int
	scale      float32 // 1 / temperature
	near       vector.Matrix
	columns    []float32 // sums over the columns of near
	rows       []float32 // sums over the rows of near
	own        []float32 // the values on the diagonal
	packed     vector.Packed
}

const (
	rowsAtOnce    = 32
	columnsAtOnce = 128
	padding       = 16 // keeps the columns of a matrix from sharing one set of the cache
	apart         = -2 // a similarity so small that it does not count
)

func newContrast(batch, dim int, scale float32) *contrast {
	near := vector.Matrix{Data: make([]float32, batch*(batch+padding)), Rows: batch, Columns: batch, Stride: batch + padding}
	return &contrast{
		batch: batch, dim: dim, scale: scale, near: near,
		columns: make([]float32, batch), rows: make([]float32, batch), own: make([]float32, batch),
	}
}

// run takes the vectors of both sides, each of length 1, and writes their gradients. It returns the
// loss. twins are places that count neither as right nor as wrong.
func (c *contrast) run(a, b, da, db []float32, twins [][2]int) float64 {
	left, right := vector.Of(a, c.batch, c.dim), vector.Of(b, c.batch, c.dim)
	c.packed.Pack(right.Flip(), each)
	spans(c.batch, rowsAtOnce, func(from, to int) { c.likeness(left, twins, from, to) })
	spans(c.batch, columnsAtOnce, c.addColumns)
	loss := c.loss()
	spans(c.batch, rowsAtOnce, c.toGradients)
	c.packed.Pack(right, each)
	spans(c.batch, rowsAtOnce, func(from, to int) {
		clear(da[from*c.dim : to*c.dim])
		vector.Multiply(vector.Of(da, c.batch, c.dim), c.near, &c.packed, from, to)
	})
	c.packed.Pack(left, each)
	spans(c.batch, rowsAtOnce, func(from, to int) {
		clear(db[from*c.dim : to*c.dim])
		vector.Multiply(vector.Of(db, c.batch, c.dim), c.near.Flip(), &c.packed, from, to)
	})
	return loss
}

func (c *contrast) row(i int) []float32 { return c.near.Data[i*c.near.Stride:][:c.batch] }

// likeness fills rows with e^(scale (similarity - 1)).
func (c *contrast) likeness(left vector.Matrix, twins [][2]int, from, to int) {
	clear(c.near.Data[from*c.near.Stride : to*c.near.Stride])
	vector.Multiply(c.near, left, &c.packed, from, to)
	for _, t := range twins {
		if t[0] >= from && t[0] < to {
			c.row(t[0])[t[1]] = apart
		}
	}
	for i := from; i < to; i++ {
		c.own[i] = c.row(i)[i]
		var sums [vector.Lanes]float32
		vector.Exp(c.row(i), c.scale, c.scale, &sums)
		c.rows[i] = vector.Sum(&sums)
	}
}

func (c *contrast) addColumns(from, to int) {
	sums := c.columns[from:to]
	clear(sums)
	for i := range c.batch {
		vector.Add(sums, c.row(i)[from:to], 1)
	}
}

func (c *contrast) loss() float64 {
	sum := 0.0
	for i := range c.batch {
		sum += (math.Log(float64(c.rows[i]))+math.Log(float64(c.columns[i])))/2 + float64(c.scale)*(1-float64(c.own[i]))
		c.rows[i], c.columns[i] = 1/c.rows[i], 1/c.columns[i]
	}
	return sum / float64(c.batch)
}

// toGradients converts similarities to gradients of the loss, times the batch size.
func (c *contrast) toGradients(from, to int) {
	for i := from; i < to; i++ {
		vector.Blend(c.row(i), c.columns, c.rows[i])
		c.row(i)[i] -= 2
	}
}
