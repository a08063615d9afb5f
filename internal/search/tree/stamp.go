package tree

import (
	"math/bits"
	"time"
)

// kind is what a name stands for.
type kind uint8

const (
	unknown kind = iota
	regular
	symlink
	directory
	irregular // a FIFO, a socket, a device
)

// identity tells one file or folder from another.
type identity struct{ device, inode uint64 }

// status is what the system knows of a file or folder.
type status struct {
	identity
	kind     kind
	size     int64
	modified int64 // nanoseconds since 1970, of the content
	changed  int64 // the same, of anything, set by the system alone; 0 where there is none
}

// stamp stands for a status: 0 for none. Two that differ are of different statuses; two that are equal and not racy are of the
// same, but for one case in 2^62.
type stamp = uint64

// racy marks a stamp that a later write might leave as it is.
const racy stamp = 1 << 63

// stamp of a status that was asked for at now, or later. Systems note times of the last tick of a clock: what is as young as a tick
// can be written again within it, and have the same size and times.
func (s *status) stamp(now time.Time, tick time.Duration) stamp {
	newest := max(s.modified, s.changed)
	if s.modified%1e9 == 0 && s.changed%1e9 == 0 {
		tick = coarse
	}
	mark := s.mark()
	if newest > now.UnixNano()-int64(tick) {
		mark |= racy
	}
	return mark
}

// Ticks of clocks: those of kernels take up to 10 ms, old and foreign file systems count by one or two seconds.
const (
	fine   = 20 * time.Millisecond
	coarse = 2 * time.Second
)

// mark is the stamp without a word on whether it is racy.
func (s *status) mark() stamp {
	mark := stamp(s.kind)
	for _, part := range [...]uint64{s.device, s.inode, uint64(s.size), uint64(s.modified), uint64(s.changed)} {
		high, low := bits.Mul64(mark^part^0x9e3779b97f4a7c15, 0xd6e8feb86659fd93)
		mark = high ^ low ^ bits.RotateLeft64(mark, 23)
	}
	return mark>>1 | 1
}

// same tells whether a status is the one that a stamp was made of, for sure.
func (s *status) same(noted stamp) bool { return noted&racy == 0 && s.mark() == noted }
