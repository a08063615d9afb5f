//go:build !amd64

package hybrid

// multiply is only implemented for CPUs with vector instructions.
func multiply([]int16, []int8, []int32) bool { return false }
