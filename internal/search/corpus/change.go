package corpus

import (
	"fmt"
	"slices"
	"strconv"
)

func (c *Corpus) newAllocator() *allocator { return &allocator{begun: c.beginArena, ended: c.endArena} }

// beginArena keeps an arena for texts, which the corpus holds from now on.
func (c *Corpus) beginArena(a *arena) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a.filling = true
	c.keepArena(a)
}

// keepArena must be called with mu locked.
func (c *Corpus) keepArena(a *arena) {
	c.arenas = append(c.arenas, a)
	c.bytesOf(a).Add(int64(len(a.data)))
}

// endArena says that nothing more is put into an arena: it can go when its last text has.
func (c *Corpus) endArena(a *arena) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a.filling = false
}

// dropArenas lets go of arenas that the newest view does not need. mu must be locked.
func (c *Corpus) dropArenas() {
	c.arenas = slices.DeleteFunc(c.arenas, func(a *arena) bool {
		idle := a.live == 0 && !a.filling
		if idle {
			c.bytesOf(a).Add(-int64(len(a.data)))
			a.letGo()
		}
		return idle
	})
}

// apply makes a view in which changes, which are sorted and one a path, are done. complete says that they are all there are.
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

// changed returns what becomes of a part; it is made anew if it is mostly another one now.
func (p *part) changed(changes []doc) []*part {
	next := p.with(changes, func(d *doc) { d.use(-1) })
	if size := len(p.shelf.docs); size > 0 && len(next.fresh) <= 1024+size/2 {
		return []*part{next}
	}
	if memory := p.index.arena(); memory != nil {
		memory.live = 0
	}
	return cut(next.merged(), p.low)
}

// use notes that the newest view needs the text of a doc once more; -1 that it does so no more.
func (d *doc) use(times int64) {
	if d.arena != nil {
		d.arena.live += times * int64(d.length)
	}
}

// install makes parts the newest view. mu must be locked.
func (c *Corpus) install(parts []*part, complete bool) {
	v := &view{parts: parts, complete: complete}
	c.dropArenas()
	v.arenas = slices.Clone(c.arenas)
	for _, a := range v.arenas {
		a.hold()
	}
	v.holds.Store(1)
	c.view.letGo()
	c.view = v
}

// glimpse makes a view of what has been read so far by an update that takes long, and says that it does.
func (c *Corpus) glimpse() (why string) {
	c.applying.Lock()
	defer c.applying.Unlock()
	c.mu.Lock()
	n := c.intake
	c.mu.Unlock()
	if n != nil {
		c.apply(latest(n.taken()), false)
	}
	v := c.hold()
	defer v.letGo()
	return fmt.Sprintf("the files are still being read: %s so far", grouped(v.docs()))
}

// grouped writes a number for people.
func grouped(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
