package vector

import (
	"math"
	"math/rand/v2"
	"testing"
)

func numbers(random *rand.Rand, n int, scale float64) []float32 {
	row := make([]float32, n)
	for i := range row {
		row[i] = float32((random.Float64()*2 - 1) * scale)
	}
	return row
}

func same(t *testing.T, what string, fast, plain []float32) {
	t.Helper()
	for i := range fast {
		if math.Float32bits(fast[i]) != math.Float32bits(plain[i]) {
			t.Fatalf("%s: %x and %x at %d", what, math.Float32bits(fast[i]), math.Float32bits(plain[i]), i)
		}
	}
}

func clone(row []float32) []float32 { return append([]float32(nil), row...) }

// TestTwins: the assembly and the Go version give the same bits.
func TestTwins(t *testing.T) {
	if !fast {
		t.Skip("this processor runs the plain twin alone")
	}
	random := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 8, 16, 256, 1024} {
		for range 20 {
			x, y, w := numbers(random, n, 1), numbers(random, n, 1), float32(random.Float64())
			x1, x2 := clone(x), clone(x)
			addFast(x1, y, w)
			addPlain(x2, y, w)
			same(t, "add", x1, x2)

			var s1, s2 [Lanes]float32
			x1, x2 = clone(x), clone(x)
			expFast(x1, 20, 20, &s1)
			expPlain(x2, 20, 20, &s2)
			same(t, "exp", x1, x2)
			same(t, "sums", s1[:], s2[:])

			x1, x2 = clone(x), clone(x)
			blendFast(x1, y, w)
			blendPlain(x2, y, w)
			same(t, "blend", x1, x2)
			twinsOfAdam(t, random, x)
		}
	}
}

func twinsOfAdam(t *testing.T, random *rand.Rand, x []float32) {
	t.Helper()
	p := Adam{.9, .1, .98, .02, .003, 1.7, 1e-8}
	m, v, g := numbers(random, len(x), .1), numbers(random, len(x), .01), numbers(random, len(x), .1)
	for i := range v {
		v[i] *= v[i]
	}
	x1, m1, v1, x2, m2, v2 := clone(x), clone(m), clone(v), clone(x), clone(m), clone(v)
	adamFast(&p, x1, m1, v1, g)
	adamPlain(&p, x2, m2, v2, g)
	same(t, "adam x", x1, x2)
	same(t, "adam m", m1, m2)
	same(t, "adam v", v1, v2)
}

func inTurn(n int, do func(i int)) {
	for i := range n {
		do(i)
	}
}

// TestMultiply: every layout of the left and right side gives the sums of the naive triple loop,
// bit for bit.
func TestMultiply(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for _, size := range [][3]int{{4, 16, 1}, {8, 32, 256}, {12, 16, 300}, {64, 48, 640}} {
		m, n, depth := size[0], size[1], size[2]
		left, right := numbers(random, m*depth, 1), numbers(random, depth*n, 1)
		want := make([]float32, m*n)
		for i := range m {
			for j := range n {
				for k := range depth {
					want[i*n+j] += float32(left[i*depth+k] * right[k*n+j])
				}
			}
		}
		for _, flipLeft := range []bool{false, true} {
			for _, flipRight := range []bool{false, true} {
				var packed Packed
				packed.Pack(layout(right, depth, n, flipRight), inTurn)
				got := make([]float32, m*n)
				Multiply(Of(got, m, n), layout(left, m, depth, flipLeft), &packed, m/2/4*4, m)
				Multiply(Of(got, m, n), layout(left, m, depth, flipLeft), &packed, 0, m/2/4*4)
				same(t, "product", got, want)
			}
		}
	}
}

// layout returns a matrix with the given rows, stored by rows or by columns.
func layout(data []float32, rows, columns int, flipped bool) Matrix {
	if !flipped {
		return Of(data, rows, columns)
	}
	turned := make([]float32, len(data))
	for i := range rows {
		for j := range columns {
			turned[j*rows+i] = data[i*columns+j]
		}
	}
	return Of(turned, columns, rows).Flip()
}

func TestTileTwin(t *testing.T) {
	if !fast {
		t.Skip("this processor runs the plain twin alone")
	}
	random := rand.New(rand.NewPCG(5, 6))
	a, b, c := numbers(random, 4*100, 1), numbers(random, 16*100, 1), numbers(random, 4*20, 1)
	c1, c2 := clone(c), clone(c)
	tileFast(100, &a[0], &b[0], &c1[0], 20)
	tilePlain(100, a, b, c2, 20)
	same(t, "tile", c1, c2)
}

func TestExp(t *testing.T) {
	for x := -80.0; x < 80; x += .137 {
		if got, want := float64(exp(float32(x))), math.Exp(float64(float32(x))); math.Abs(got/want-1) > 1e-6 {
			t.Errorf("e^%v is %v, want %v", x, got, want)
		}
	}
}

func BenchmarkMultiply(b *testing.B) {
	random := rand.New(rand.NewPCG(7, 8))
	const rows, columns, depth = 64, 1024, 256
	left, right := numbers(random, rows*depth, 1), numbers(random, columns*depth, 1)
	var packed Packed
	packed.Pack(Of(right, columns, depth).Flip(), inTurn)
	product := make([]float32, rows*columns)
	for b.Loop() {
		Multiply(Of(product, rows, columns), Of(left, rows, depth), &packed, 0, rows)
	}
	b.ReportMetric(float64(2*rows*columns*depth)*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GFLOP/s")
}
