//go:build !amd64

package text

// hasVectorScan reports whether the CPU supports scan.
func hasVectorScan() bool { return false }

// scan is only implemented for CPUs with vector instructions.
func (n *nibbles) scan(_ []byte, at, _ int) (block int, marks uint32) { return at, 0 }

// fillBitmap is only implemented for CPUs with vector instructions.
func fillBitmap([]probe, []byte, *bitmap) {}
