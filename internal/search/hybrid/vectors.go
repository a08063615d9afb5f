package hybrid

import "math"

// rowUnit is the number of bytes that an instruction processes at once. The width of a row is a
// multiple of it.
const rowUnit = 16

// rowWidth returns the number of bytes in a row of dim dimensions.
func rowWidth(dim int) int { return (dim + rowUnit - 1) / rowUnit * rowUnit }

// addVector adds a row: the vector quantized to 8 bits per number, with a scale that normalizes it
// to length 1.
func (c *core) addVector(v []float32, dim int) {
	at := len(c.vectors)
	c.vectors = append(c.vectors, make([]int8, c.width)...)
	top, length, ok := measure(v, dim)
	if !ok {
		c.scales = append(c.scales, 0)
		return
	}
	row := c.vectors[at:]
	for i, f := range v {
		row[i] = int8(math.RoundToEven(float64(f) / top * math.MaxInt8))
	}
	c.scales = append(c.scales, float32(top/math.MaxInt8/length))
}

// measure returns the largest absolute value in a vector, and the vector's length. It returns false
// for an invalid vector: one with another number of dimensions, or with a length that is zero or
// not finite.
func measure(v []float32, dim int) (top, length float64, ok bool) {
	var sum float64
	for _, f := range v {
		if size := math.Abs(float64(f)); size > top { // much faster than max
			top = size
		}
		sum += float64(f) * float64(f)
	}
	length = math.Sqrt(sum)
	return top, length, len(v) == dim && length > 0 && !math.IsInf(length, 1)
}

// queryVector is the vector of a query, quantized to at most 16 bits per number, so that no sum
// overflows.
type queryVector struct {
	row   []int16
	scale float32
	// exact is the vector, normalized to length 1.
	exact []float32
}

// newQueryVector returns nil for a vector that is to be ignored.
func newQueryVector(v []float32, dim int) *queryVector {
	top, length, ok := measure(v, dim)
	if !ok {
		return nil
	}
	width := rowWidth(dim)
	limit := float64(min(math.MaxInt16, math.MaxInt32/(math.MaxInt8*width)))
	n := &queryVector{row: make([]int16, width), scale: float32(top / limit / length), exact: make([]float32, dim)}
	for i, f := range v {
		n.row[i] = int16(math.RoundToEven(float64(f) / top * limit))
		n.exact[i] = float32(float64(f) / length)
	}
	return n
}

// cosine returns the cosine of the query and a vector that is not quantized. It returns false if
// the vector is invalid.
func (n *queryVector) cosine(v []float32) (float32, bool) {
	_, length, ok := measure(v, len(n.exact))
	if !ok {
		return 0, false
	}
	var sum float64
	for i, f := range v {
		sum += float64(f) * float64(n.exact[i])
	}
	return float32(sum / length), true
}

// products computes the dot product with each row.
func (n *queryVector) products(rows []int8, out []int32) {
	if len(out) > 0 && !multiply(n.row, rows, out) {
		multiplyGeneric(n.row, rows, out)
	}
}

// multiplyGeneric is multiply in portable Go.
func multiplyGeneric(query []int16, rows []int8, out []int32) {
	width := len(query)
	for i := range out {
		row := rows[i*width:][:width]
		var a, b, c, d int32
		for j := 0; j+4 <= width; j += 4 {
			n, r := query[j:j+4:j+4], row[j:j+4:j+4]
			a += int32(n[0]) * int32(r[0])
			b += int32(n[1]) * int32(r[1])
			c += int32(n[2]) * int32(r[2])
			d += int32(n[3]) * int32(r[3])
		}
		out[i] = a + b + c + d
	}
}
