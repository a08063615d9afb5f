package tree

import (
	"math/bits"
	"time"
)

// kind is the type of a directory entry.
type kind uint8

const (
	unknown kind = iota
	regular
	symlink
	directory
	irregular // a FIFO, a socket, a device
)

// identity identifies a file or folder.
type identity struct{ device, inode uint64 }

// status is the result of a stat call.
type status struct {
	identity
	kind     kind
	size     int64
	modified int64 // nanoseconds since 1970, of the content
	changed  int64 // the same, of any change, set by the system alone; 0 if there is none
}

// stamp is a hash of a status; 0 means none. Different stamps come from different statuses. Equal
// stamps that are not racy come from the same status, except for one case in 2^62.
type stamp = uint64

// racy marks a stamp that a later write might not change.
const racy stamp = 1 << 63

// stamp returns the stamp of a status that was read at now or later. Systems set times to the last
// tick of a clock. A file that was changed within the last tick can be written again within it and
// keep its size and times.
func (s *status) stamp(now time.Time, tick time.Duration) stamp {
	newest := max(s.modified, s.changed)
	if s.modified%1e9 == 0 && s.changed%1e9 == 0 {
		tick = coarseTick
	}
	mark := s.mark()
	if newest > now.UnixNano()-int64(tick) {
		mark |= racy
	}
	return mark
}

// Ticks of clocks: those of kernels take up to 10 ms, old and foreign file systems have a
// resolution of one or two seconds.
const (
	fineTick   = 20 * time.Millisecond
	coarseTick = 2 * time.Second
)

// mark returns the stamp without the racy bit.
func (s *status) mark() stamp {
	mark := stamp(s.kind)
	for _, part := range [...]uint64{s.device, s.inode, uint64(s.size), uint64(s.modified), uint64(s.changed)} {
		high, low := bits.Mul64(mark^part^0x9e3779b97f4a7c15, 0xd6e8feb86659fd93)
		mark = high ^ low ^ bits.RotateLeft64(mark, 23)
	}
	return mark>>1 | 1
}

// same reports whether a status is certainly the one that the stamp was made of.
func (s *status) same(noted stamp) bool { return noted&racy == 0 && s.mark() == noted }
