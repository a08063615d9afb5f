//go:build !amd64

package vector

const fast = false

func addFast(dst, src []float32, weight float32) { addPlain(dst, src, weight) }
func expFast(row []float32, scale, shift float32, sums *[Lanes]float32) {
	expPlain(row, scale, shift, sums)
}
func blendFast(row, others []float32, own float32)  { blendPlain(row, others, own) }
func adamFast(p *Adam, x, m, v, gradient []float32) { adamPlain(p, x, m, v, gradient) }
func tileFast(_ int, _, _, _ *float32, _ int)       {}
