package corpus

import "slices"

// loose tells that so much of the memory for texts is taken by texts that are needed no more that it should be given back. mu
// must be locked.
func (c *Corpus) loose() bool {
	live := int64(0)
	for _, a := range c.arenas {
		live += a.live
	}
	return c.lost()-c.stuck > 16<<20+live/4
}

// lost is how much could be given back. mu must be locked.
func (c *Corpus) lost() (lost int64) {
	for _, a := range c.arenas {
		if a.thin() {
			lost += int64(len(a.data)) - a.live
		}
	}
	return lost
}

// thin tells that most of an arena is needed no more.
func (a *arena) thin() bool {
	return !a.index && !a.filling && a.live > 0 && a.live < int64(len(a.data))/2
}

// tidy moves the texts out of arenas that are mostly needed no more, so that these can go.
func (c *Corpus) tidy(v *view, l *allocator) {
	c.mu.Lock()
	thin := map[*arena]bool{}
	for _, a := range c.arenas {
		thin[a] = a.thin()
	}
	c.mu.Unlock()
	for _, p := range v.parts {
		docs := slices.Clone(p.shelf.docs)
		for i := range docs {
			if d := &docs[i]; thin[d.arena] && !p.gone.has(i) {
				d.move(l)
			}
		}
		s := newShelf(docs)
		s.tended = p.shelf.tended
		c.replace(p, func(now *part) []*part {
			next := *now
			next.shelf = s
			return []*part{&next}
		})
	}
	c.mu.Lock()
	c.stuck = c.lost()
	c.mu.Unlock()
}

// move puts the text of a doc elsewhere.
func (d *doc) move(l *allocator) {
	room := l.room(int(d.length))
	copy(room, d.text())
	d.base, d.arena = &room[0], l.keep(len(room))
}
