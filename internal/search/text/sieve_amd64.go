package text

import "golang.org/x/sys/cpu"

// sifts tells whether sift does anything.
func sifts() bool { return cpu.X86.HasAVX2 }

// sift looks at places of data from at on, as long as many of them are left and the machine has the instructions for it. It returns the
// first of 32 places, a bit of marks each, of which some may be those that are looked for, or where it has come to and no marks.
func (n *nibbles) sift(data []byte, at, until int) (block int, marks uint32) {
	whole := min(until, len(data)-(window-1)) - at
	if whole < 32 || !sifts() {
		return at, 0
	}
	skipped, marks := siftAVX2(n, &data[at], whole&^31)
	return at + skipped, marks
}

// drawChart draws as many words as the chart has. The data is as much longer as the probes need.
func drawChart(probes []probe, data []byte, c *chart) {
	drawAVX2(&probes[0], len(probes), &data[0], c.words, &c.places, &c.ends)
}

// siftAVX2 looks at count places, which is a multiple of 32 and not 0, and reads two bytes more.
//
//go:noescape
func siftAVX2(n *nibbles, data *byte, count int) (at int, marks uint32)

// drawAVX2 looks at 64 places for each word, and reads as many bytes more as there are probes, less one. There is at least one
// of each.
//
//go:noescape
func drawAVX2(probes *probe, count int, data *byte, words int, places, ends *[chartWords]uint64)
