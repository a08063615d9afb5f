package hybrid

import "golang.org/x/sys/cpu"

// multiply sums up the products of the needle and each row; there are as many rows as places in out, at least one. It does
// nothing and returns false on a machine without the instructions for it.
func multiply(needle []int16, rows []int8, out []int32) bool {
	if !cpu.X86.HasAVX2 {
		return false
	}
	_ = rows[len(needle)*len(out)-1]
	multiplyAVX2(&needle[0], &rows[0], len(needle), len(out), &out[0])
	return true
}

// multiplyAVX2 takes rows of a width that is a multiple of 16. Neither width nor count is 0.
//
//go:noescape
func multiplyAVX2(needle *int16, rows *int8, width, count int, out *int32)
