package hybrid

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"unsafe"
)

// A Snapshot is the content of an index at one time.
type Snapshot struct {
	view *view
	dim  int
}

// Snapshot returns the current content. It is cheap, and changes of the index do not affect it.
func (x *Index) Snapshot() *Snapshot { return &Snapshot{x.now.Load(), x.dim} }

// unit is the alignment of the arrays in a saved snapshot, so that they are used where they are.
const unit = 8

// isLittleEndian reports whether the arrays of this machine have the byte order of saved ones.
func isLittleEndian() bool {
	return binary.NativeEndian.Uint16([]byte{1, 0}) == 1
}

// Save writes a snapshot. rename returns the number of a chunk in the saved snapshot, and false to
// leave it out. What is written is aligned if w is at a multiple of 8 bytes.
func (s *Snapshot) Save(w io.Writer, rename func(ID) (ID, bool)) error {
	if !isLittleEndian() {
		return errors.ErrUnsupported
	}
	var renamed []segment
	for _, g := range s.view.segments {
		if g = g.renamed(rename); g.live() > 0 {
			renamed = append(renamed, g)
		}
	}
	e := &encoder{w: w}
	e.numbers(uint64(s.dim), uint64(len(renamed)))
	for _, g := range renamed {
		e.numbers(uint64(len(g.ids)), uint64(len(g.terms)), uint64(len(g.postings)), uint64(len(g.dead)))
		put(e, g.ids)
		put(e, g.lengths)
		put(e, g.scales)
		put(e, g.dead)
		put(e, g.terms)
		put(e, g.starts)
		put(e, g.postings)
		put(e, g.vectors)
	}
	return e.err
}

// renamed returns a segment with other numbers, without the chunks that are left out.
func (s segment) renamed(rename func(ID) (ID, bool)) segment {
	changed := *s.core
	changed.ids = make([]ID, len(s.ids))
	var out []uint16
	for slot, id := range s.ids {
		to, kept := rename(id)
		switch {
		case s.isDead(slot):
		case kept:
			changed.ids[slot] = to
		default:
			out = append(out, uint16(slot))
		}
	}
	s.core = &changed
	return s.without(out)
}

// encoder writes arrays. After an error it does nothing.
type encoder struct {
	w   io.Writer
	err error
}

func (e *encoder) numbers(list ...uint64) { put(e, list) }

// put writes an array in the byte order of this machine, and pads it.
func put[T ID | uint16 | uint32 | uint64 | float32 | int8 | byte](e *encoder, list []T) {
	if e.err != nil || len(list) == 0 {
		return
	}
	size := len(list) * int(unsafe.Sizeof(list[0]))
	_, e.err = e.w.Write(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(list))), size))
	if rest := size % unit; rest != 0 && e.err == nil {
		_, e.err = e.w.Write(make([]byte, unit-rest))
	}
}

// errDamaged means that data is not what Save wrote.
var errDamaged = errors.New("the saved index is damaged")

// Restore replaces the content of the index by what Save wrote. The index uses data as long as it
// exists; data must not change, and must begin at a multiple of 8 bytes. Data that was not written
// by Save gives an error or wrong results, but no panic. After an error the index is unchanged.
func (x *Index) Restore(data []byte) error {
	if !isLittleEndian() || uintptr(unsafe.Pointer(unsafe.SliceData(data)))%unit != 0 {
		return errors.ErrUnsupported
	}
	d := &decoder{rest: data}
	head := get[uint64](d, 2)
	if head == nil || head[0] != uint64(x.dim) {
		return fmt.Errorf("read the number of dimensions: %w", errDamaged)
	}
	var segments []segment
	live := 0
	for range head[1] {
		g, err := d.segment(rowWidth(x.dim))
		if err != nil {
			return err
		}
		live += g.live()
		segments = append(segments, g)
	}
	where := make(map[ID]place, live)
	for _, g := range segments {
		for slot, id := range g.ids {
			if !g.isDead(slot) {
				where[id] = place{in: g.core, slot: uint16(slot)}
			}
		}
	}
	if len(where) != live || len(d.rest) > 0 {
		return fmt.Errorf("read the chunks: %w", errDamaged)
	}
	x.writing.Lock()
	defer x.writing.Unlock()
	x.where = where
	x.publish(segments)
	return nil
}

// decoder reads arrays in place.
type decoder struct{ rest []byte }

// get returns the next array of n elements; nil if there are not so many.
func get[T ID | uint16 | uint32 | uint64 | float32 | int8 | byte](d *decoder, n uint64) []T {
	var element T
	size := uint64(unsafe.Sizeof(element))
	if n == 0 || n > uint64(len(d.rest))/size {
		return nil
	}
	list := unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(d.rest))), n)
	d.rest = d.rest[min(uint64(len(d.rest)), (n*size+unit-1)/unit*unit):]
	return list
}

// segment reads a segment with rows of width bytes, and checks everything in it but the postings,
// which are checked when they are read.
func (d *decoder) segment(width int) (segment, error) {
	bad := fmt.Errorf("read a segment: %w", errDamaged)
	head := get[uint64](d, 4)
	if head == nil || head[0] > maxSegment || head[1] > math.MaxUint32 || head[3] != 0 && head[3] != (head[0]+63)/64 {
		return segment{}, bad
	}
	n := head[0]
	c := &core{width: width, ids: get[ID](d, n), lengths: get[uint16](d, n), scales: get[float32](d, n)}
	g := segment{core: c, dead: get[uint64](d, head[3])}
	c.terms, c.starts = get[uint64](d, head[1]), get[uint32](d, head[1]+1)
	c.postings, c.vectors = get[byte](d, head[2]), get[int8](d, n*uint64(width))
	if n == 0 || c.ids == nil || c.lengths == nil || c.scales == nil || len(g.dead) != int(head[3]) || !c.sound() ||
		len(c.vectors) != int(n)*width {
		return segment{}, bad
	}
	for slot, size := range c.lengths {
		c.length += int64(size)
		if !g.isDead(slot) {
			g.words += int64(size)
		}
	}
	for _, word := range g.dead {
		g.deleted += bits.OnesCount64(word)
	}
	if tail := n % 64; g.dead != nil && tail != 0 && g.dead[len(g.dead)-1]>>tail != 0 || g.live() <= 0 {
		return segment{}, bad
	}
	return g, nil
}

// sound reports whether the terms are sorted, each has a list, and all scales are numbers.
func (c *core) sound() bool {
	if len(c.starts) != len(c.terms)+1 || c.starts[0] != 0 || int(c.starts[len(c.terms)]) != len(c.postings) {
		return false
	}
	for i := range c.terms {
		if c.starts[i] >= c.starts[i+1] || i > 0 && c.terms[i-1] >= c.terms[i] {
			return false
		}
	}
	for _, scale := range c.scales {
		if !(scale >= 0 && scale <= math.MaxFloat32) {
			return false
		}
	}
	return true
}
