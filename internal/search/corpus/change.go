package corpus

import (
	"fmt"
	"slices"
	"strconv"
)

func (c *Corpus) newAllocator() *allocator {
	return &allocator{onNew: c.beginArena, onFull: c.endArena}
}

// beginArena adds an arena for texts to the corpus, which then owns its reference.
func (c *Corpus) beginArena(a *arena) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a.filling = true
	c.keepArena(a)
}

// keepArena adds an arena to the corpus. mu must be locked.
func (c *Corpus) keepArena(a *arena) {
	c.arenas = append(c.arenas, a)
	c.bytesOf(a).Add(int64(len(a.data)))
}

// endArena marks an arena as full, so that it can be released with its last text.
func (c *Corpus) endArena(a *arena) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a.filling = false
}

// dropArenas releases arenas that the newest view does not need. mu must be locked.
func (c *Corpus) dropArenas() {
	c.arenas = slices.DeleteFunc(c.arenas, func(a *arena) bool {
		idle := a.live == 0 && !a.filling
		if idle {
			c.bytesOf(a).Add(-int64(len(a.data)))
			a.release()
		}
		return idle
	})
}

// apply installs a view with the changes, which must be sorted and unique by path. complete says
// that there are no other changes.
func (c *Corpus) apply(changes []doc, complete bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(changes) == 0 && c.view.complete == complete {
		return
	}
	for i := range changes {
		changes[i].use(1)
	}
	var parts []*part
	at := 0
	c.view.split(changes, func(i int, some []doc) {
		parts = append(parts, c.view.parts[at:i]...)
		parts = append(parts, c.view.parts[i].changed(some)...)
		at = i + 1
	})
	c.install(append(parts, c.view.parts[at:]...), complete || c.view.complete)
}

// changed returns the part with the changes applied. It rebuilds the part if most of it has
// changed.
func (p *part) changed(changes []doc) []*part {
	next := p.with(changes, func(d *doc) { d.use(-1) })
	if size := len(p.segment.docs); size > 0 && len(next.fresh) <= 1024+size/2 {
		return []*part{next}
	}
	if memory := p.index.arena(); memory != nil {
		memory.live = 0
	}
	return splitParts(next.merged(), p.low)
}

// use records that the newest view uses the text of a doc once more, or with -1 once less.
func (d *doc) use(times int64) {
	if d.arena != nil {
		d.arena.live += times * int64(d.length)
	}
}

// install makes a view of the parts and makes it the newest. mu must be locked.
func (c *Corpus) install(parts []*part, complete bool) {
	v := &view{parts: parts, complete: complete}
	c.dropArenas()
	v.arenas = slices.Clone(c.arenas)
	for _, a := range v.arenas {
		a.acquire()
	}
	v.refs.Store(1)
	c.view.release()
	c.view = v
}

// publishPartial installs a view of what a long update has read so far, and returns a message that
// says so.
func (c *Corpus) publishPartial() (why string) {
	c.applying.Lock()
	defer c.applying.Unlock()
	c.mu.Lock()
	n := c.ingest
	c.mu.Unlock()
	if n != nil {
		c.apply(latest(n.takeLoaded()), false)
	}
	v := c.acquireView()
	defer v.release()
	return fmt.Sprintf("the files are still being read: %s so far", grouped(v.docs()))
}

// grouped formats a number with commas.
func grouped(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
