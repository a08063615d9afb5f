package vector

// A product is computed in tiles of 4 x 16 numbers, which fit into registers. Each number is summed
// in the order of the inner index in any tile, so the bits do not depend on how the work is
// divided.
const (
	tileRows    = 4
	tileColumns = 16
	block       = 256 // part of the inner index at a time, so that a panel stays in the cache
)

// Matrix is a matrix stored by rows, or by columns if it is flipped.
type Matrix struct {
	Data          []float32
	Rows, Columns int
	Stride        int // distance from one row to the next, or from one column if Flipped
	Flipped       bool
}

// Of returns a matrix of rows without gaps.
func Of(data []float32, rows, columns int) Matrix {
	return Matrix{Data: data, Rows: rows, Columns: columns, Stride: columns}
}

// Flip returns the transposed matrix.
func (m Matrix) Flip() Matrix {
	m.Rows, m.Columns, m.Flipped = m.Columns, m.Rows, !m.Flipped
	return m
}

// Packed is a matrix in the order in which a product reads it.
type Packed struct {
	panels        []float32 // 16 columns each, row after row
	rows, columns int
}

// Pack copies a matrix into the order for the right side of products. Its number of columns must be
// a multiple of 16. Pack reuses the memory of the matrix packed before.
func (p *Packed) Pack(m Matrix, each func(n int, do func(i int))) {
	p.rows, p.columns = m.Rows, m.Columns
	if size := m.Rows * m.Columns; cap(p.panels) < size {
		p.panels = make([]float32, size)
	}
	p.panels = p.panels[:m.Rows*m.Columns]
	each(m.Columns/tileColumns, func(i int) {
		m.pack(p.panels[i*m.Rows*tileColumns:][:m.Rows*tileColumns], i*tileColumns)
	})
}

// pack copies 16 columns, row after row.
func (m Matrix) pack(panel []float32, column int) {
	if m.Flipped {
		for j := range tileColumns {
			for k, x := range m.Data[(column+j)*m.Stride:][:m.Rows] {
				panel[k*tileColumns+j] = x
			}
		}
		return
	}
	for k := range m.Rows {
		copy(panel[k*tileColumns:(k+1)*tileColumns], m.Data[k*m.Stride+column:])
	}
}

// Multiply adds rows of left x right to the same rows of product, which must not be flipped. The
// number of rows must be a multiple of 4.
func Multiply(product, left Matrix, right *Packed, from, to int) {
	var slab [block * tileRows]float32
	for start := 0; start < left.Columns; start += block {
		depth := min(block, left.Columns-start)
		for row := from; row < to; row += tileRows {
			left.slab(slab[:], row, start, depth)
			for column := 0; column < right.columns; column += tileColumns {
				panel := right.panels[column*right.rows+start*tileColumns:][:depth*tileColumns]
				tile(depth, slab[:], panel, product.Data[row*product.Stride+column:], product.Stride)
			}
		}
	}
}

// slab copies a part of 4 rows, column after column.
func (m Matrix) slab(to []float32, row, start, depth int) {
	if m.Flipped {
		for k := range depth {
			copy(to[k*tileRows:(k+1)*tileRows], m.Data[(start+k)*m.Stride+row:])
		}
		return
	}
	for i := range tileRows {
		for k, x := range m.Data[(row+i)*m.Stride+start:][:depth] {
			to[k*tileRows+i] = x
		}
	}
}

// tile adds the product of a slab and a panel to 4 x 16 numbers.
func tile(depth int, slab, panel, product []float32, stride int) {
	_ = product[(tileRows-1)*stride+tileColumns-1]
	if fast {
		tileFast(depth, &slab[0], &panel[0], &product[0], stride)
		return
	}
	tilePlain(depth, slab, panel, product, stride)
}
