package hybrid

import "golang.org/x/sys/cpu"

// multiply computes the dot product of the query with each row. There must be as many rows as
// elements of out, at least one. It does nothing and returns false on a CPU without AVX2.
func multiply(query []int16, rows []int8, out []int32) bool {
	if !cpu.X86.HasAVX2 {
		return false
	}
	_ = rows[len(query)*len(out)-1]
	multiplyAVX2(&query[0], &rows[0], len(query), len(out), &out[0])
	return true
}

// multiplyAVX2 requires a width that is a multiple of 16. Neither width nor count may be 0.
//
//go:noescape
func multiplyAVX2(query *int16, rows *int8, width, count int, out *int32)
