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
	jobs   []job
}

// A job is a doc that is to be searched.
type job struct {
	*doc
	from int   // the line after which lines are given; never if none are
	slot *slot // for its count; nil if that is not kept
}

// A plan gives out what there is to search, in the order of paths.
type plan struct {
	texts int // files that are known to be texts and may be searched
	query *Query

	mu       sync.Mutex
	cursors  []cursor
	units    int  // given out
	ahead    job  // is the next one, if it is known already
	recalled tray // docs of which only counts are wanted, and those are known
	certain  int  // lines, or files if the query is for those, that will be found in docs given out so far; there may be more
}

// newPlan leaves out what cannot match.
func newPlan(c *Corpus, v *view, q *Query) *plan {
	p := &plan{query: q, cursors: make([]cursor, len(v.parts))}
	d := newDemand(c.classes(), q.Pattern.Needs())
	patterns := v.recalled()
	for i, part := range v.parts {
		k := &p.cursors[i]
		*k = newCursor(part, q)
		p.texts += k.texts
		k.narrow(d)
		many := len(k.some)+len(part.shelf.docs)-k.at >= len(part.shelf.docs)/16
		k.slots = part.shelf.recall(q.Pattern.Key(), patterns, many)
	}
	return p
}

// next fills a unit. It returns false if nothing is left.
func (p *plan) next(u *unit) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	u.jobs = u.jobs[:0]
	for size := 0; size < unitBytes && len(u.jobs) < unitDocs; {
		j := p.nextJob()
		if j.doc == nil {
			break
		}
		size += p.cost(&j)
		u.jobs = append(u.jobs, j)
	}
	u.number = p.units
	if len(u.jobs) == 0 {
		return false
	}
	p.units++
	return true
}

// cost returns how many bytes of text a job is like.
func (p *plan) cost(j *job) int {
	if _, known := j.slot.known(); known && p.query.Tally {
		return 0
	}
	if j.far() {
		return farBytes
	}
	return int(j.length)
}

// nextJob returns a job without a doc if none is left.
func (p *plan) nextJob() job {
	if j := p.ahead; j.doc != nil {
		p.ahead = job{}
		return j
	}
	for len(p.cursors) > 0 {
		j := p.cursors[0].next()
		switch {
		case j.doc == nil:
			p.cursors = p.cursors[1:]
		case !p.recall(&j):
			return j
		}
	}
	return job{}
}

// recall tells whether nobody has to look at a doc, as it is known how many lines match and none of them are given.
func (p *plan) recall(j *job) bool {
	count, known := j.slot.known()
	if !known || count == 0 {
		return known
	}
	q := p.query
	past := j.from == never
	if !past && (q.Limit == 0 || p.certain < q.Limit) {
		if q.Tally {
			p.certain++
		} else {
			p.certain += max(0, count-j.from)
		}
		return false
	}
	p.recalled.matches += count
	p.recalled.matched++
	if past {
		p.recalled.skipped += count
	}
	return true
}

// more tells whether another unit follows.
func (p *plan) more() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ahead.doc == nil {
		p.ahead = p.nextJob()
	}
	return p.ahead.doc != nil
}

// A cursor goes through the docs of a part.
type cursor struct {
	*part
	query  *Query
	only   *glob.Pattern
	chosen bitset   // docs of the shelf that only lets through
	texts  int      // docs known to be texts that only lets through
	some   []uint32 // docs of the shelf to look at, and then
	at     int      // all from this one
	rest   []doc    // what is left of the fresh ones
	slots  []slot   // for the counts of the shelf; nil if they are not kept
	past   int      // docs of the shelf before this one are not after Query.After
}

func newCursor(p *part, q *Query) cursor {
	only := q.Only
	k := cursor{part: p, query: q, only: only, texts: p.texts, rest: p.fresh}
	if q.After.Path != "" {
		k.past, _ = find(p.shelf.docs, q.After.Path)
	}
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

// next returns the next doc that is to be searched, or none.
func (k *cursor) next() job {
	var shelved *doc
	i := k.peek()
	if i < len(k.shelf.docs) {
		shelved = &k.shelf.docs[i]
	}
	for len(k.rest) > 0 && (shelved == nil || k.rest[0].file.Path < shelved.file.Path) {
		d := &k.rest[0]
		k.rest = k.rest[1:]
		if d.searchable() && (k.only == nil || k.only.Match(d.file.Path)) {
			return job{doc: d, from: k.query.from(d.file.Path)}
		}
	}
	if shelved == nil {
		return job{}
	}
	k.skip()
	return k.shelved(i)
}

// shelved returns the job of a doc of the shelf. The text of one that is far may be another one the next time.
func (k *cursor) shelved(i int) job {
	j := job{doc: &k.shelf.docs[i]}
	if k.slots != nil && !j.far() {
		j.slot = &k.slots[i]
	}
	switch {
	case i < k.past:
		j.from = never
	case i == k.past:
		j.from = k.query.from(j.file.Path)
	}
	return j
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
