//go:build !amd64

package text

// sifts tells whether sift does anything.
func sifts() bool { return false }

// sift is there for machines with instructions for it.
func (n *nibbles) sift(_ []byte, at, _ int) (block int, marks uint32) { return at, 0 }

// drawChart is there for machines with instructions for it.
func drawChart([]probe, []byte, *chart) {}
