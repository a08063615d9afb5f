package corpus

import "slices"

// worthIndex: a part with less text than this is searched faster without trigrams.
const worthIndex = 256 << 10

// tendSoon has parts that need it made better in the background.
func (c *Corpus) tendSoon() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tending || c.closed || c.neglected() < 0 && !c.loose() {
		return
	}
	c.tending = true
	c.care.Go(c.tend)
}

// neglected returns a part that has not been tended, or has changed much since, or -1. mu must be locked.
func (c *Corpus) neglected() int {
	if !c.view.complete {
		return -1
	}
	return slices.IndexFunc(c.view.parts, func(p *part) bool { return p.outgrown() || !p.shelf.tended })
}

// outgrown tells that so much has changed that the shelf should be filled anew.
func (p *part) outgrown() bool {
	return len(p.fresh) > 64+len(p.shelf.docs)/16 || p.freshBytes > worthIndex+p.shelf.bytes/16
}

// tend works until nothing is neglected. It is one goroutine, so that it takes one core at most.
func (c *Corpus) tend() {
	l := c.newAllocator()
	defer l.close()
	for {
		c.mu.Lock()
		i := c.neglected()
		tidy := i < 0 && c.loose()
		if c.closed || i < 0 && !tidy {
			c.tending = false
			c.mu.Unlock()
			return
		}
		v := c.view
		v.holds.Add(1)
		c.mu.Unlock()
		if tidy {
			c.tidy(v, l)
		} else {
			c.improve(v.parts[i], l)
		}
		l.settle()
		v.letGo()
	}
}

// improve puts the docs of a part on a new shelf, with their texts in memory and with trigrams. If that becomes too large,
// the rest is left in a part of its own, to be tended next.
func (c *Corpus) improve(p *part, l *allocator) {
	k := &stock{corpus: c, texts: l, docs: p.merged()}
	index := k.take()
	if c.ctx.Err() != nil {
		index.letGo()
		return
	}
	s := newShelf(k.docs)
	s.tended = true
	done := c.replace(p, func(now *part) []*part {
		if len(k.rest) == 0 {
			return []*part{now.over(s, index, p.low, "")}
		}
		border := k.rest[0].file.Path
		return []*part{now.over(s, index, p.low, border), now.over(newShelf(k.rest), nil, border, "")}
	})
	if !done {
		index.letGo()
	}
}

// A stock is docs that are put on a shelf.
type stock struct {
	corpus  *Corpus
	texts   *allocator
	scratch scratch
	docs    []doc
	rest    []doc // that are left for another shelf
	grams   *gramBuilder
	always  []uint32 // docs of which trigrams can tell nothing
}

// take reads the docs that nobody has read, as long as there is room, and returns the trigrams of all, or nil if they are
// not worth it. When there are enough for one shelf, it leaves the rest.
func (k *stock) take() *trigrams {
	c := k.corpus
	k.grams = newGramBuilder(c.classes())
	defer k.grams.close()
	defer k.scratch.close()
	size := int64(0)
	for i := range k.docs {
		if c.ctx.Err() != nil || size >= partBytes || i >= partDocs {
			k.docs, k.rest = k.docs[:i:i], k.docs[i:]
			break
		}
		size += k.add(i)
	}
	if size < worthIndex || len(k.grams.ends) == 0 {
		return nil
	}
	x := k.grams.finish()
	x.always = k.always
	return x
}

// add takes a doc, and returns how much text it has.
func (k *stock) add(i int) int64 {
	d := &k.docs[i]
	indexed := len(k.grams.ends) == i && k.room() > 0
	if d.far() && !indexed && k.corpus.crowded() {
		return 0
	}
	text := d.text()
	if d.far() {
		text = k.read(i, indexed)
	}
	if indexed && k.grams.fits(text, k.room()) {
		k.grams.add(text)
	}
	return int64(len(text))
}

// read reads a doc that is not in memory: to keep its text, or else for its trigrams, if it is to have any. A doc that has
// changed meanwhile is not read: it is another one in the view.
func (k *stock) read(i int, indexed bool) []byte {
	c, d := k.corpus, &k.docs[i]
	c.reading.Lock()
	defer c.reading.Unlock()
	if !c.current(d) {
		return nil
	}
	if d.kind == unread {
		c.load(d, k.texts)
	}
	if d.far() && indexed {
		return k.readFar(i)
	}
	return d.text()
}

// current tells whether a doc is in the newest view.
func (c *Corpus) current(d *doc) bool {
	v := c.hold()
	defer v.letGo()
	now := v.find(d.file.Path)
	return now != nil && now.serial == d.serial
}

// room is what the lists of trigrams may take.
func (k *stock) room() int64 {
	c := k.corpus
	return c.o.Budget - c.textBytes.Load() - c.indexBytes.Load() - trigramTable
}

// crowded tells that there is no more room for texts.
func (c *Corpus) crowded() bool { return c.textBytes.Load()+smallArena > c.textShare() }

// readFar reads a text for its trigrams alone, and notes what is learned of it.
func (k *stock) readFar(i int) (text []byte) {
	d := &k.docs[i]
	data, is := k.corpus.read(d.file, mostScratch, k.scratch.room)
	switch {
	case is == unread && data == nil:
		k.always = append(k.always, uint32(i))
	case is == unread:
		text, is = decoded(data)
	}
	d.kind, d.length = is, uint32(len(text))
	return text
}

// replace puts others in the place of a part, made from what it is by now: the same shelf, perhaps with changes. It returns
// false if the part is there no more. Nobody has to wait while they are made.
func (c *Corpus) replace(p *part, make func(now *part) []*part) bool {
	for {
		now := c.successor(p)
		if now == nil {
			return false
		}
		others := make(now)
		weights := weigh(now, others)
		c.mu.Lock()
		if i := slices.Index(c.view.parts, now); i >= 0 && !c.closed {
			c.exchange(now, others, weights)
			c.install(slices.Replace(slices.Clone(c.view.parts), i, i+1, others...), c.view.complete)
			c.mu.Unlock()
			return true
		}
		c.mu.Unlock()
	}
}

// successor returns what has become of a part, or nil.
func (c *Corpus) successor(p *part) *part {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.view.parts, func(now *part) bool { return now.shelf == p.shelf })
	if i < 0 || c.closed {
		return nil
	}
	return c.view.parts[i]
}

// weigh returns how many bytes more of each arena others need.
func weigh(old *part, others []*part) map[*arena]int64 {
	weights := map[*arena]int64{}
	old.each(func(_ int, d *doc) { weights[d.arena] -= int64(d.length) })
	for _, p := range others {
		p.each(func(_ int, d *doc) { weights[d.arena] += int64(d.length) })
	}
	delete(weights, nil)
	return weights
}

// exchange notes that the memory of a part is needed no more, and that of others is. mu must be locked.
func (c *Corpus) exchange(old *part, others []*part, weights map[*arena]int64) {
	for a, n := range weights {
		a.live += n
	}
	memory := old.index.arena()
	if memory != nil {
		memory.live = 0
	}
	for _, p := range others {
		m := p.index.arena()
		if m == nil {
			continue
		}
		if m != memory {
			c.keepArena(m)
		}
		m.live = 1
	}
}

// arena returns the memory of trigrams, if there is any.
func (x *trigrams) arena() *arena {
	if x == nil {
		return nil
	}
	return x.memory
}

// letGo gives up trigrams that are in no view.
func (x *trigrams) letGo() {
	if memory := x.arena(); memory != nil {
		memory.letGo()
	}
}

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
