package text

import "golang.org/x/sys/cpu"

// hasVectorScan reports whether the CPU supports scan.
func hasVectorScan() bool { return cpu.X86.HasAVX2 }

// scan searches data from the offset at, in blocks of 32 places, while at least 32 are left and if
// the CPU has the instructions for it. It returns the start of the first block in which some places
// may match, and in marks one bit for each such place. If there is no such block, it returns the
// place that it reached, and zero.
func (n *nibbles) scan(data []byte, at, until int) (block int, marks uint32) {
	whole := min(until, len(data)-(window-1)) - at
	if whole < 32 || !hasVectorScan() {
		return at, 0
	}
	skipped, marks := scanAVX2(n, &data[at], whole&^31)
	return at + skipped, marks
}

// fillBitmap fills the words of the bitmap. The data must be longer than the bitmap by the number
// of probes less one.
func fillBitmap(probes []probe, data []byte, c *bitmap) {
	fillBitmapAVX2(&probes[0], len(probes), &data[0], c.words, &c.places, &c.ends)
}

// scanAVX2 searches count places, which must be a positive multiple of 32. It reads two bytes more.
//
//go:noescape
func scanAVX2(n *nibbles, data *byte, count int) (at int, marks uint32)

// fillBitmapAVX2 compares 64 places for each word. It reads as many bytes more as there are probes,
// less one. There must be at least one probe and one word.
//
//go:noescape
func fillBitmapAVX2(probes *probe, count int, data *byte, words int, places, ends *[bitmapWords]uint64)
