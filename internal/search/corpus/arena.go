package corpus

import (
	"sync/atomic"
	"unsafe"
)

const (
	smallArena = 256 << 10 // the first that an allocator takes; each is twice the one before,
	largeArena = 4 << 20   // up to this one
)

// An arena is memory outside the heap, which the garbage collector neither counts nor reads. Whoever uses what is in it holds
// it; the last to let go gives it back to the system.
type arena struct {
	data    []byte
	outside bool
	holds   atomic.Int32
	live    int64 // bytes of it that the newest view uses; guarded by Corpus.mu
	index   bool  // it is for trigrams, not for texts
	filling bool  // it has texts that are not in the view yet, or gets more; guarded by Corpus.mu
}

// newArena returns one that the caller holds.
func newArena(size int, atOnce bool) *arena {
	a := &arena{}
	a.data, a.outside = mapMemory(max(size, 1), atOnce)
	a.holds.Store(1)
	return a
}

func (a *arena) hold() { a.holds.Add(1) }

// letGo ends a hold. After the last one nothing in the arena may be touched.
func (a *arena) letGo() {
	if a.holds.Add(-1) == 0 && a.outside {
		unmapMemory(a.data)
	}
}

// numbers returns size numbers of 32 bits that begin at an offset which is a multiple of four.
func (a *arena) numbers(offset, size int) []uint32 {
	b := a.data[offset : offset+4*size]
	if size == 0 {
		return nil
	}
	return unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(b))), size)
}

// An allocator puts texts one after another into arenas; a large one gets an arena of its own. It is used by one goroutine
// at a time.
type allocator struct {
	begun func(*arena) // is told of every arena that is begun
	ended func(*arena) // is told of every arena that is full, once its texts are in the view
	full  []*arena
	at    *arena // is being filled
	used  int    // bytes of it
	next  int    // the size of the next one
	given *arena // that the last room is in
}

// room returns size bytes that nobody uses. They are given again unless they are kept.
func (l *allocator) room(size int) []byte {
	switch {
	case l.has(int64(size)):
		l.given = l.at
		return l.at.data[l.used : l.used+size]
	case size > largeArena/4:
		l.given = newArena(size, true)
		l.begun(l.given)
		l.full = append(l.full, l.given)
		return l.given.data
	}
	l.retire()
	l.at = newArena(int(l.takes(int64(size))), true)
	l.next = min(2*max(l.next, smallArena), largeArena)
	l.begun(l.at)
	return l.room(size)
}

// has tells whether there are so many bytes in the arena that is being filled.
func (l *allocator) has(size int64) bool { return l.at != nil && int64(len(l.at.data)-l.used) >= size }

// takes returns the size of the arena that is begun for so many bytes.
func (l *allocator) takes(size int64) int64 {
	if size > largeArena/4 {
		return size
	}
	return max(int64(l.next), smallArena, size)
}

// keep takes the first bytes of the room that was given last. They are never given again.
func (l *allocator) keep(size int) *arena {
	if l.given == l.at {
		l.used += size
	}
	return l.given
}

// retire ends the arena that is being filled.
func (l *allocator) retire() {
	if l.at != nil {
		l.full = append(l.full, l.at)
	}
	l.at, l.used = nil, 0
}

// settle must be called when the texts that were kept are in the view, or never will be.
func (l *allocator) settle() {
	for _, a := range l.full {
		l.ended(a)
	}
	l.full, l.given = nil, nil
}

// close is settle for an allocator that is used no more.
func (l *allocator) close() {
	l.retire()
	l.settle()
}
