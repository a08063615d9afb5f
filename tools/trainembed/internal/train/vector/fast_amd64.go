package vector

import "golang.org/x/sys/cpu"

// fast reports whether the processor has the instructions that the assembly uses.
var fast = cpu.X86.HasAVX2

//go:noescape
func addFast(dst, src []float32, weight float32)

//go:noescape
func expFast(row []float32, scale, shift float32, sums *[Lanes]float32)

//go:noescape
func blendFast(row, others []float32, own float32)

//go:noescape
func adamFast(p *Adam, x, m, v, gradient []float32)

//go:noescape
func tileFast(depth int, slab, panel, product *float32, stride int)
