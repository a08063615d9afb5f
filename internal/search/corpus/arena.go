package corpus

import (
	"sync/atomic"
	"unsafe"

	"remit/internal/search/offheap"
)

const (
	// An allocator's first arena has the size smallArena. Each is twice as large as the one before,
	// up to largeArena.
	smallArena = 256 << 10
	largeArena = 4 << 20
)

// An arena is memory outside the heap, which the garbage collector neither counts nor scans. It has
// a reference count; the last release returns it to the system.
type arena struct {
	data    []byte
	outside bool
	refs    atomic.Int32
	live    int64 // bytes that the newest view uses; guarded by Corpus.mu
	index   bool  // it holds trigrams, not texts
	// It has texts that are not in the view yet, or will get more; guarded by Corpus.mu.
	filling bool
}

// newArena returns an arena with one reference, which belongs to the caller.
func newArena(size int, atOnce bool) *arena {
	a := &arena{}
	a.data, a.outside = offheap.Alloc(max(size, 1), atOnce)
	a.refs.Store(1)
	return a
}

func (a *arena) acquire() { a.refs.Add(1) }

// release drops a reference. After the last one nothing in the arena may be accessed.
func (a *arena) release() {
	if a.refs.Add(-1) == 0 && a.outside {
		offheap.Free(a.data)
	}
}

// numbers returns size 32-bit numbers that begin at offset, which must be a multiple of four.
func (a *arena) numbers(offset, size int) []uint32 {
	b := a.data[offset : offset+4*size]
	if size == 0 {
		return nil
	}
	return unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(b))), size)
}

// An allocator places texts one after another in arenas. A large text gets an arena of its own. It
// must be used by one goroutine at a time.
type allocator struct {
	onNew     func(*arena) // called for every new arena
	onFull    func(*arena) // called for every full arena, once its texts are in the view
	full      []*arena
	at        *arena // the arena being filled
	used      int    // bytes used of it
	next      int    // size of the next arena
	lastArena *arena // the arena of the last alloc
}

// alloc returns size unused bytes. The next call returns the same bytes again unless keep is
// called.
func (l *allocator) alloc(size int) []byte {
	switch {
	case l.has(int64(size)):
		l.lastArena = l.at
		return l.at.data[l.used : l.used+size]
	case size > largeArena/4:
		l.lastArena = newArena(size, true)
		l.onNew(l.lastArena)
		l.full = append(l.full, l.lastArena)
		return l.lastArena.data
	}
	l.retire()
	l.at = newArena(int(l.arenaSize(int64(size))), true)
	l.next = min(2*max(l.next, smallArena), largeArena)
	l.onNew(l.at)
	return l.alloc(size)
}

// has reports whether the arena being filled has size bytes left.
func (l *allocator) has(size int64) bool { return l.at != nil && int64(len(l.at.data)-l.used) >= size }

// arenaSize returns the size of the arena that alloc would create for size bytes.
func (l *allocator) arenaSize(size int64) int64 {
	if size > largeArena/4 {
		return size
	}
	return max(int64(l.next), smallArena, size)
}

// keep reserves the first size bytes of the last alloc. They are never returned again.
func (l *allocator) keep(size int) *arena {
	if l.lastArena == l.at {
		l.used += size
	}
	return l.lastArena
}

// retire ends the arena being filled.
func (l *allocator) retire() {
	if l.at != nil {
		l.full = append(l.full, l.at)
	}
	l.at, l.used = nil, 0
}

// publish must be called when the kept texts are in the view, or will never be.
func (l *allocator) publish() {
	for _, a := range l.full {
		l.onFull(a)
	}
	l.full, l.lastArena = nil, nil
}

// close ends the last arena and calls publish. The allocator must not be used afterwards.
func (l *allocator) close() {
	l.retire()
	l.publish()
}
