package corpus

import "slices"

// minIndexBytes is the size of text in a part below which searching is faster without trigrams.
const minIndexBytes = 256 << 10

// scheduleMaintenance starts background maintenance if a part needs it.
func (c *Corpus) scheduleMaintenance() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.maintaining || c.closed || c.staleSegment() < 0 && !c.needsCompaction() {
		return
	}
	c.maintaining = true
	c.maintenance.Go(c.maintain)
}

// staleSegment returns the index of a part that has never been maintained or has changed much
// since, or -1. mu must be locked.
func (c *Corpus) staleSegment() int {
	if !c.view.complete {
		return -1
	}
	return slices.IndexFunc(c.view.parts, func(p *part) bool { return p.outgrown() || !p.segment.maintained })
}

// outgrown reports whether the part has so many changes that its segment should be rebuilt.
func (p *part) outgrown() bool {
	return len(p.fresh) > 64+len(p.segment.docs)/16 || p.freshBytes > minIndexBytes+p.segment.bytes/16
}

// maintain works until no part needs maintenance. It is a single goroutine, so that it uses at most
// one core.
func (c *Corpus) maintain() {
	l := c.newAllocator()
	defer l.close()
	for {
		c.mu.Lock()
		i := c.staleSegment()
		compact := i < 0 && c.needsCompaction()
		if c.closed || i < 0 && !compact {
			c.maintaining = false
			c.mu.Unlock()
			return
		}
		v := c.view
		v.refs.Add(1)
		c.mu.Unlock()
		if compact {
			c.compact(v, l)
		} else {
			c.rebuild(v.parts[i], l)
		}
		l.publish()
		v.release()
	}
}

// rebuild builds a new segment from the docs of a part, with their texts in memory and with
// trigrams. If that becomes too large, it leaves the rest in a part of its own, to be maintained
// next.
func (c *Corpus) rebuild(p *part, l *allocator) {
	k := &segmentBuilder{corpus: c, texts: l, docs: p.merged()}
	index := k.build()
	if c.ctx.Err() != nil {
		index.release()
		return
	}
	s := newSegment(k.docs)
	s.maintained = true
	done := c.replace(p, func(now *part) []*part {
		if len(k.rest) == 0 {
			return []*part{now.rebase(s, index, p.low, "")}
		}
		border := k.rest[0].file.Path
		return []*part{now.rebase(s, index, p.low, border), now.rebase(newSegment(k.rest), nil, border, "")}
	})
	if !done {
		index.release()
	}
}

// A segmentBuilder collects the docs of a new segment.
type segmentBuilder struct {
	corpus  *Corpus
	texts   *allocator
	scratch scratch
	docs    []doc
	rest    []doc // docs left for another segment
	grams   *gramBuilder
	always  []uint32 // docs that may match whatever the trigrams are
}

// build reads the docs that were never read, within the memory budget, and returns the trigram
// index of the segment, or nil if the texts are too small for an index. If there are more docs than
// one segment may hold, it moves the remaining ones to rest.
func (k *segmentBuilder) build() *trigrams {
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
	if size < minIndexBytes || len(k.grams.ends) == 0 {
		return nil
	}
	x := k.grams.finish()
	x.always = k.always
	return x
}

// add adds a doc, and returns the size of its text.
func (k *segmentBuilder) add(i int) int64 {
	d := &k.docs[i]
	indexed := len(k.grams.ends) == i && k.indexBudget() > 0
	if d.onDisk() && !indexed && k.corpus.textsFull() {
		return 0
	}
	text := d.text()
	if d.onDisk() {
		text = k.read(i, indexed)
	}
	if indexed && k.grams.fits(text, k.indexBudget()) {
		k.grams.add(text)
	}
	return int64(len(text))
}

// read reads a doc that is not in memory: to keep its text, or else to index it if indexed is set.
// It does not read a doc that has changed meanwhile, because the view has another doc for it.
func (k *segmentBuilder) read(i int, indexed bool) []byte {
	c, d := k.corpus, &k.docs[i]
	c.reading.Lock()
	defer c.reading.Unlock()
	if !c.current(d) {
		return nil
	}
	if d.kind == unread {
		c.load(d, k.texts)
	}
	if d.onDisk() && indexed {
		return k.readForIndex(i)
	}
	return d.text()
}

// current reports whether a doc is in the newest view.
func (c *Corpus) current(d *doc) bool {
	v := c.acquireView()
	defer v.release()
	now := v.find(d.file.Path)
	return now != nil && now.serial == d.serial
}

// indexBudget returns how many bytes the lists of trigrams may use.
func (k *segmentBuilder) indexBudget() int64 {
	c := k.corpus
	return c.o.Budget - c.textBytes.Load() - c.indexBytes.Load() - trigramTable
}

// textsFull reports whether the budget for texts is used up.
func (c *Corpus) textsFull() bool { return c.textBytes.Load()+smallArena > c.textShare() }

// readForIndex reads a text for its trigrams alone, and records the doc's kind and length.
func (k *segmentBuilder) readForIndex(i int) (text []byte) {
	d := &k.docs[i]
	data, is := k.corpus.read(d.file, maxScratch, k.scratch.alloc)
	switch {
	case is == unread && data == nil:
		k.always = append(k.always, uint32(i))
	case is == unread:
		text, is = decoded(data)
	}
	d.kind, d.length = is, uint32(len(text))
	return text
}

// replace replaces a part by the parts that make returns for its current state: the same segment,
// perhaps with more changes. It returns false if the part no longer exists. Searches need not wait
// while make runs.
func (c *Corpus) replace(p *part, make func(now *part) []*part) bool {
	for {
		now := c.successor(p)
		if now == nil {
			return false
		}
		others := make(now)
		deltas := liveDeltas(now, others)
		c.mu.Lock()
		if i := slices.Index(c.view.parts, now); i >= 0 && !c.closed {
			c.swapMemory(now, others, deltas)
			c.install(slices.Replace(slices.Clone(c.view.parts), i, i+1, others...), c.view.complete)
			c.mu.Unlock()
			return true
		}
		c.mu.Unlock()
	}
}

// successor returns the current state of a part, or nil.
func (c *Corpus) successor(p *part) *part {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.view.parts, func(now *part) bool { return now.segment == p.segment })
	if i < 0 || c.closed {
		return nil
	}
	return c.view.parts[i]
}

// liveDeltas returns for each arena by how many bytes its used size changes when the parts others
// replace the part old.
func liveDeltas(old *part, others []*part) map[*arena]int64 {
	deltas := map[*arena]int64{}
	old.each(func(_ int, d *doc) { deltas[d.arena] -= int64(d.length) })
	for _, p := range others {
		p.each(func(_ int, d *doc) { deltas[d.arena] += int64(d.length) })
	}
	delete(deltas, nil)
	return deltas
}

// swapMemory accounts for the memory of a part that is replaced by others. mu must be locked.
func (c *Corpus) swapMemory(old *part, others []*part, deltas map[*arena]int64) {
	for a, n := range deltas {
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

// arena returns the memory of the trigrams, or nil.
func (x *trigrams) arena() *arena {
	if x == nil {
		return nil
	}
	return x.memory
}

// release releases trigrams that are in no view.
func (x *trigrams) release() {
	if memory := x.arena(); memory != nil {
		memory.release()
	}
}

// needsCompaction reports whether unused texts take so much memory that it should be released. mu
// must be locked.
func (c *Corpus) needsCompaction() bool {
	live := int64(0)
	for _, a := range c.arenas {
		live += a.live
	}
	return c.wastedBytes()-c.unreclaimed > 16<<20+live/4
}

// wastedBytes returns how much memory compaction could release. mu must be locked.
func (c *Corpus) wastedBytes() (wasted int64) {
	for _, a := range c.arenas {
		if a.sparse() {
			wasted += int64(len(a.data)) - a.live
		}
	}
	return wasted
}

// sparse reports whether most of an arena is unused.
func (a *arena) sparse() bool {
	return !a.index && !a.filling && a.live > 0 && a.live < int64(len(a.data))/2
}

// compact moves texts out of sparse arenas, so that these can be released.
func (c *Corpus) compact(v *view, l *allocator) {
	c.mu.Lock()
	sparse := map[*arena]bool{}
	for _, a := range c.arenas {
		sparse[a] = a.sparse()
	}
	c.mu.Unlock()
	for _, p := range v.parts {
		docs := slices.Clone(p.segment.docs)
		for i := range docs {
			if d := &docs[i]; sparse[d.arena] && !p.gone.has(i) {
				d.move(l)
			}
		}
		s := newSegment(docs)
		s.maintained = p.segment.maintained
		c.replace(p, func(now *part) []*part {
			next := *now
			next.segment = s
			return []*part{&next}
		})
	}
	c.mu.Lock()
	c.unreclaimed = c.wastedBytes()
	c.mu.Unlock()
}

// move copies the text of a doc to another arena.
func (d *doc) move(l *allocator) {
	space := l.alloc(int(d.length))
	copy(space, d.text())
	d.base, d.arena = &space[0], l.keep(len(space))
}
