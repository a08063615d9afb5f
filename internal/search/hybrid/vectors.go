package hybrid

import "math"

// rowUnit is what the width of a row is a multiple of: what an instruction takes at once.
const rowUnit = 16

// rowWidth is how many bytes a row of so many dimensions takes.
func rowWidth(dim int) int { return (dim + rowUnit - 1) / rowUnit * rowUnit }

// addVector adds a row: the vector in 8 bits a number, with a scale of its own that makes its length 1.
func (c *core) addVector(v []float32, dim int) {
	at := len(c.vectors)
	c.vectors = append(c.vectors, make([]int8, c.width)...)
	top, length, ok := extent(v, dim)
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

// extent returns the largest number of a vector without its sign, and the vector's length. It is false for a vector that
// says nothing.
func extent(v []float32, dim int) (top, length float64, ok bool) {
	var sum float64
	for _, f := range v {
		if size := math.Abs(float64(f)); size > top { // which is a good deal faster than max
			top = size
		}
		sum += float64(f) * float64(f)
	}
	length = math.Sqrt(sum)
	return top, length, len(v) == dim && length > 0 && !math.IsInf(length, 1)
}

// needle is a vector that is looked for, in 16 bits a number, of which so many are used that no sum overflows.
type needle struct {
	row   []int16
	scale float32
	// exact is the vector with length 1.
	exact []float32
}

// newNeedle returns nil for a vector that says nothing.
func newNeedle(v []float32, dim int) *needle {
	top, length, ok := extent(v, dim)
	if !ok {
		return nil
	}
	width := rowWidth(dim)
	limit := float64(min(math.MaxInt16, math.MaxInt32/(math.MaxInt8*width)))
	n := &needle{row: make([]int16, width), scale: float32(top / limit / length), exact: make([]float32, dim)}
	for i, f := range v {
		n.row[i] = int16(math.RoundToEven(float64(f) / top * limit))
		n.exact[i] = float32(float64(f) / length)
	}
	return n
}

// cosine compares with a vector as it is kept elsewhere. It is false for one that says nothing.
func (n *needle) cosine(v []float32) (float32, bool) {
	_, length, ok := extent(v, len(n.exact))
	if !ok {
		return 0, false
	}
	var sum float64
	for i, f := range v {
		sum += float64(f) * float64(n.exact[i])
	}
	return float32(sum / length), true
}

// products computes what rows and the needle have in common, a number for each row.
func (n *needle) products(rows []int8, out []int32) {
	if len(out) > 0 && !multiply(n.row, rows, out) {
		multiplyPlainly(n.row, rows, out)
	}
}

// multiplyPlainly is multiply for any machine.
func multiplyPlainly(needle []int16, rows []int8, out []int32) {
	width := len(needle)
	for i := range out {
		row := rows[i*width:][:width]
		var a, b, c, d int32
		for j := 0; j+4 <= width; j += 4 {
			n, r := needle[j:j+4:j+4], row[j:j+4:j+4]
			a += int32(n[0]) * int32(r[0])
			b += int32(n[1]) * int32(r[1])
			c += int32(n[2]) * int32(r[2])
			d += int32(n[3]) * int32(r[3])
		}
		out[i] = a + b + c + d
	}
}
