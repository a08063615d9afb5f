package corpus

import (
	"sync"

	"remit/internal/search/glob"
)

const (
	unitBytes = 256 << 10 // of texts in a unit, about
	unitDocs  = 512
	farBytes  = 32 << 10 // what a doc counts for that must be read first
)

// A unit is docs that follow each other in a search.
type unit struct {
	number int // counted from 0
	docs   []*doc
	known  int // how many of them are known to be texts
}

// A plan gives out what there is to search, in the order of paths.
type plan struct {
	texts int // files that are known to be texts and may be searched

	mu      sync.Mutex
	cursors []cursor
	units   int  // given out
	ahead   *doc // is the next one, if it is known already
}

// newPlan leaves out what cannot match.
func newPlan(c *Corpus, v *view, q Query) *plan {
	p := &plan{cursors: make([]cursor, len(v.parts))}
	d := newDemand(c.classes(), q.Pattern.Needs())
	for i, part := range v.parts {
		p.cursors[i] = newCursor(part, q.Only)
		p.texts += p.cursors[i].texts
		p.cursors[i].narrow(d)
	}
	return p
}

// next fills a unit. It returns false if nothing is left.
func (p *plan) next(u *unit) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	u.docs, u.known = u.docs[:0], 0
	for size := 0; size < unitBytes && len(u.docs) < unitDocs; {
		d := p.nextDoc()
		if d == nil {
			break
		}
		if d.kind == textual {
			u.known++
		}
		if d.far() {
			size += farBytes
		} else {
			size += int(d.length)
		}
		u.docs = append(u.docs, d)
	}
	u.number = p.units
	if len(u.docs) == 0 {
		return false
	}
	p.units++
	return true
}

func (p *plan) nextDoc() *doc {
	if d := p.ahead; d != nil {
		p.ahead = nil
		return d
	}
	for len(p.cursors) > 0 {
		if d := p.cursors[0].next(); d != nil {
			return d
		}
		p.cursors = p.cursors[1:]
	}
	return nil
}

// more tells whether another unit follows.
func (p *plan) more() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ahead == nil {
		p.ahead = p.nextDoc()
	}
	return p.ahead != nil
}

// A cursor goes through the docs of a part.
type cursor struct {
	*part
	only   *glob.Pattern
	chosen bitset   // docs of the shelf that only lets through
	texts  int      // docs known to be texts that only lets through
	some   []uint32 // docs of the shelf to look at, and then
	at     int      // all from this one
	rest   []doc    // what is left of the fresh ones
}

func newCursor(p *part, only *glob.Pattern) cursor {
	k := cursor{part: p, only: only, texts: p.texts, rest: p.fresh}
	if only == nil {
		return k
	}
	c := p.shelf.choose(only)
	k.chosen, k.texts = c.docs, c.texts
	p.gone.each(func(i int) {
		if c.docs.has(i) && p.shelf.docs[i].kind == textual {
			k.texts--
		}
	})
	for i := range p.fresh {
		if p.fresh[i].kind == textual && only.Match(p.fresh[i].file.Path) {
			k.texts++
		}
	}
	return k
}

// narrow leaves out docs that have not the trigrams.
func (k *cursor) narrow(d *demand) {
	if d == nil || k.index == nil || k.index.covered == 0 {
		return
	}
	if some, ok := k.index.candidates(d); ok {
		k.some, k.at = some, k.index.covered
	}
}

// next returns the next doc that is to be searched, or nil.
func (k *cursor) next() *doc {
	var shelved *doc
	i := k.peek()
	if i < len(k.shelf.docs) {
		shelved = &k.shelf.docs[i]
	}
	for len(k.rest) > 0 && (shelved == nil || k.rest[0].file.Path < shelved.file.Path) {
		d := &k.rest[0]
		k.rest = k.rest[1:]
		if d.searchable() && (k.only == nil || k.only.Match(d.file.Path)) {
			return d
		}
	}
	if shelved != nil {
		k.skip()
	}
	return shelved
}

// peek returns the place of the next doc on the shelf that is to be searched; the end of the shelf, if there is none.
func (k *cursor) peek() int {
	for {
		i := k.at
		if len(k.some) > 0 {
			i = int(k.some[0])
		}
		if i >= len(k.shelf.docs) || k.wants(i) {
			return i
		}
		k.skip()
	}
}

func (k *cursor) skip() {
	if len(k.some) > 0 {
		k.some = k.some[1:]
	} else {
		k.at++
	}
}

func (k *cursor) wants(i int) bool {
	return !k.gone.has(i) && (k.only == nil || k.chosen.has(i)) && k.shelf.docs[i].searchable()
}
