package vector

import "math"

// Every product is converted before it is added. Otherwise the compiler could do both in one
// instruction with a single rounding.

func addPlain(dst, src []float32, weight float32) {
	for i := range dst {
		dst[i] += float32(src[i] * weight)
	}
}

const (
	log2e  float32 = 1.44269504
	ln2    float32 = 0.693359375 // exact in few bits; rest holds the remainder
	rest   float32 = -2.12194440e-4
	power2 float32 = 0.5
	power3 float32 = 1.0 / 6
	power4 float32 = 1.0 / 24
	power5 float32 = 1.0 / 120
	power6 float32 = 1.0 / 720
)

func expPlain(row []float32, scale, shift float32, sums *[Lanes]float32) {
	for i, x := range row {
		row[i] = exp(float32(x*scale) - shift)
		sums[i%Lanes] += row[i]
	}
}

// exp computes 2^n x e^r, with r from -ln 2 / 2 to ln 2 / 2.
func exp(x float32) float32 {
	n := float32(math.RoundToEven(float64(float32(x * log2e))))
	r := x - float32(n*ln2)
	r -= float32(n * rest)
	e := float32(power6*r) + power5
	e = float32(e*r) + power4
	e = float32(e*r) + power3
	e = float32(e*r) + power2
	e = float32(e*r) + 1
	e = float32(e*r) + 1
	return e * math.Float32frombits(uint32(int32(n)+127)<<23)
}

func blendPlain(row, others []float32, own float32) {
	for i := range row {
		row[i] *= others[i] + own
	}
}

func adamPlain(p *Adam, x, m, v, gradient []float32) {
	for i, g := range gradient {
		m[i] = float32(m[i]*p.Keep1) + float32(g*p.New1)
		v[i] = float32(v[i]*p.Keep2) + float32(float32(g*g)*p.New2)
		x[i] -= float32(m[i]*p.Rate) / (Root(v[i]*p.Unbias) + p.Epsilon)
	}
}

func tilePlain(depth int, a, b, c []float32, stride int) {
	for i := range tileRows {
		for j := range tileColumns {
			sum := c[i*stride+j]
			for k := range depth {
				sum += float32(a[k*tileRows+i] * b[k*tileColumns+j])
			}
			c[i*stride+j] = sum
		}
	}
}
