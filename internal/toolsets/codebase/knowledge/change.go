package knowledge

import (
	"unique"

	"remit/internal/search/hybrid"
)

// A change is a source being added to the catalog.
type change struct {
	Source
	origin  *origin
	ids     []hybrid.ID
	entries []*entry
	unkept  bool // the store does not have it
}

// apply replaces the sources with the same paths, except by older ones.
func (c *catalog) apply(sources []Source, vectors map[Key][]float32) {
	var changes []change
	var items []hybrid.Item
	for _, s := range sources {
		o, news := c.begin(s)
		if !news {
			continue
		}
		n := change{Source: s, origin: o, ids: c.take(len(s.Chunks))}
		for i := range s.Chunks {
			p := &s.Chunks[i]
			n.entries = append(n.entries, c.entry(o, s, i))
			items = append(items, hybrid.Item{ID: n.ids[i], Text: wordsOf(s.Path, p), Vector: vectors[p.Key]})
		}
		changes = append(changes, n)
	}
	if len(items) > 0 {
		c.local().Put(items)
		c.putRemote(items)
	}
	c.swap(changes)
}

// forgetUnkept removes what the store does not have: what was not loaded since all generations were
// reset.
func (c *catalog) forgetUnkept() {
	var changes []change
	c.mu.Lock()
	for path, o := range c.origins {
		if o.generation == 0 && !o.gone {
			changes = append(changes, change{Source: Source{Path: path, Gone: true}, origin: o, unkept: true})
		}
	}
	c.mu.Unlock()
	c.swap(changes)
}

// putRemote puts new chunks into the remote index, to be found by their words until their vectors
// are there.
func (c *catalog) putRemote(items []hybrid.Item) {
	remoteIndex := c.remoteIndex.Load()
	if remoteIndex == nil {
		return
	}
	for i := range items {
		items[i].Vector = nil
	}
	remoteIndex.Put(items)
}

// begin returns the origin of a source, and whether the source is new.
func (c *catalog) begin(s Source) (o *origin, news bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o = c.origins[s.Path]
	if o == nil {
		o = &origin{path: s.Path, gone: true}
		c.origins[s.Path] = o
	}
	return o, o.generation < s.Generation
}

func (c *catalog) entry(known *origin, s Source, i int) *entry {
	p := &s.Chunks[i]
	date := p.Date
	if date.IsZero() {
		date = s.Modified
	}
	return &entry{
		origin: known, key: p.Key, number: int32(i), date: date.Unix(),
		source: unique.Make(p.Source), kind: unique.Make(p.Type), module: unique.Make(p.Module), weight: weightOf(p.Source),
	}
}

// swap replaces old chunks by new ones. A running search finds either.
func (c *catalog) swap(changes []change) {
	old := c.publish(changes)
	if len(old) == 0 {
		return
	}
	c.local().Drop(old)
	if remoteIndex := c.remoteIndex.Load(); remoteIndex != nil {
		remoteIndex.Drop(old)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.resting = append(c.resting, old...)
}

// publish returns the numbers that are not needed any more.
func (c *catalog) publish(changes []change) (old []hybrid.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range changes {
		// Another change was faster.
		if n.origin.generation >= n.Generation && (!n.unkept || n.origin.generation > 0) {
			old = append(old, n.ids...)
			continue
		}
		for i, id := range n.ids {
			c.table.at(id).Store(n.entries[i])
		}
		for _, id := range n.origin.ids {
			e := c.table.get(id)
			e.retired.Store(true)
			if e.covered {
				c.covered--
			}
		}
		old = append(old, n.origin.ids...)
		c.chunks += len(n.ids) - len(n.origin.ids)
		c.changes += len(n.ids) + len(n.origin.ids)
		n.origin.ids = n.ids
		c.stamp(n.origin, n.Source)
	}
	return old
}
